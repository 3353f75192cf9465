#include "load/results/database.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace bellwether::results {
namespace {

constexpr int kApplication = 0x42655272;  // "BeRr", so that file(1) and we know it
constexpr int kFormat = 1;
constexpr int kBusyMillis = 5'000;  // while another process writes

constexpr const char* kTables =
    "PRAGMA application_id=1113936498; PRAGMA user_version=1;"
    "CREATE TABLE runs(id TEXT PRIMARY KEY, scenario TEXT NOT NULL, started_at INTEGER NOT NULL, cores INTEGER NOT "
    "NULL,"
    " pid INTEGER NOT NULL, start_time INTEGER NOT NULL, boot_id TEXT NOT NULL, pid_namespace TEXT NOT NULL,"
    " shape TEXT NOT NULL, elapsed INTEGER NOT NULL DEFAULT 0, requests INTEGER NOT NULL DEFAULT 0,"
    " failed INTEGER NOT NULL DEFAULT 0, verdict TEXT, exit_code INTEGER, document TEXT) STRICT;"
    "CREATE INDEX runs_by_start ON runs(started_at);"
    "CREATE TABLE intervals(run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE, first INTEGER NOT NULL,"
    " span INTEGER NOT NULL, covered INTEGER NOT NULL, window BLOB NOT NULL, PRIMARY KEY(run, first)) STRICT;";
static_assert(kApplication == 1113936498 && kFormat == 1, "the text above says the same");

// Makes missing folders, for their owner only.
Status make_folders(const std::string& path) {
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    const std::string folder = path.substr(0, at);
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
      return fail_errno(errno, fmt::format("making '{}'", folder));
  }
  return {};
}

using Json = nlohmann::ordered_json;

constexpr std::size_t kMetricKinds = 4;

bool is_list(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_array() && json[key].size() <= kMaxShapeEntries;
}

bool is_below(const Json& json, const char* key, std::size_t bound) {
  return json.is_object() && json.contains(key) && json[key].is_number_unsigned() && json[key].get<uint64_t>() < bound;
}

bool is_named(const Json& json) { return json.is_object() && json.contains("name") && json["name"].is_string(); }

bool is_flag(const Json& json, const char* key) { return json.contains(key) && json[key].is_boolean(); }

// A plan without tags is written without them, as in earlier versions.
void put_tags(const std::vector<plan::Tag>& tags, Json& out) {
  for (const plan::Tag& tag : tags) out["tags"][tag.key] = tag.value;
}

bool take_tags(const Json& json, std::vector<plan::Tag>& out) {
  if (!json.contains("tags")) return true;
  const Json& tags = json["tags"];
  if (!tags.is_object() || tags.size() > kMaxShapeEntries) return false;
  for (const auto& [key, value] : tags.items()) {
    if (!value.is_string()) return false;
    out.push_back({key, value.get<std::string>()});
  }
  return true;
}

}  // namespace

Database::~Database() { sqlite3_close_v2(handle_); }

tl::unexpected<Error> Database::failed(std::string_view what) {
  const std::string text = fmt::format("{} '{}': {}", what, path_, sqlite3_errmsg(handle_));
  switch (sqlite3_errcode(handle_) & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return fail(Errc::kTimeout, text + ". Other processes write to it");
    case SQLITE_FULL: return fail(Errc::kNoSpace, text);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return fail(Errc::kInvalid,
                  text + ". It is damaged or not a database: move it away, and the next run creates a new one");
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY: return fail(Errc::kRefused, text);
    case SQLITE_TOOBIG: return fail(Errc::kTooLarge, text);
    default: return fail(Errc::kIo, text);
  }
}

Status Database::run(const char* sql) {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return failed("writing");
  return {};
}

Status Database::open(Store::Use use) {
  if (use == Store::Use::kWrite) {
    BW_RETURN_IF_ERROR(make_folders(path_));
    // SQLite would make it readable for every user, and names of scenarios are private.
    const int made = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (made < 0) return fail_errno(errno, fmt::format("opening '{}'", path_));
    ::close(made);
  } else if (::access(path_.c_str(), F_OK) != 0) {
    return fail(Errc::kNotFound, "there is no '{}'", path_);
  }
  // A reader has to write as well: the index of the log that readers share.
  int flags = SQLITE_OPEN_READWRITE;
  if (use == Store::Use::kRead && ::access(path_.c_str(), W_OK) != 0) flags = SQLITE_OPEN_READONLY;
  if (sqlite3_open_v2(path_.c_str(), &handle_, flags | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK) {
    return failed("opening");
  }
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_busy_timeout(handle_, kBusyMillis);
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, 512 << 20);
  BW_RETURN_IF_ERROR(run("PRAGMA trusted_schema=OFF; PRAGMA foreign_keys=ON; PRAGMA cell_size_check=ON"));
  return set_up(use);
}

