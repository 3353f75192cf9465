#include "election/store/redis/redis_store.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/runtime/cancellation.h"
#include "core/runtime/event.h"
#include "election/lease_record.h"
#include "election/store/dial.h"
#include "election/store/redis/redis_reply.h"

namespace bellwether::store {

namespace {

constexpr Duration kTryAgainAfter = Duration::seconds(2);
constexpr Duration kSignOfLifeEvery = Duration::seconds(10);

using runtime::task;

// The meaning of a script's reply.
using election::Epoch;
using election::Observation;

// Places in the reply.
struct Part {
  enum : unsigned char { kVersion, kPlain, kLeft, kForeign, kMarker, kServerNow, kHash, kParts };
};

uint64_t number(const std::string& text) { return parse_u64(text).value_or(0); }

WallTime wall(const std::string& millis) { return {static_cast<int64_t>(number(millis)) * 1'000'000}; }

// The marker is "server:born", as the script writes it.
ServerLife life_of(const std::string& server, uint64_t now, const std::string& marker) {
  const auto colon = marker.rfind(':');
  if (colon == std::string::npos) return {server, now, {}, 0};
  return {server, now, marker.substr(0, colon), number(marker.substr(colon + 1))};
}

void read_record(const std::vector<RedisReply>& fields, election::LeaseRecord& record) {
  const auto field = [&](RedisField name) -> const std::string& { return fields[static_cast<std::size_t>(name)].text; };
  record.holder = field(RedisField::kHolder);
  record.token = field(RedisField::kToken);
  record.epoch = Epoch(number(field(RedisField::kEpoch)));
  record.renewal = number(field(RedisField::kRenewal));
  record.lease = Duration::millis(static_cast<int64_t>(number(field(RedisField::kLease))));
  record.region = field(RedisField::kRegion);
  record.heir = field(RedisField::kHeir);
  record.cause = field(RedisField::kCause);
  record.acquired_at = wall(field(RedisField::kAcquired));
  record.renewed_at = wall(field(RedisField::kRenewed));
}

void show_foreign(const RedisReply& state, Observation& seen) {
  seen.present = true;
  seen.foreign = true;
  const std::string& value = state.items[Part::kPlain].text;
  seen.record = {.holder = value.empty() ? "(another program)" : value, .token = value, .epoch = seen.record.epoch};
  const int64_t left = state.items[Part::kLeft].integer;
  if (left > 0) {
    seen.record.lease = Duration::millis(left);
    seen.left = seen.record.lease;
  } else {
    seen.evidence = "a lock of another program that never expires: only that program or DEL releases it";
  }
}

// The state in a script's reply, as seen through a connection to `server`. kProtocol if our scripts cannot have sent
// it.
Result<Observation> observe_redis(const RedisReply& state, const std::string& server) {
  if (state.type != RedisReply::Type::kArray || state.items.size() != Part::kParts ||
      state.items[Part::kHash].items.size() != kRedisFields) {
    return fail(Errc::kProtocol, "Redis returned an invalid reply to the script");
  }
  Observation seen;
  seen.version = state.items[Part::kVersion].text;
  const std::vector<RedisReply>& fields = state.items[Part::kHash].items;
  const ServerLife life = life_of(server, number(state.items[Part::kServerNow].text), state.items[Part::kMarker].text);
  seen.present = fields[static_cast<std::size_t>(RedisField::kStamp)].type == RedisReply::Type::kText;
  if (seen.present) {
    read_record(fields, seen.record);
    judge_record(life, fields[static_cast<std::size_t>(RedisField::kServer)].text, "Redis", seen);
  } else {
    judge_absence(life, "Redis", seen);
  }
  if (state.items[Part::kForeign].integer == 1) {
    show_foreign(state, seen);
  } else if (seen.record.held() && state.items[Part::kLeft].integer > 0) {
    seen.left = Duration::millis(state.items[Part::kLeft].integer);
  }
  return seen;
}

using election::WriteOutcome;
using election::WriteRequest;

constexpr std::string_view kRecord = ":bellwether";
constexpr std::string_view kTaggedRecord = ":bellwether-lease";
constexpr std::string_view kMarkerName = "bellwether:store";
constexpr std::size_t kLook = 0;
constexpr std::size_t kAct = 1;

// Whether a cluster of Redis would hash only the part of the name in the first braces.
bool has_tag(std::string_view key) {
  const auto open = key.find('{');
  if (open == std::string_view::npos) return false;
  const auto close = key.find('}', open);
  return close != std::string_view::npos && close > open + 1;
}

}  // namespace

// Listens for changes: a second connection to the channels on which the script of an act announces them. Foreign
// programs announce nothing. One thread.
class RedisWatch {
 public:
  // The listener of one key. Its waiting caller owns it and removes it before it ends.
  struct Listener {
    std::string channel;
    std::string own_stamp;   // an announcement of our own act, which is no news
    bool may_have = false;   // something was announced, or perhaps missed, since this was cleared
    runtime::Event changed;  // set with may_have
    void announce() {
      may_have = true;
      changed.set();
    }
  };

