#include "election/store/postgres/postgres_store.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "election/lease_record.h"
#include "election/store/dial.h"
#include "election/store/turns.h"

namespace bellwether::store {
namespace {

using election::Epoch;
using election::Observation;

// A life of the server ends when a standby takes its place or an older state is restored: its timeline changes.
#define BELLWETHER_PG_LIFE                                               \
  "(select substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as life," \
  " (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms)"
#define BELLWETHER_PG_MILLIS(column) "(extract(epoch from " column ") * 1000)::bigint"
#define BELLWETHER_PG_RECORD                                                                  \
  " r.stamp, r.server, r.holder, r.token, r.epoch, r.renewal, r.lease_ms, r.region, r.heir, " \
  "r.cause, " BELLWETHER_PG_MILLIS("r.acquired") ", " BELLWETHER_PG_MILLIS("r.renewed")

// Places in a row.
enum Column : unsigned char {
  kLife,
  kNow,
  kMarkedIn,
  kBorn,
  kStamp,
  kServer,
  kHolder,
  kToken,
  kEpoch,
  kRenewal,
  kLease,
  kRegion,
  kHeir,
  kCause,
  kAcquired,
  kRenewed,
  kColumns
};

std::string text(const PgRow& row, Column column) { return row[column].value_or(""); }
uint64_t number(const PgRow& row, Column column) { return parse_u64(text(row, column)).value_or(0); }
WallTime wall(const PgRow& row, Column column) { return {static_cast<int64_t>(number(row, column)) * 1'000'000}; }

void wake(PgWatch::Listener& listener) {
  listener.may_have = true;
  listener.changed.set();
}

using election::WriteOutcome;
using election::WriteRequest;
using runtime::task;

// The end of the keys that begin with `prefix`; empty: no end.
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

// The table of leases, and the statements on it. Each is one compare-and-act of PostgreSQL's own: an upsert that
// happens only where the row still has the stamp that is expected.

// For operators who create tables themselves.
constexpr std::string_view kPgCreate =
    "create table if not exists bellwether_leases (key bytea primary key, stamp text not null, server text not null, "
    "holder text not null, token text not null, epoch bigint not null, renewal bigint not null, lease_ms bigint not "
    "null, region text not null, heir text not null, cause text not null, acquired timestamptz not null, renewed "
    "timestamptz not null)";

// $1: key. One row of state, as observe_pg() reads it.
constexpr std::string_view kPgLook =
    "select s.life, s.now_ms, m.server, m.epoch," BELLWETHER_PG_RECORD " from " BELLWETHER_PG_LIFE
    " s left join bellwether_leases m on m.key = '' left join bellwether_leases r on r.key = $1::bytea";

// $1 key, $2 the stamp expected, $3 the server's life expected, $4 the kind of act, $5… the new record, $14 the
// notification for listeners. No row: it was not done; else as kPgLook.
constexpr std::string_view kPgAct =
    "with s as " BELLWETHER_PG_LIFE
    ", r as (insert into bellwether_leases as l (key, stamp, server, holder, token, epoch, renewal, lease_ms, region, "
    "heir, cause, acquired, renewed) select $1::bytea, $5, s.life, $6, $7, $8::bigint, $9::bigint, $10::bigint, $11, "
    "$12, $13, clock_timestamp(), clock_timestamp() from s where s.life = $3::text and ($2::text = '' or exists "
    "(select "
    "from bellwether_leases where key = $1::bytea)) on conflict (key) do update set stamp = excluded.stamp, server = "
    "excluded.server, holder = excluded.holder, token = excluded.token, epoch = excluded.epoch, renewal = "
    "excluded.renewal, lease_ms = excluded.lease_ms, region = excluded.region, heir = excluded.heir, cause = "
    "excluded.cause, acquired = case when $4::text = 'take' then excluded.acquired else l.acquired end, renewed = case "
    "when $4::text = 'amend' then l.renewed else excluded.renewed end where l.stamp = $2::text returning l.*)"
    ", marked as (insert into bellwether_leases as l (key, stamp, server, holder, token, epoch, renewal, lease_ms, "
    "region, heir, cause, acquired, renewed) select '', 'store', s.life, '', '', s.now_ms, 0, 0, '', '', 'marks since "
    "when leases are kept here', clock_timestamp(), clock_timestamp() from s, r where not exists (select from "
    "bellwether_leases where key = '' and server = s.life) on conflict (key) do update set server = excluded.server, "
    "epoch = greatest(excluded.epoch, l.epoch + 1))"
    ", told as (select pg_notify('bellwether', $14::text) from r)"
    " select s.life, s.now_ms, s.life, s.now_ms," BELLWETHER_PG_RECORD " from s, r left join told on true";

// $1: the first key, $2: the end, empty for all; $3: how many. Rows as kPgLook, the key behind them.
constexpr std::string_view kPgList =
    "select s.life, s.now_ms, m.server, m.epoch," BELLWETHER_PG_RECORD ", r.key from " BELLWETHER_PG_LIFE
    " s left join bellwether_leases m on m.key = '' join bellwether_leases r on r.key <> '' and r.key >= $1::bytea and "
    "($2::bytea = '' or r.key < $2::bytea) order by r.key limit $3::bigint";

Result<Observation> observe_pg(const PgRow& row) {
  if (row.size() < kColumns) return fail(Errc::kProtocol, "the table bellwether_leases has a wrong structure");
  const ServerLife life{text(row, kLife), number(row, kNow), text(row, kMarkedIn), number(row, kBorn)};
  Observation seen;
  seen.present = row[kStamp].has_value();
  if (!seen.present) {
    seen.version = "-" + life.marked_in + "." + std::to_string(life.born_ms) + "|" + life.now_in;
    judge_absence(life, "PostgreSQL", seen);
    return seen;
  }
  seen.version = text(row, kStamp) + "|" + life.now_in;
  seen.record.holder = text(row, kHolder);
  seen.record.token = text(row, kToken);
  seen.record.epoch = Epoch(number(row, kEpoch));
  seen.record.renewal = number(row, kRenewal);
  seen.record.lease = Duration::millis(static_cast<int64_t>(number(row, kLease)));
  seen.record.region = text(row, kRegion);
  seen.record.heir = text(row, kHeir);
  seen.record.cause = text(row, kCause);
  seen.record.acquired_at = wall(row, kAcquired);
  seen.record.renewed_at = wall(row, kRenewed);
  judge_record(life, text(row, kServer), "PostgreSQL", seen);
  return seen;
}

// The content of a version.
struct PgVersion {
  std::string stamp;  // empty: no record
  std::string life;
};
PgVersion parse_pg_version(const election::Version& version) {
  const auto bar = version.find('|');
  if (bar == std::string::npos) return {"?", "?"};  // of nothing that we have shown
  const std::string stamp = version.substr(0, bar);
  return {stamp.starts_with('-') ? std::string() : stamp, version.substr(bar + 1)};
}

// The notification of an act: the name of its key, at most 40 characters, and its stamp.
std::string pg_name_of(std::string_view key) { return sha256_hex(key).substr(0, 40); }
std::string pg_notice(const std::string& name, const std::string& stamp) { return name + " " + stamp; }

}  // namespace

std::string pg_bytes(std::string_view bytes) { return "\\x" + hex(bytes); }

std::string bytes_of_pg(std::string_view text) {
  std::string out;
  for (std::size_t i = 2; i + 1 < text.size(); i += 2) {
    out.push_back(static_cast<char>(hex_digit(text[i]) << 4 | hex_digit(text[i + 1])));
  }
  return out;
}

void PgWatch::add(Listener& listener) {
  listeners_[listener.name].push_back(&listener);
  if (keeping_.valid()) {
    wake(listener);  // it missed earlier changes
  } else {
    keeping_ = keep_listening(runtime_, refused_, [this](Instant) { return pool_.listen("bellwether", *this); });
  }
}

void PgWatch::remove(Listener& listener) {
  const auto found = listeners_.find(listener.name);
  if (found == listeners_.end()) return;
  std::erase(found->second, &listener);
  if (found->second.empty()) listeners_.erase(found);
  if (listeners_.empty()) keeping_ = {};
}

void PgWatch::hear(std::string_view told) {
  const auto found = listeners_.find(told.substr(0, told.find(' ')));
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
    if (rows.size() != 1) co_return fail(Errc::kProtocol, "PostgreSQL returned no row");
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
    // The conflicting record may be younger than the statement's snapshot.
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
  if (key.empty()) return fail(Errc::kInvalid, "a key must have at least one byte");
  if (key.size() > 2000) return fail(Errc::kInvalid, "PostgreSQL supports no keys of more than 2000 bytes");
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
  std::string description = fmt::format("postgres://{}/{}", hosts_text(login.hosts), url.path);
  co_return std::make_unique<PostgresStore>(runtime, std::move(login), std::move(description));
}

}  // namespace bellwether::store
