// SQLite for this room: a connection, statements, and its errors in words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "load/codec/window_codec.h"
#include "load/metrics/window.h"
#include "load/plan/plan.h"
#include "load/results/store.h"

struct sqlite3;
struct sqlite3_stmt;

namespace bellwether::results {

class Database {
 public:
  explicit Database(std::string path) : path_(std::move(path)) {}
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  Status open(Store::Use use);
  Status run(const char* sql);
  // The error of the last call.
  tl::unexpected<Error> failed(std::string_view what);
  sqlite3* handle() { return handle_; }
  const std::string& path() const { return path_; }

 private:
  Status set_up(Store::Use use);

  std::string path_;
  sqlite3* handle_ = nullptr;
};

// Arguments are bound in the order of the call.
class Statement {
 public:
  Statement(Database& database, const char* sql);
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement();

  Statement& text(std::string_view value);
  Statement& blob(std::string_view value);
  Statement& number(int64_t value);

  // True: another row. False: no more.
  Result<bool> row();
  // Runs to the end.
  Status done();

  std::string bytes(int column);
  int64_t integer(int column);

 private:
  Database& database_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

// All or nothing: without a commit the changes are undone.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(database) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  Status begin();
  Status commit();

 private:
  Database& database_;
  bool open_ = false;
};

// The part of a plan that gives its windows a meaning later, without the scenario: names and their relations. Of the
// scenario's secrets only names and tags can be in it.

inline constexpr std::size_t kMaxShapeBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxShapeEntries = 50'000;

std::string encode_shape(const plan::Plan& plan);
// A plan for counting and reporting, not for running: its workflows have no steps, and it has no thresholds. kInvalid:
// no such text.
Result<plan::Plan> decode_shape(std::string_view text);

// Intervals of runs as rows of the store. Within transactions of the caller.

// The stored part of the plan of a run, to read its intervals with.
Result<plan::Plan> kept_plan(Database& database, const std::string& run);
Status put_interval(Database& database, const std::string& run, const Interval& interval);
// All intervals that begin in the time of the fold become one.
Status fold_intervals(Database& database, const std::string& run, const ingest::Shape& shape,
                      const metrics::Fold& fold);

}  // namespace bellwether::results