  RedisWatch(runtime::Runtime& runtime, RedisLogin login) : runtime_(runtime), link_(runtime, std::move(login)) {
    link_.on_push(&RedisWatch::pushed, this);
  }

  RedisWatch(const RedisWatch&) = delete;
  RedisWatch& operator=(const RedisWatch&) = delete;

  void add(Listener& listener) {
    std::vector<Listener*>& same = listeners_[listener.channel];
    same.push_back(&listener);
    if (!std::exchange(keeping_, true)) {
      scope_.spawn(keep(this));
    } else if (link_.is_open()) {
      // A connection that is lost meanwhile is subscribed anew by keep().
      static_cast<void>(link_.tell({"SUBSCRIBE", listener.channel}));
    }
  }

  void remove(Listener& listener) {
    const auto found = listeners_.find(listener.channel);
    if (found == listeners_.end()) return;
    std::erase(found->second, &listener);
    if (!found->second.empty()) return;
    listeners_.erase(found);
    if (link_.is_open()) static_cast<void>(link_.tell({"UNSUBSCRIBE", listener.channel}));
  }

 private:
  // Keeps a connection that is subscribed to all channels, and notices when it has died silently.
  static task<void> keep(RedisWatch* self) {
    while (true) {
      const Instant deadline = self->runtime_.read_clock() + kSignOfLifeEvery;
      const Status ready = co_await self->link_.ready(deadline, nullptr);
      if (!ready) {
        co_await self->runtime_.sleep(kTryAgainAfter);
        continue;
      }
      std::vector<std::string> command{"SUBSCRIBE"};
      for (const auto& [channel, listeners] : self->listeners_) command.push_back(channel);
      if (command.size() > 1) static_cast<void>(self->link_.tell(command));
      while (self->link_.is_open()) {
        self->heard_ = false;
        static_cast<void>(self->link_.tell({"PING"}));
        co_await self->runtime_.sleep(kSignOfLifeEvery);
        if (self->heard_ || !self->link_.is_open()) continue;
        self->link_.close({Errc::kTimeout, self->link_.where() + ": no message for too long"});
      }
    }
  }

  static void pushed(void* self, const RedisReply& reply) { static_cast<RedisWatch*>(self)->hear(reply); }

  // ["subscribe", channel, count], ["message", channel, stamp], ["pong", ""], or nil when the connection was lost.
  void hear(const RedisReply& reply) {
    heard_ = true;
    if (reply.type != RedisReply::Type::kArray || reply.items.size() != 3) return;
    const std::string& what = reply.items[0].text;
    if (what != "subscribe" && what != "message") return;
    const auto found = listeners_.find(reply.items[1].text);
    if (found == listeners_.end()) return;
    for (Listener* listener : found->second) {
      // We missed all announcements before the subscription.
      if (what == "subscribe" || reply.items[2].text != listener->own_stamp) listener->announce();
    }
  }