Status Database::set_up(Store::Use use) {
  if (use == Store::Use::kWrite) {
    // Before the first table, or it has no effect. NORMAL: written data outlive the process. A crash of the machine may
    // lose the last moments but never damages the file.
    if (auto set = run("PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL"); !set) {
      return set;
    }
  }
  Transaction transaction(*this);
  if (use == Store::Use::kWrite) {
    BW_RETURN_IF_ERROR(transaction.begin());
  }
  Statement about(*this,
                  "SELECT (SELECT application_id FROM pragma_application_id), "
                  "(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)");
  BW_RETURN_IF_ERROR(about.row());
  const int64_t application = about.integer(0);
  const int64_t format = about.integer(1);
  const bool fresh = application == 0 && format == 0 && about.integer(2) == 0;
  if (!fresh && application != kApplication) {
    return fail(Errc::kInvalid, "'{}' is a database of another program", path_);
  }
  if (format > kFormat) {
    return fail(Errc::kUnsupported, "'{}' has format {}; this version of the program knows formats up to {}", path_,
                format, kFormat);
  }
  if (fresh && use == Store::Use::kRead) return fail(Errc::kNotFound, "'{}' is empty", path_);
  if (fresh) {
    BW_RETURN_IF_ERROR(run(kTables));
  }
  return use == Store::Use::kWrite ? transaction.commit() : Status();
}

