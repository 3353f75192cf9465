#include "cluster/net/kv.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>
#include <zlib.h>

#include "core/runtime/epoll/blocking_pool.h"

namespace bellwether::cluster {
namespace {

using runtime::task;
using Pairs = std::vector<std::pair<std::string, std::string>>;

constexpr int kApplication = 0x42654c77;  // "BeLw", so that file(1) and we know it
constexpr int kFormat = 1;
constexpr std::size_t kSumBytes = 4;

std::string with_sum(const std::string& key, const std::string& value) {
  uLong sum = crc32(0, reinterpret_cast<const Bytef*>(key.data()), static_cast<uInt>(key.size()));
  sum = crc32(sum, reinterpret_cast<const Bytef*>(value.data()), static_cast<uInt>(value.size()));
  std::string out(kSumBytes, '\0');
  for (std::size_t i = 0; i < kSumBytes; ++i) out[i] = static_cast<char>((sum >> (8 * i)) & 0xff);
  return out + value;
}

// One statement, with its arguments bound, until it is destroyed.
class Statement {
 public:
  Statement(sqlite3* database, const char* sql) { sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  void bind_text(int at, const std::string& text) {
    sqlite3_bind_blob(statement_, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  // SQLITE_ROW, SQLITE_DONE, or an error; an error, too, when it could not be prepared.
  int step() { return statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_); }
  std::string column(int at) {
    const void* data = sqlite3_column_blob(statement_, at);
    const int size = sqlite3_column_bytes(statement_, at);
    return data == nullptr ? std::string()
                           : std::string(static_cast<const char*>(data), static_cast<std::size_t>(size));
  }
  int number(int at) { return sqlite3_column_int(statement_, at); }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

// The file itself. On the worker thread only.
class Database {
 public:
  explicit Database(std::string path) : path_(std::move(path)) {}
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { sqlite3_close_v2(database_); }

  Status open();
  Result<std::optional<std::string>> get(const std::string& key);
  Result<Pairs> list(const std::string& prefix);
  Status put(const std::vector<KvChange>& changes);

 private:
  Status set_up();
  Result<int> pragma(const char* sql);
  int run(const char* sql);
  Status failed(const std::string& what);
  Result<std::string> checked(const std::string& key, const std::string& stored) const;
  Status change(const KvChange& change);

  std::string path_;
  sqlite3* database_ = nullptr;
  bool broken_ = false;
};

Status Database::failed(const std::string& what) {
  const int code = sqlite3_errcode(database_);
  const std::string text = fmt::format("{} '{}': {}", what, path_, sqlite3_errmsg(database_));
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fail(Errc::kExists, text + ". Another process has it open; is this node running already?");
    case SQLITE_FULL: return fail(Errc::kNoSpace, text);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return fail(Errc::kInvalid, text + ". It is damaged or not a database");
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY: return fail(Errc::kRefused, text);
    default: broken_ = true; return fail(Errc::kIo, text);
  }
}

int Database::run(const char* sql) { return sqlite3_exec(database_, sql, nullptr, nullptr, nullptr); }

Result<int> Database::pragma(const char* sql) {
  Statement statement(database_, sql);
  if (statement.step() != SQLITE_ROW) return tl::unexpected(failed("reading").error());
  return statement.number(0);
}

Status Database::open() {
  // Only the owner may read the names of jobs and peers; SQLite would make the file readable for everybody.
  const int made = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (made < 0) return fail_errno(errno, fmt::format("opening '{}'", path_));
  ::close(made);
  if (sqlite3_open_v2(path_.c_str(), &database_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK) {
    return failed("opening");
  }
  sqlite3_extended_result_codes(database_, 1);
  // Exclusive before the log is set up: then the log's index is in our memory, and a second node cannot open the file.
  if (run("PRAGMA locking_mode=EXCLUSIVE") != SQLITE_OK || run("PRAGMA journal_mode=WAL") != SQLITE_OK ||
      run("PRAGMA synchronous=FULL") != SQLITE_OK || run("PRAGMA trusted_schema=OFF") != SQLITE_OK) {
    return failed("opening");
  }
  return set_up();
}

Status Database::set_up() {
  BW_TRY(const auto application, pragma("PRAGMA application_id"));
  BW_TRY(const auto format, pragma("PRAGMA user_version"));
  BW_TRY(const auto tables, pragma("SELECT count(*) FROM sqlite_schema"));
  const bool fresh = application == 0 && format == 0 && tables == 0;
  if (!fresh && application != kApplication) {
    return fail(Errc::kInvalid, "'{}' is a database of another program", path_);
  }
  if (format > kFormat) {
    return fail(Errc::kUnsupported, "'{}' has format {}; this version knows formats up to {}", path_, format, kFormat);
  }
  const std::string create = fmt::format(
      "BEGIN IMMEDIATE; PRAGMA application_id={}; PRAGMA user_version={}; CREATE TABLE IF NOT EXISTS kv(key BLOB "
      "PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID; COMMIT",
      kApplication, kFormat);
  // Also when nothing is new: it takes the lock, so that a second node is refused at its start and not at its first
  // change.
  if (run(create.c_str()) != SQLITE_OK) return failed("setting up");
  return {};
}

Result<std::string> Database::checked(const std::string& key, const std::string& stored) const {
  if (stored.size() >= kSumBytes) {
    std::string value = stored.substr(kSumBytes);
    if (with_sum(key, value) == stored) return value;
  }
  return fail(Errc::kInvalid, "the value in '{}' under '{}' is damaged", path_, key);
}

Result<std::optional<std::string>> Database::get(const std::string& key) {
  if (broken_) return fail(Errc::kIo, "'{}' is closed after an earlier failure", path_);
  Statement statement(database_, "SELECT value FROM kv WHERE key=?1");
  statement.bind_text(1, key);
  const int step = statement.step();
  if (step == SQLITE_DONE) return std::nullopt;
  if (step != SQLITE_ROW) return tl::unexpected(failed("reading").error());
  BW_TRY(auto value, checked(key, statement.column(0)));
  return std::optional<std::string>(std::move(value));
}

Result<Pairs> Database::list(const std::string& prefix) {
  if (broken_) return fail(Errc::kIo, "'{}' is closed after an earlier failure", path_);
  Pairs found;
  Statement statement(database_, "SELECT key, value FROM kv WHERE key>=?1 ORDER BY key");
  statement.bind_text(1, prefix);
  while (true) {
    const int step = statement.step();
    if (step == SQLITE_DONE) return found;
    if (step != SQLITE_ROW) return tl::unexpected(failed("reading").error());
    std::string key = statement.column(0);
    if (!key.starts_with(prefix)) return found;
    BW_TRY(auto value, checked(key, statement.column(1)));
    found.emplace_back(std::move(key), std::move(value));
  }
}

Status Database::change(const KvChange& change) {
  Statement statement(database_, change.value ? "INSERT INTO kv(key, value) VALUES(?1, ?2) "
                                                "ON CONFLICT(key) DO UPDATE SET value=excluded.value"
                                              : "DELETE FROM kv WHERE key=?1");
  statement.bind_text(1, change.key);
  if (change.value) statement.bind_text(2, with_sum(change.key, *change.value));
  if (statement.step() != SQLITE_DONE) return failed("writing");
  return {};
}

Status Database::put(const std::vector<KvChange>& changes) {
  if (broken_) return fail(Errc::kIo, "'{}' is closed after an earlier failure", path_);
  for (const KvChange& one : changes) {
    if (one.key.size() > Kv::kMaxKeyBytes || (one.value && one.value->size() > Kv::kMaxValueBytes)) {
      return fail(Errc::kTooLarge, "the value for '{}' is too large to store", one.key.substr(0, 64));
    }
  }
  if (run("BEGIN IMMEDIATE") != SQLITE_OK) return failed("writing");
  for (const KvChange& one : changes) {
    Status done = change(one);
    if (done) continue;
    run("ROLLBACK");
    return done;
  }
  if (run("COMMIT") == SQLITE_OK) return {};
  Status how = failed("writing");
  if (sqlite3_get_autocommit(database_) == 0) run("ROLLBACK");
  return how;
}

class SqliteKv final : public Kv {
 public:
  SqliteKv(runtime::Runtime& runtime, std::string path)
      : pool_(runtime), database_(std::make_shared<Database>(std::move(path))) {}

  task<Status> open() {
    auto opened = co_await pool_.run([database = database_] { return database->open(); });
    co_return opened;
  }
  task<Result<std::optional<std::string>>> get(std::string key) override {
    auto value = co_await pool_.run([database = database_, key = std::move(key)] { return database->get(key); });
    co_return value;
  }
  task<Result<Pairs>> list(std::string prefix) override {
    auto found =
        co_await pool_.run([database = database_, prefix = std::move(prefix)] { return database->list(prefix); });
    co_return found;
  }
  task<Status> put(std::vector<KvChange> changes) override {
    auto done =
        co_await pool_.run([database = database_, changes = std::move(changes)] { return database->put(changes); });
    co_return done;
  }

 private:
  runtime::BlockingPool pool_;
  std::shared_ptr<Database> database_;  // an operation that is under way goes on without us
};

}  // namespace

task<Result<std::unique_ptr<Kv>>> open_sqlite_kv(runtime::Runtime& runtime, std::string path) {
  auto kv = std::make_unique<SqliteKv>(runtime, std::move(path));
  BW_CO_RETURN_IF_ERROR(co_await kv->open());
  co_return std::unique_ptr<Kv>(std::move(kv));
}

}  // namespace bellwether::cluster
