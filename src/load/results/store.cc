// The store of runs. For runs of a cluster it follows the reports that a client receives.
#include "load/results/store.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/runtime/processes.h"
#include "load/aggregate/totals.h"
#include "load/codec/window_codec.h"
#include "load/report/reports.h"
#include "load/report/run_report.h"
#include "load/results/database.h"
#include "load/results/recorder.h"

namespace bellwether::results {

namespace {

constexpr const char* kRuns =
    "SELECT id, scenario, started_at, elapsed, requests, failed, verdict, exit_code, pid, start_time, boot_id,"
    " pid_namespace, verdict IS NOT NULL, ifnull(length(document), 0) +"
    " (SELECT ifnull(sum(length(window)), 0) FROM intervals WHERE run = runs.id)"
    " FROM runs ORDER BY started_at DESC, rowid DESC";

constexpr std::string_view kLast = "last";

// A store that has never seen a run on a cluster lacks this table, and needs no new format for it: a version that does
// not know the table ignores it.
constexpr const char* kTable =
    "CREATE TABLE IF NOT EXISTS clusters(run TEXT PRIMARY KEY REFERENCES runs(id) ON DELETE CASCADE,"
    " name TEXT NOT NULL, workers TEXT NOT NULL) STRICT";

// As many names as fit.
std::string_view whole_names(std::string_view names) {
  if (names.size() <= kMaxWorkersBytes) return names;
  const std::size_t end = names.rfind(' ', kMaxWorkersBytes);
  return names.substr(0, end == std::string_view::npos ? 0 : end);
}

// Only sums, for a comparison: the most users of two intervals is not that of the run.
std::string sums_of(metrics::Window& window) {
  window.second = 0;
  window.covered = Duration::zero();
  for (metrics::WorkflowWindow& one : window.workflows) {
    one.vus_active = one.vus_allocated = 0;
    one.ran = Duration::zero();
  }
  return ingest::encode_window(window);
}

// Whether the stored data until the end of `whole` agree with it.
Result<bool> is_kept(Database& database, const std::string& id, const ingest::Shape& shape, const Interval& whole) {
  BW_TRY(auto want, ingest::decode_sum(whole.window, shape));
  metrics::Window kept(shape);
  Statement select(database, "SELECT first, span, window FROM intervals WHERE run = ? AND first < ? ORDER BY first");
  select.text(id).number(static_cast<int64_t>(whole.span));
  for (;;) {
    BW_TRY(const auto more, select.row());
    if (!more) break;
    if (static_cast<uint64_t>(select.integer(0)) + static_cast<uint64_t>(select.integer(1)) > whole.span) return false;
    BW_TRY(const auto one, ingest::decode_sum(select.bytes(2), shape));
    metrics::append(kept, one);
  }
  return sums_of(kept) == sums_of(want);
}

// Whether a window means the same in both. Tags, start times and the name of the scenario only describe it, and another
// version may write them otherwise.
bool has_same_figures(const plan::Plan& a, const plan::Plan& b) {
  const auto same = [](const auto& x, const auto& y, auto... members) {
    return std::ranges::equal(
        x, y, [&](const auto& one, const auto& other) { return ((one.*members == other.*members) && ...); });
  };
  return same(a.workflows, b.workflows, &plan::Workflow::name) &&
         same(a.steps, b.steps, &plan::StepInfo::name, &plan::StepInfo::workflow, &plan::StepInfo::measured) &&
         same(a.checks, b.checks, &plan::CheckInfo::name, &plan::CheckInfo::step) &&
         same(a.metrics, b.metrics, &plan::CustomMetric::name, &plan::CustomMetric::kind, &plan::CustomMetric::unit) &&
         same(a.series, b.series, &plan::Series::metric, &plan::Series::step);
}

}  // namespace

std::string_view to_string(State state) {
  switch (state) {
    case State::kRunning: return "running";
    case State::kAborted: return "aborted";
    case State::kEnded: break;
  }
  return "ended";
}

Store::Store(std::unique_ptr<Database> database) : database_(std::move(database)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::open(const std::string& path, Use use) {
  auto database = std::make_unique<Database>(path);
  BW_RETURN_IF_ERROR(database->open(use));
  return Store(std::move(database));
}

Status Store::begin(const std::string& id, const plan::Plan& plan, WallTime started_at, int cores) {
  const runtime::ProcessIdentity self = runtime::identify_self();
  Statement insert(*database_,
                   "INSERT INTO runs(id, scenario, started_at, cores, pid, start_time, boot_id, pid_namespace, shape)"
                   " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert.text(id).text(plan.name).number(started_at.unix_ns).number(cores).number(self.pid);
  insert.number(static_cast<int64_t>(self.start_time)).text(self.boot_id).text(self.pid_namespace);
  return insert.text(encode_shape(plan)).done();
}

Status Store::add(const std::string& id, const Interval& second, const Figures& so_far,
                  const std::vector<metrics::Fold>& folds) {
  Transaction transaction(*database_);
  BW_RETURN_IF_ERROR(transaction.begin());
  BW_RETURN_IF_ERROR(put_interval(*database_, id, second));
  BW_RETURN_IF_ERROR(set_figures(id, so_far));
  if (!folds.empty()) {
    BW_TRY(const auto plan, kept_plan(*database_, id));
    const metrics::Shape shape = aggregate::shape_of(plan);
    for (const metrics::Fold& one : folds) {
      BW_RETURN_IF_ERROR(fold_intervals(*database_, id, shape, one));
    }
  }
  return transaction.commit();
}

Status Store::set_figures(const std::string& id, const Figures& figures) {
  Statement update(*database_, "UPDATE runs SET elapsed = ?, requests = ?, failed = ? WHERE id = ?");
  update.number(figures.elapsed.ns()).number(static_cast<int64_t>(figures.requests));
  return update.number(static_cast<int64_t>(figures.failed)).text(id).done();
}

Status Store::end(const std::string& id, const std::string& document, std::string_view verdict, int exit_code,
                  const Figures& figures) {
  Statement update(*database_,
                   "UPDATE runs SET document = ?, verdict = ?, exit_code = ?, elapsed = ?, requests = ?, failed = ?"
                   " WHERE id = ?");
  update.text(document).text(verdict).number(exit_code).number(figures.elapsed.ns());
  update.number(static_cast<int64_t>(figures.requests)).number(static_cast<int64_t>(figures.failed));
  return update.text(id).done();
}

Result<std::vector<Run>> Store::list_plain() {
  Statement select(*database_, kRuns);
  std::vector<Run> runs;
  for (;;) {
    BW_TRY(const auto more, select.row());
    if (!more) return runs;
    Run run;
    run.id = select.bytes(0);
    run.scenario = select.bytes(1);
    run.started_at = WallTime{select.integer(2)};
    run.figures = {Duration::nanos(select.integer(3)), static_cast<uint64_t>(select.integer(4)),
                   static_cast<uint64_t>(select.integer(5))};
    run.verdict = select.bytes(6);
    run.exit_code = static_cast<int>(select.integer(7));
    run.bytes = static_cast<uint64_t>(select.integer(13));
    if (select.integer(12) != 0) {
      run.state = State::kEnded;
    } else {
      const bool alive =
          is_alive(select.integer(8), static_cast<uint64_t>(select.integer(9)), select.bytes(10), select.bytes(11));
      run.state = alive ? State::kRunning : State::kAborted;
    }
    runs.push_back(std::move(run));
  }
}

Result<std::vector<Run>> Store::list() {
  auto runs = list_plain();
  if (!runs) return runs;
  BW_TRY(auto clusters, clusters_of_all());
  for (Run& run : *runs) {
    if (const auto at = clusters.find(run.id); at != clusters.end()) run.cluster = std::move(at->second);
  }
  return runs;
}

Result<Run> Store::find(std::string_view name) {
  BW_TRY(auto runs, list());
  std::vector<std::string_view> ids;
  for (const Run& run : runs) ids.emplace_back(run.id);
  BW_TRY(const auto at, pick(name, ids));
  return runs[at];
}

Result<plan::Plan> Store::plan_of(const Run& run) { return kept_plan(*database_, run.id); }

Status Store::each_interval(const Run& run, const plan::Plan& plan, Visit visit) {
  const metrics::Shape shape = aggregate::shape_of(plan);
  Statement select(*database_, "SELECT first, span, covered, window FROM intervals WHERE run = ? ORDER BY first");
  select.text(run.id);
  for (;;) {
    BW_TRY(const auto more, select.row());
    if (!more) return {};
    auto window = ingest::decode_sum(select.bytes(3), shape);
    if (!window) {
      return fail(Errc::kInvalid, "run {}: second {} is damaged: {}", run.id, select.integer(0),
                  window.error().message);
    }
    window->second = static_cast<uint64_t>(select.integer(0));
    window->covered = Duration::nanos(std::max<int64_t>(0, select.integer(2)));
    visit(*window, static_cast<uint64_t>(select.integer(1)));
  }
}

Result<std::string> Store::document(const Run& run) {
  if (run.state == State::kRunning)
    return fail(Errc::kNotFound, "run {} is still running; it has no result yet", run.id);
  Statement select(*database_, "SELECT document, cores FROM runs WHERE id = ?");
  BW_TRY(const auto found, select.text(run.id).row());
  if (!found) return fail(Errc::kNotFound, "run {} was deleted meanwhile", run.id);
  if (run.state == State::kEnded) return select.bytes(0);
  BW_TRY(const auto plan, plan_of(run));
  aggregate::Totals totals(plan);
  const auto add_up = [&totals](const metrics::Window& window, uint64_t) { totals.add(window, window.covered); };
  BW_RETURN_IF_ERROR(each_interval(run, plan, add_up));
  report::RunReport report =
      report::conclude(totals, {.run_id = run.id,
                                .started_at = run.started_at,
                                .elapsed = run.figures.elapsed,
                                .cores = static_cast<int>(std::max<int64_t>(1, select.integer(1))),
                                .ending = aggregate::Ending::kSignal});
  report.verdict.failed_thresholds.clear();
  report.verdict.reason =
      run.cluster ? fmt::format(
                        "the process that followed job {} ended unexpectedly; the job may be running or have ended: "
                        "`bellwether job watch` and `job results` fetch its result; thresholds were not judged",
                        run.id)
                  : "its process ended unexpectedly; thresholds were not judged";
  return report::to_json(report);
}

Status Store::close_whole() { return database_->run("PRAGMA journal_mode=DELETE"); }

Status Store::remove(const Run& run) {
  Statement remove(*database_, "DELETE FROM runs WHERE id = ?");
  BW_RETURN_IF_ERROR(remove.text(run.id).done());
  return database_->run("PRAGMA incremental_vacuum");
}

Result<std::size_t> Store::prune(const Limits& limits, const std::string& keep) {
  BW_TRY(auto runs, list());
  uint64_t number = 0;
  uint64_t bytes = 0;
  std::size_t removed = 0;
  for (const Run& run : runs) {
    ++number;
    bytes += run.bytes;
    const bool over = number > limits.runs || bytes > limits.bytes;
    if (!over || run.state == State::kRunning || run.id == keep) continue;
    BW_RETURN_IF_ERROR(remove(run));
    ++removed;
    --number;
    bytes -= run.bytes;
  }
  return removed;
}

Status Store::copy(const Run& run, Store& to) {
  Transaction transaction(*to.database_);
  BW_RETURN_IF_ERROR(transaction.begin());
  Statement exists(*to.database_, "SELECT 1 FROM runs WHERE id = ?");
  BW_TRY(const auto there, exists.text(run.id).row());
  if (there) return fail(Errc::kExists, "run {} is in '{}' already", run.id, to.database_->path());
  Statement select(*database_, "SELECT shape, cores FROM runs WHERE id = ?");
  BW_RETURN_IF_ERROR(select.text(run.id).row());
  BW_TRY(const auto document, this->document(run));
  const std::string verdict = run.state == State::kEnded ? run.verdict : "aborted";
  const int exit_code = run.state == State::kEnded ? run.exit_code : aggregate::kExitSignal;
  Statement insert(*to.database_,
                   "INSERT INTO runs(id, scenario, started_at, cores, pid, start_time, boot_id, pid_namespace, shape,"
                   " elapsed, requests, failed, verdict, exit_code, document)"
                   " VALUES(?, ?, ?, ?, 0, 0, '', '', ?, ?, ?, ?, ?, ?, ?)");
  insert.text(run.id).text(run.scenario).number(run.started_at.unix_ns).number(select.integer(1)).text(select.bytes(0));
  insert.number(run.figures.elapsed.ns()).number(static_cast<int64_t>(run.figures.requests));
  insert.number(static_cast<int64_t>(run.figures.failed)).text(verdict).number(exit_code);
  BW_RETURN_IF_ERROR(insert.text(document).done());
  Statement intervals(*database_, "SELECT first, span, covered, window FROM intervals WHERE run = ?");
  intervals.text(run.id);
  for (;;) {
    BW_TRY(const auto more, intervals.row());
    if (!more) break;
    const Interval one{static_cast<uint64_t>(intervals.integer(0)), static_cast<uint64_t>(intervals.integer(1)),
                       Duration::nanos(intervals.integer(2)), intervals.bytes(3)};
    BW_RETURN_IF_ERROR(put_interval(*to.database_, run.id, one));
  }
  if (run.cluster) {
    BW_RETURN_IF_ERROR(to.note_cluster(run.id, *run.cluster));
  }
  return transaction.commit();
}

Result<std::size_t> pick(std::string_view name, const std::vector<std::string_view>& ids) {
  const std::string said = fmt::format("'{}'", name);
  if (ids.empty()) return fail(Errc::kNotFound, "there is no run {}: none is stored", said);
  if (name.starts_with(kLast)) {
    std::size_t back = 0;
    const std::string_view rest = name.substr(kLast.size());
    const auto number = parse_u64(rest.empty() ? rest : rest.substr(1));
    if (!rest.empty() && (rest.front() != '~' || !number)) {
      return fail(Errc::kInvalid, "there is no run {}; write last, last~1, last~2, …", said);
    }
    if (number) back = *number;
    if (back < ids.size()) return back;
    return fail(Errc::kNotFound, "there is no run {}: {} are stored", said, ids.size());
  }
  const auto exact = std::find(ids.begin(), ids.end(), name);
  if (exact != ids.end()) return static_cast<std::size_t>(exact - ids.begin());
  std::vector<std::size_t> begin_so;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!name.empty() && ids[i].starts_with(name)) begin_so.push_back(i);
  }
  if (begin_so.size() == 1) return begin_so.front();
  if (begin_so.size() > 1) {
    return fail(Errc::kInvalid, "{} is the beginning of {} runs: {}, {}{}; write more of it", said, begin_so.size(),
                ids[begin_so[0]], ids[begin_so[1]], begin_so.size() > 2 ? ", …" : "");
  }
  std::vector<std::string_view> candidates = ids;
  candidates.push_back(kLast);
  const std::string_view near = nearest(name, candidates);
  return fail(Errc::kNotFound, "there is no run {}{}", said,
              near.empty() ? "; `bellwether results list` shows them" : fmt::format("; did you mean '{}'?", near));
}

Status Store::note_cluster(const std::string& id, const Cluster& cluster) {
  BW_RETURN_IF_ERROR(database_->run(kTable));
  Statement put(*database_, "INSERT OR REPLACE INTO clusters(run, name, workers) VALUES(?, ?, ?)");
  return put.text(id).text(cluster.name).text(whole_names(cluster.workers)).done();
}

Result<std::map<std::string, Cluster>> Store::clusters_of_all() {
  std::map<std::string, Cluster> out;
  Statement exists(*database_, "SELECT 1 FROM sqlite_schema WHERE name = 'clusters'");
  BW_TRY(const auto there, exists.row());
  if (!there) return out;
  Statement select(*database_, "SELECT run, name, workers FROM clusters");
  for (;;) {
    BW_TRY(const auto more, select.row());
    if (!more) return out;
    out[select.bytes(0)] = {select.bytes(1), select.bytes(2)};
  }
}

Result<std::optional<uint64_t>> Store::resume(const std::string& id, const plan::Plan& plan) {
  Transaction transaction(*database_);
  BW_RETURN_IF_ERROR(transaction.begin());
  Statement select(*database_,
                   "SELECT pid, start_time, boot_id, pid_namespace, shape,"
                   " (SELECT ifnull(max(first + span), 0) FROM intervals WHERE run = runs.id)"
                   " FROM runs WHERE id = ? AND (verdict IS NULL OR verdict = ?)");
  BW_TRY(const auto found, select.text(id).text(kUnconfirmed).row());
  if (!found) return std::nullopt;
  const auto kept = decode_shape(select.bytes(4));
  // Through the same text, which replaces what is no UTF-8.
  const auto wanted = decode_shape(encode_shape(plan));
  if (!kept || !wanted || !has_same_figures(*kept, *wanted)) return std::nullopt;
  if (is_alive(select.integer(0), static_cast<uint64_t>(select.integer(1)), select.bytes(2), select.bytes(3))) {
    return std::nullopt;
  }
  const auto end = static_cast<uint64_t>(select.integer(5));
  const runtime::ProcessIdentity self = runtime::identify_self();
  Statement update(*database_, "UPDATE runs SET pid = ?, start_time = ?, boot_id = ?, pid_namespace = ? WHERE id = ?");
  update.number(self.pid).number(static_cast<int64_t>(self.start_time)).text(self.boot_id).text(self.pid_namespace);
  BW_RETURN_IF_ERROR(update.text(id).done());
  BW_RETURN_IF_ERROR(transaction.commit());
  return end;
}

Status Store::amend(const std::string& id, uint64_t second, const metrics::Window& part, const Figures& so_far) {
  Transaction transaction(*database_);
  BW_RETURN_IF_ERROR(transaction.begin());
  BW_RETURN_IF_ERROR(set_figures(id, so_far));
  Interval interval{second, 1, part.covered > Duration::zero() ? part.covered : Duration::seconds(1), {}};
  metrics::Window sum(part.shape());
  {
    Statement select(*database_,
                     "SELECT first, span, covered, window FROM intervals WHERE run = ? AND first <= ? AND"
                     " first + span > ?");
    select.text(id).number(static_cast<int64_t>(second)).number(static_cast<int64_t>(second));
    BW_TRY(const auto found, select.row());
    if (found) {
      interval.first = static_cast<uint64_t>(select.integer(0));
      interval.span = static_cast<uint64_t>(select.integer(1));
      const Duration before = Duration::nanos(select.integer(2));
      interval.covered = interval.span == 1 ? std::max(interval.covered, before) : before;
      BW_TRY(sum, ingest::decode_sum(select.bytes(3), part.shape()));
    }
  }
  metrics::append(sum, part);
  sum.second = interval.first;
  sum.covered = Duration::zero();
  interval.window = ingest::encode_window(sum);
  Statement remove(*database_, "DELETE FROM intervals WHERE run = ? AND first = ?");
  BW_RETURN_IF_ERROR(remove.text(id).number(static_cast<int64_t>(interval.first)).done());
  BW_RETURN_IF_ERROR(put_interval(*database_, id, interval));
  return transaction.commit();
}

Result<bool> Store::settle(const std::string& id, const Interval& whole, const Figures& so_far) {
  Transaction transaction(*database_);
  BW_RETURN_IF_ERROR(transaction.begin());
  BW_RETURN_IF_ERROR(set_figures(id, so_far));
  BW_TRY(const auto plan, kept_plan(*database_, id));
  const metrics::Shape shape = aggregate::shape_of(plan);
  const auto stays = is_kept(*database_, id, shape, whole);
  if (!stays) return stays;
  Statement remove(*database_, "DELETE FROM intervals WHERE run = ? AND first >= ?");
  remove.text(id).number(*stays ? static_cast<int64_t>(whole.span) : 0);
  BW_RETURN_IF_ERROR(remove.done());
  if (!*stays && whole.span > 0) {
    BW_RETURN_IF_ERROR(put_interval(*database_, id, whole));
  }
  BW_RETURN_IF_ERROR(transaction.commit());
  return stays;
}

}  // namespace bellwether::results