  runtime::Runtime& runtime_;
  RedisLink link_;
  std::map<std::string, std::vector<Listener*>> listeners_;  // by channel
  bool keeping_ = false;
  bool heard_ = false;    // since the last sign of life that was asked for
  runtime::Scope scope_;  // last: its coroutines use everything above
};

std::string redis_record_name(const std::string& key) {
  return has_tag(key) ? key + std::string(kTaggedRecord) : fmt::format("{{{}}}{}", key, kRecord);
}

std::string redis_key_of_record(std::string_view name) {
  std::string key;
  if (name.ends_with(kTaggedRecord)) {
    key = name.substr(0, name.size() - kTaggedRecord.size());
  } else if (name.starts_with('{') && name.ends_with("}" + std::string(kRecord))) {
    key = name.substr(1, name.size() - kRecord.size() - 2);
  }
  return !key.empty() && redis_record_name(key) == name ? key : std::string();
}

class RedisKey final : public StoreKey {
 public:
  RedisKey(RedisStore& store, std::string key)
      : store_(store), key_(std::move(key)), record_name_(redis_record_name(key_)) {
    listener_.channel = fmt::format("bellwether:{}:{}", store.database_, key_);
  }
  ~RedisKey() override { store_.watch_->remove(listener_); }

  task<Result<Observation>> look(Instant deadline, runtime::Cancellation* cancel) override {
    BW_CO_RETURN_IF_ERROR(co_await store_.link_.ready(deadline, cancel));
    const std::string server = store_.link_.server();
    std::vector<std::string> words = keys();
    words.push_back(server);
    forget_news();
    auto reply = co_await store_.link_.run(kLook, std::move(words), deadline, cancel);
    BW_CO_RETURN_IF_ERROR(store_.examine(reply));
    co_return observe_redis(*reply, server);
  }

  task<Result<WriteOutcome>> act(WriteRequest request, Instant deadline, runtime::Cancellation* cancel) override {
    BW_CO_RETURN_IF_ERROR(co_await store_.link_.ready(deadline, cancel));
    const std::string server = store_.link_.server();
    std::vector<std::string> words = words_of(request, server);
    forget_news();
    auto reply = co_await store_.link_.run(kAct, std::move(words), deadline, cancel);
    BW_CO_RETURN_IF_ERROR(store_.examine(reply));
    if (reply->items.size() != 2) co_return fail(Errc::kProtocol, "Redis returned an invalid reply to the script");
    BW_CO_TRY(auto after, observe_redis(reply->items[1], server));
    co_return WriteOutcome{reply->items[0].integer == 1, std::move(after)};
  }

  task<bool> changed(runtime::Cancellation* cancel) override {
    if (!std::exchange(listening_, true)) store_.watch_->add(listener_);
    runtime::CancelCallback on_cancel(
        cancel, [](void* self) { static_cast<RedisKey*>(self)->listener_.changed.set(); }, this);
    co_await listener_.changed.wait();
    listener_.changed.reset();
    co_return std::exchange(listener_.may_have, false);
  }

 private:
  std::vector<std::string> keys() const { return {"3", key_, record_name_, std::string(kMarkerName)}; }

  std::vector<std::string> words_of(const WriteRequest& request, const std::string& server) {
    const election::LeaseRecord& record = request.record;
    listener_.own_stamp = fmt::format("{}.{}", record.epoch.value(), election::make_token(store_.runtime_.prng()));
    std::vector<std::string> words = keys();
    words.insert(words.end(), {server, request.expected, to_string(request.kind), listener_.own_stamp, record.holder,
                               record.token, std::to_string(record.epoch.value()), std::to_string(record.renewal),
                               std::to_string(std::max<int64_t>(record.lease.ms(), 1)), record.region, record.heir,
                               record.cause, listener_.channel});
    return words;
  }

  // A look sees all changes announced before it.
  void forget_news() {
    if (!std::exchange(listener_.may_have, false)) return;
    listener_.changed.reset();
  }

