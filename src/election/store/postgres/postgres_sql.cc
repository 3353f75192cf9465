#include "election/store/postgres/postgres_sql.h"

#include "core/base/bytes.h"
#include "core/base/encoding.h"

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

}  // namespace

const std::string_view kPgCreate =
    "create table if not exists bellwether_leases (key bytea primary key, stamp text not null, server text not null, "
    "holder text not null, token text not null, epoch bigint not null, renewal bigint not null, lease_ms bigint not "
    "null, region text not null, heir text not null, cause text not null, acquired timestamptz not null, renewed "
    "timestamptz not null)";

const std::string_view kPgLook =
    "select s.life, s.now_ms, m.server, m.epoch," BELLWETHER_PG_RECORD " from " BELLWETHER_PG_LIFE
    " s left join bellwether_leases m on m.key = '' left join bellwether_leases r on r.key = $1::bytea";

const std::string_view kPgAct =
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

const std::string_view kPgList =
    "select s.life, s.now_ms, m.server, m.epoch," BELLWETHER_PG_RECORD ", r.key from " BELLWETHER_PG_LIFE
    " s left join bellwether_leases m on m.key = '' join bellwether_leases r on r.key <> '' and r.key >= $1::bytea and "
    "($2::bytea = '' or r.key < $2::bytea) order by r.key limit $3::bigint";

std::string pg_bytes(std::string_view bytes) { return "\\x" + hex(bytes); }

std::string bytes_of_pg(std::string_view text) {
  std::string out;
  for (std::size_t i = 2; i + 1 < text.size(); i += 2) {
    out.push_back(static_cast<char>(hex_digit(text[i]) << 4 | hex_digit(text[i + 1])));
  }
  return out;
}

Result<Observation> observe_pg(const PgRow& row) {
  if (row.size() < kColumns) return fail(Errc::kProtocol, "the table bellwether_leases is not as it must be");
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

PgVersion parse_pg_version(const election::Version& version) {
  const auto bar = version.find('|');
  if (bar == std::string::npos) return {"?", "?"};  // of nothing that we have shown
  const std::string stamp = version.substr(0, bar);
  return {stamp.starts_with('-') ? std::string() : stamp, version.substr(bar + 1)};
}

}  // namespace bellwether::store
