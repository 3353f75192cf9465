// The table of leases, and the statements on it. Each is one compare-and-act of PostgreSQL's own: an upsert that
// happens only where the row still has the stamp that is expected.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "election/store/doubt.h"
#include "election/store/lease_store.h"
#include "election/store/postgres/pg_pool.h"

namespace bellwether::store {

// For an operator who does not let programs make tables.
extern const std::string_view kPgCreate;
// $1: key. One row of state, as observe_pg() reads it.
extern const std::string_view kPgLook;
// $1 key, $2 the stamp expected, $3 the server's life expected, $4 the kind of act, $5… the new record, $14 what
// is told to those who listen. No row: it was
// not done; else as kPgLook.
extern const std::string_view kPgAct;
// $1: the first key, $2: the end, empty for all; $3: how many. Rows as kPgLook, the key behind them.
extern const std::string_view kPgList;

// As PostgreSQL takes any bytes, and as it gives them.
std::string pg_bytes(std::string_view bytes);
std::string bytes_of_pg(std::string_view text);

Result<election::Observation> observe_pg(const PgRow& row);
// What a version names.
struct PgVersion {
  std::string stamp;  // empty: there is no record
  std::string life;
};
PgVersion parse_pg_version(const election::Version& version);

}  // namespace bellwether::store