  RedisStore& store_;
  std::string key_;
  std::string record_name_;
  bool listening_ = false;
  RedisWatch::Listener listener_;
};

RedisStore::RedisStore(runtime::Runtime& runtime, RedisLogin login, std::string description)
    : runtime_(runtime), description_(std::move(description)), database_(login.database), link_(runtime, login) {
  login.scripts.clear();
  watch_ = std::make_unique<RedisWatch>(runtime, std::move(login));
}

RedisStore::~RedisStore() = default;

Result<std::unique_ptr<StoreKey>> RedisStore::open(std::string key) {
  if (key.empty()) return fail(Errc::kInvalid, "a key must have at least one byte");
  if (key.ends_with(kRecord) || key.ends_with(kTaggedRecord) || key == kMarkerName) {
    return fail(Errc::kInvalid, "names that end in ':bellwether' are reserved for the store");
  }
  return std::make_unique<RedisKey>(*this, std::move(key));
}

// A server that has become a replica is left: its name, or the next one, leads to the primary.
Status RedisStore::examine(const Result<RedisReply>& reply) {
  if (!reply) return tl::unexpected(reply.error());
  if (reply->type != RedisReply::Type::kError) return {};
  const Error error = error_of(*reply, link_.where());
  if (reply->text.find("READONLY") != std::string::npos) link_.close(error);
  return tl::unexpected(error);
}

task<Result<std::vector<ListedKey>>> RedisStore::list(std::string prefix, std::size_t most, Instant deadline,
                                                      runtime::Cancellation* cancel) {
  BW_CO_RETURN_IF_ERROR(co_await link_.ready(deadline, cancel));
  std::set<std::string> names;
  std::string cursor = "0";
  do {
    std::vector<std::string> command{"SCAN",  cursor, "MATCH", fmt::format("*{}*", kRecord),
                                     "COUNT", "1000", "TYPE",  "hash"};
    const auto reply = co_await link_.call(std::move(command), deadline, cancel);
    BW_CO_RETURN_IF_ERROR(examine(reply));
    if (reply->items.size() != 2) co_return fail(Errc::kProtocol, "Redis returned an invalid reply to SCAN");
    cursor = reply->items[0].text;
    for (const RedisReply& name : reply->items[1].items) {
      std::string key = redis_key_of_record(name.text);
      if (key.starts_with(prefix) && !key.empty()) names.insert(std::move(key));
      if (names.size() > most) names.erase(std::prev(names.end()));
    }
  } while (cursor != "0");

  std::vector<std::unique_ptr<StoreKey>> keys;
  std::vector<task<Result<Observation>>> looks;
  for (const std::string& name : names) {
    keys.push_back(std::make_unique<RedisKey>(*this, name));
    looks.push_back(keys.back()->look(deadline, cancel));
  }
  std::vector<ListedKey> found;
  for (const std::string& name : names) {
    BW_CO_TRY(auto seen, co_await std::move(looks[found.size()]));
    found.push_back({name, std::move(seen)});
  }
  co_return found;
}

task<Result<Duration>> RedisStore::idle_time(std::string data, Instant deadline, runtime::Cancellation* cancel) {
  BW_CO_RETURN_IF_ERROR(co_await link_.ready(deadline, cancel));
  std::vector<std::string> command{"OBJECT", "IDLETIME", data};
  const auto reply = co_await link_.call(std::move(command), deadline, cancel);
  BW_CO_RETURN_IF_ERROR(examine(reply));
  if (reply->type == RedisReply::Type::kInteger) co_return Duration::seconds(reply->integer);
  co_return fail(Errc::kNotFound, "there is no key '{}'", data);
}

task<Result<std::unique_ptr<LeaseStore>>> open_redis_store(runtime::Runtime& runtime, StoreUrl url) {
  RedisLogin login;
  login.user = url.user;
  login.hosts = url.hosts;
  if (login.hosts.empty()) co_return fail(Errc::kInvalid, url.text + ": the host is missing: redis://HOST:PORT/DB");
  if (!url.path.empty()) {
    const auto database = parse_u64(url.path);
    if (!database) co_return fail(Errc::kInvalid, "{}: '{}' is not the number of a database", url.text, url.path);
    login.database = *database;
  }
  std::vector<std::string> variables{"BELLWETHER_STORE_PASSWORD", "REDISCLI_AUTH"};
  BW_CO_TRY(login.password, co_await password_of(runtime, url, std::move(variables)));
  BW_CO_TRY(login.tls, tls_of(url, url.scheme == "rediss"));
  login.scripts = {std::string(kRedisLook), std::string(kRedisAct)};
  std::string description = fmt::format("{}://{}/{}", url.scheme, hosts_text(login.hosts), login.database);
  co_return std::make_unique<RedisStore>(runtime, std::move(login), std::move(description));
}

}  // namespace bellwether::store
