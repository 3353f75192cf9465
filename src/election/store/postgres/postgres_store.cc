#include "election/store/postgres/postgres_store.h"

#include <algorithm>
#include <utility>

#include "core/base/encoding.h"
#include "election/store/credentials.h"
#include "election/store/dial.h"
#include "election/store/pauses.h"
#include "election/store/postgres/postgres_sql.h"
#include "election/token.h"

namespace bellwether::store {
namespace {

void wake(PgWatch::Listener& listener) {
  listener.may_have = true;
  listener.changed.set();
}

using election::Observation;
using election::WriteOutcome;
using election::WriteRequest;
using runtime::task;

// The end of the keys that begin with `prefix`; empty when there is none.
std::string end_of(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (!prefix.empty()) prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

// A text for PostgreSQL has no zero bytes.
std::string without_zeros(std::string text) {
  std::replace(text.begin(), text.end(), '\0', '?');
  return text;
}

}  // namespace

std::string pg_name_of(std::string_view key) { return sha256_hex(key).substr(0, 40); }
std::string pg_notice(const std::string& name, const std::string& stamp) { return name + " " + stamp; }

void PgWatch::add(Listener& listener) {
  listeners_[listener.name].push_back(&listener);
  if (keeping_.valid()) {
    wake(listener);  // what happened before it listened was not told
  } else {
    keeping_ = keep(this);
  }
}

void PgWatch::remove(Listener& listener) {
  const auto found = listeners_.find(listener.name);
  if (found == listeners_.end()) return;
  std::erase(found->second, &listener);
  if (found->second.empty()) listeners_.erase(found);
  if (listeners_.empty()) keeping_ = {};
}

runtime::task<void> PgWatch::keep(PgWatch* self) {
  Pauses pauses;
  while (true) {
    const Instant begun = self->runtime_.read_clock();
    const Status ended = co_await self->pool_.listen("bellwether", *self);
    self->refused_ = refusal_in(ended);
    const Duration lived = self->runtime_.read_clock() - begun;
    const Duration pause = pauses.next(lived, ended, self->runtime_.prng());
    if (pause > Duration::zero()) co_await self->runtime_.sleep(pause);
  }
}

void PgWatch::hear(std::string_view told) {
  const std::size_t space = std::min(told.find(' '), told.size());
  const auto found = listeners_.find(told.substr(0, space));
  if (found == listeners_.end()) return;
  for (Listener* listener : found->second) {
    if (told != pg_notice(listener->name, listener->own_stamp)) wake(*listener);
  }
}

void PgWatch::begin() {
  for (const auto& [name, listeners] : listeners_) {
    for (Listener* listener : listeners) wake(*listener);
  }
}

class PostgresKey final : public StoreKey {
 public:
  PostgresKey(PostgresStore& store, const std::string& key) : store_(store), key_(pg_bytes(key)) {
    listener_.name = pg_name_of(key);
  }
  ~PostgresKey() override { store_.watch_.remove(listener_); }

  task<Result<Observation>> look(Instant deadline, runtime::Cancellation* cancel) override {
    std::vector<std::string> parameters{key_};
    BW_CO_TRY(auto rows, co_await store_.run(kPgLook, std::move(parameters), deadline, cancel));
    if (rows.size() != 1) co_return fail(Errc::kProtocol, "PostgreSQL answered a look with no row");
    co_return observe_pg(rows.front());
  }

  task<Result<WriteOutcome>> act(WriteRequest request, Instant deadline, runtime::Cancellation* cancel) override {
    const election::LeaseRecord& record = request.record;
    const PgVersion expected = parse_pg_version(request.expected);
    const std::string stamp = std::to_string(record.epoch.value()) + "." + election::make_token(store_.runtime_.prng());
    std::vector<std::string> parameters{key_,
                                        expected.stamp,
                                        expected.life,
                                        to_string(request.kind),
                                        stamp,
                                        without_zeros(record.holder),
                                        without_zeros(record.token),
                                        std::to_string(record.epoch.value()),
                                        std::to_string(record.renewal),
                                        std::to_string(record.lease.ms()),
                                        without_zeros(record.region),
                                        without_zeros(record.heir),
                                        without_zeros(record.cause),
                                        pg_notice(listener_.name, stamp)};
    listener_.own_stamp = stamp;
    BW_CO_TRY(auto rows, co_await store_.run(kPgAct, std::move(parameters), deadline, cancel));
    if (!rows.empty()) {
      BW_CO_TRY(auto after, observe_pg(rows.front()));
      co_return WriteOutcome{true, std::move(after)};
    }
    // What is in the way may be younger than what the statement could see.
    BW_CO_TRY(auto after, co_await look(deadline, cancel));
    co_return WriteOutcome{false, std::move(after)};
  }

