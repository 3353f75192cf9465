#include "store/redis/redis_store.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/bytes.h"
#include "election/token.h"
#include "store/credentials.h"
#include "store/dial.h"
#include "store/redis/redis_observe.h"
#include "store/redis/redis_scripts.h"
#include "store/redis/redis_watch.h"

namespace bellwether::store {
namespace {

using election::Observation;
using election::WriteOutcome;
using election::WriteRequest;
using runtime::task;

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

std::string redis_record_name(const std::string& key) {
  return has_tag(key) ? key + std::string(kTaggedRecord) : "{" + key + "}" + std::string(kRecord);
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
    listener_.channel = "bellwether:" + std::to_string(store.database_) + ":" + key_;
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
    if (reply->items.size() != 2) co_return fail(Errc::kProtocol, "Redis replied what the script never replies");
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
    listener_.own_stamp = std::to_string(record.epoch.value()) + "." + election::make_token(store_.runtime_.prng());
    std::vector<std::string> words = keys();
    words.insert(words.end(), {server, request.expected, to_string(request.kind), listener_.own_stamp, record.holder,
                               record.token, std::to_string(record.epoch.value()), std::to_string(record.renewal),
                               std::to_string(std::max<int64_t>(record.lease.ms(), 1)), record.region, record.heir,
                               record.cause, listener_.channel});
    return words;
  }

  // What was announced before a look is seen by it.
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
  if (key.empty()) return fail(Errc::kInvalid, "a key has at least one byte");
  if (key.ends_with(kRecord) || key.ends_with(kTaggedRecord) || key == kMarkerName) {
    return fail(Errc::kInvalid, "names that end in ':bellwether' are those of the store itself");
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
    std::vector<std::string> command{"SCAN",  cursor, "MATCH", "*" + std::string(kRecord) + "*",
                                     "COUNT", "1000", "TYPE",  "hash"};
    const auto reply = co_await link_.call(std::move(command), deadline, cancel);
    BW_CO_RETURN_IF_ERROR(examine(reply));
    if (reply->items.size() != 2) co_return fail(Errc::kProtocol, "Redis replied to SCAN what is no answer to it");
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
  co_return fail(Errc::kNotFound, "there is no key '" + data + "'");
}

task<Result<std::unique_ptr<LeaseStore>>> open_redis_store(runtime::Runtime& runtime, StoreUrl url) {
  RedisLogin login;
  login.user = url.user;
  login.hosts = url.hosts;
  if (login.hosts.empty()) co_return fail(Errc::kInvalid, url.text + ": the host is missing: redis://HOST:PORT/DB");
  if (!url.path.empty()) {
    const auto database = parse_u64(url.path);
    if (!database) co_return fail(Errc::kInvalid, url.text + ": '" + url.path + "' is not the number of a database");
    login.database = *database;
  }
  std::vector<std::string> variables{"BELLWETHER_STORE_PASSWORD", "REDISCLI_AUTH"};
  BW_CO_TRY(login.password, co_await password_of(runtime, url, std::move(variables)));
  if (url.scheme == "rediss") {
    BW_CO_TRY(const auto options, tls_options_of(url));
    auto context = runtime::TlsContext::client(options);
    if (!context) co_return fail(context.error().code, url.text + ": " + context.error().message);
    login.tls = std::move(*context);
  }
  const std::string known = url.scheme == "rediss" ? "password_file, " + std::string(kTlsOptions) : "password_file";
  BW_CO_RETURN_IF_ERROR(url.nothing_left(known));
  login.scripts = {std::string(kRedisLook), std::string(kRedisAct)};
  std::string where;
  for (const HostPort& host : login.hosts) where += (where.empty() ? "" : ",") + to_string(host);
  std::string description = url.scheme + "://" + where + "/" + std::to_string(login.database);
  co_return std::make_unique<RedisStore>(runtime, std::move(login), std::move(description));
}

}  // namespace bellwether::store