Statement::Statement(Database& database, const char* sql) : database_(database) {
  sqlite3_prepare_v2(database.handle(), sql, -1, &statement_, nullptr);
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::text(std::string_view value) {
  sqlite3_bind_text64(statement_, ++bound_, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

Statement& Statement::blob(std::string_view value) {
  sqlite3_bind_blob64(statement_, ++bound_, value.data(), value.size(), SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::number(int64_t value) {
  sqlite3_bind_int64(statement_, ++bound_, value);
  return *this;
}

Result<bool> Statement::row() {
  const int code = statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return database_.failed("using");
}

Status Statement::done() {
  BW_RETURN_IF_ERROR(row());
  return {};
}

std::string Statement::bytes(int column) {
  const void* data = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return data == nullptr ? std::string() : std::string(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

int64_t Statement::integer(int column) { return sqlite3_column_int64(statement_, column); }

Transaction::~Transaction() {
  // Fails only where SQLite has undone it already.
  if (open_) sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

Status Transaction::begin() {
  Status begun = database_.run("BEGIN IMMEDIATE");
  open_ = begun.has_value();
  return begun;
}

Status Transaction::commit() {
  Status committed = database_.run("COMMIT");
  if (committed) open_ = false;
  return committed;
}

std::string encode_shape(const plan::Plan& plan) {
  Json workflows = Json::array();
  for (const plan::Workflow& workflow : plan.workflows) {
    workflows.push_back({{"name", workflow.name}, {"start_ns", workflow.start_time.ns()}});
  }
  Json steps = Json::array();
  for (const plan::StepInfo& step : plan.steps) {
    steps.push_back(
        {{"name", step.name}, {"workflow", step.workflow}, {"index", step.index}, {"measured", step.measured}});
    put_tags(step.tags, steps.back());
  }
  Json checks = Json::array();
  for (const plan::CheckInfo& one : plan.checks) checks.push_back({{"name", one.name}, {"step", one.step}});
  Json metrics = Json::array();
  for (const plan::CustomMetric& one : plan.metrics) {
    metrics.push_back({{"name", one.name}, {"kind", static_cast<int>(one.kind)}, {"unit", one.unit}});
  }
  Json series = Json::array();
  for (const plan::Series& one : plan.series) series.push_back({{"metric", one.metric}, {"step", one.step}});
  Json shape{{"name", plan.name},           {"workflows", std::move(workflows)}, {"steps", std::move(steps)},
             {"checks", std::move(checks)}, {"metrics", std::move(metrics)},     {"series", std::move(series)}};
  put_tags(plan.tags, shape);
  return shape.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<plan::Plan> decode_shape(std::string_view text) {
  const auto wrong = [] { return fail(Errc::kInvalid, "the stored plan is damaged"); };
  if (text.size() > kMaxShapeBytes) return wrong();
  const Json shape = Json::parse(text, nullptr, false);
  if (shape.is_discarded() || !is_named(shape)) return wrong();
  if (!is_list(shape, "workflows") || !is_list(shape, "steps") || !is_list(shape, "checks")) return wrong();
  plan::Plan plan;
  plan.name = shape["name"];
  if (!take_tags(shape, plan.tags)) return wrong();
  for (const Json& one : shape["workflows"]) {
    if (!is_named(one) || !is_below(one, "start_ns", std::size_t{1} << 62)) return wrong();
    plan::Workflow workflow;
    workflow.name = one["name"];
    workflow.start_time = Duration::nanos(one["start_ns"].get<int64_t>());
    plan.workflows.push_back(std::move(workflow));
  }
  for (const Json& one : shape["steps"]) {
    const bool sound = is_named(one) && is_below(one, "workflow", plan.workflows.size()) &&
                       is_below(one, "index", kMaxShapeEntries) && is_flag(one, "measured");
    if (!sound) return wrong();
    plan.steps.push_back({.workflow = one["workflow"].get<uint16_t>(),
                          .index = one["index"].get<uint16_t>(),
                          .name = one["name"],
                          .measured = one["measured"]});
    plan::StepInfo& step = plan.steps.back();
    if (!take_tags(one, step.tags)) return wrong();
    // Its name without that of the workflow is the tag `name`, where no tag of its own is.
    if (std::ranges::count(step.tags, "name", &plan::Tag::key) == 0) {
      step.facts.push_back({"name", step.name.substr(step.name.rfind('.') + 1)});
    }
  }
  for (const Json& one : shape["checks"]) {
    if (!is_named(one) || !is_below(one, "step", plan.steps.size())) return wrong();
    plan.checks.push_back({.step = one["step"].get<plan::StepId>(), .name = one["name"]});
  }
  if (!shape.contains("metrics")) return plan;  // of an earlier version
  if (!is_list(shape, "metrics") || !is_list(shape, "series")) return wrong();
  for (const Json& one : shape["metrics"]) {
    if (!is_named(one) || !is_below(one, "kind", kMetricKinds) || !one.contains("unit") || !one["unit"].is_string()) {
      return wrong();
    }
    plan.metrics.push_back({one["name"], static_cast<plan::MetricKind>(one["kind"].get<int>()), one["unit"]});
  }
  for (const Json& one : shape["series"]) {
    if (!is_below(one, "metric", plan.metrics.size()) || !is_below(one, "step", plan.steps.size())) return wrong();
    plan.series.push_back({one["metric"].get<uint16_t>(), one["step"].get<uint16_t>()});
  }
  return plan;
}

Result<plan::Plan> kept_plan(Database& database, const std::string& run) {
  Statement select(database, "SELECT shape FROM runs WHERE id = ?");
  BW_TRY(const auto found, select.text(run).row());
  return decode_shape(found ? select.bytes(0) : "");
}

Status put_interval(Database& database, const std::string& run, const Interval& interval) {
  Statement insert(database, "INSERT INTO intervals(run, first, span, covered, window) VALUES(?, ?, ?, ?, ?)");
  insert.text(run).number(static_cast<int64_t>(interval.first)).number(static_cast<int64_t>(interval.span));
  return insert.number(interval.covered.ns()).blob(interval.window).done();
}

Status fold_intervals(Database& database, const std::string& run, const ingest::Shape& shape,
                      const metrics::Fold& fold) {
  Statement select(database,
                   "SELECT window, covered FROM intervals WHERE run = ? AND first >= ? AND first < ? ORDER BY first");
  select.text(run).number(static_cast<int64_t>(fold.first)).number(static_cast<int64_t>(fold.end));
  std::optional<metrics::Window> sum;
  for (;;) {
    BW_TRY(const auto more, select.row());
    if (!more) break;
    BW_TRY(auto one, ingest::decode_sum(select.bytes(0), shape));
    one.covered = Duration::nanos(select.integer(1));
    if (sum) {
      metrics::append(*sum, one);
    } else {
      sum = std::move(one);
    }
  }
  if (!sum) return {};
  Statement remove(database, "DELETE FROM intervals WHERE run = ? AND first >= ? AND first < ?");
  remove.text(run).number(static_cast<int64_t>(fold.first)).number(static_cast<int64_t>(fold.end));
  BW_RETURN_IF_ERROR(remove.done());
  const Duration covered = std::exchange(sum->covered, Duration::zero());
  return put_interval(database, run, {fold.first, fold.end - fold.first, covered, ingest::encode_window(*sum)});
}

}  // namespace bellwether::results