  task<bool> changed(runtime::Cancellation* cancel) override {
    if (!std::exchange(listening_, true)) store_.watch_.add(listener_);
    runtime::CancelCallback on_cancel(
        cancel, [](void* self) { static_cast<PostgresKey*>(self)->listener_.changed.set(); }, this);
    co_await listener_.changed.wait();
    listener_.changed.reset();
    if (cancel != nullptr && cancel->cancelled()) {
      listening_ = false;
      store_.watch_.remove(listener_);
      co_return false;
    }
    co_return std::exchange(listener_.may_have, false);
  }

  std::string watch_refused() const override { return store_.watch_.refused(); }

 private:
  PostgresStore& store_;
  std::string key_;
  PgWatch::Listener listener_;
  bool listening_ = false;
};

task<Result<std::vector<PgRow>>> PostgresStore::run(std::string_view statement, std::vector<std::string> parameters,
                                                    Instant deadline, runtime::Cancellation* cancel) {
  std::string text(statement);
  auto rows = co_await pool_.run(text, parameters, deadline, cancel);
  if (!rows && rows.error().code == Errc::kRefused) pool_.avoid();
  if (rows || rows.error().code != Errc::kNotFound || rows.error().message.find("table") == std::string::npos) {
    co_return rows;
  }
  // Several of us may come here at once, and "if not exists" alone does not settle that.
  std::string create = "begin; select pg_advisory_xact_lock(7236272656437); " + std::string(kPgCreate) + "; commit";
  const auto created = co_await pool_.run(std::move(create), {}, deadline, cancel);
  if (!created) {
    co_return fail(created.error().code, created.error().message + "; let an administrator run: " +
                                             std::string(kPgCreate) + "; and grant select, insert, update on it");
  }
  rows = co_await pool_.run(std::move(text), std::move(parameters), deadline, cancel);
  co_return rows;
}

Result<std::unique_ptr<StoreKey>> PostgresStore::open(std::string key) {
  if (key.empty()) return fail(Errc::kInvalid, "a key has at least one byte");
  if (key.size() > 2000) return fail(Errc::kInvalid, "PostgreSQL has no keys of more than 2000 bytes");
  return std::make_unique<PostgresKey>(*this, key);
}

task<Result<std::vector<ListedKey>>> PostgresStore::list(std::string prefix, std::size_t most, Instant deadline,
                                                         runtime::Cancellation* cancel) {
  std::vector<std::string> parameters{pg_bytes(prefix), pg_bytes(end_of(prefix)), std::to_string(most)};
  BW_CO_TRY(const auto rows, co_await run(kPgList, std::move(parameters), deadline, cancel));
  std::vector<ListedKey> found;
  for (const PgRow& row : rows) {
    BW_CO_TRY(auto seen, observe_pg(row));
    found.push_back({bytes_of_pg(row.back().value_or("")), std::move(seen)});
  }
  co_return found;
}

task<Result<std::unique_ptr<LeaseStore>>> open_postgres_store(runtime::Runtime& runtime, StoreUrl url) {
  PgLogin login;
  login.hosts = url.hosts;
  if (login.hosts.empty()) co_return fail(Errc::kInvalid, url.text + ": the host is missing: postgres://USER@HOST/DB");
  if (!url.user.empty()) login.parameters["user"] = url.user;
  if (!url.path.empty()) login.parameters["dbname"] = url.path;
  std::vector<std::string> variables{"BELLWETHER_STORE_PASSWORD"};
  BW_CO_TRY(auto password, co_await password_of(runtime, url, std::move(variables)));
  if (!password.empty()) login.parameters["password"] = std::move(password);
  for (const char* name : {"sslmode", "sslrootcert", "sslcert", "sslkey"}) {
    if (auto value = url.take(name)) login.parameters[name] = std::move(*value);
  }
  BW_CO_RETURN_IF_ERROR(url.nothing_left("password_file, sslmode, sslrootcert, sslcert, sslkey"));
  std::string where;
  for (const HostPort& host : login.hosts) where += (where.empty() ? "" : ",") + to_string(host);
  std::string description = "postgres://" + where + "/" + url.path;
  co_return std::make_unique<PostgresStore>(runtime, std::move(login), std::move(description));
}

}  // namespace bellwether::store
