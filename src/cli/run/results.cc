// bellwether results: the stored runs of this machine.

#include "cli/run/results.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <sys/stat.h>

#include "cli/sources.h"
#include "cli/verb.h"
#include "cli/view.h"
#include "core/base/encoding.h"
#include "core/base/units.h"
#include "election/store/environment.h"
#include "load/aggregate/verdict.h"
#include "load/report/result_file.h"
#include "load/report/text.h"
#include "load/report/write_file.h"

namespace bellwether::cli {
namespace {

std::string environment(const char* name) { return store::variable(&store::own_environment, name); }

bool is_file(const std::string& name) {
  struct stat found {};
  return ::stat(name.c_str(), &found) == 0 && !S_ISDIR(found.st_mode);
}

// No id of a run has a dot or a slash.
bool looks_like_file(const std::string& name) { return name.find_first_of("./") != std::string::npos; }

// The output of `bellwether results` about stored runs.

using report::decimal;
using report::percent;

Value cluster_of(const results::Run& run) {
  if (!run.cluster) return {};
  std::istringstream names(run.cluster->workers);
  const std::vector<std::string> workers{std::istream_iterator<std::string>(names), {}};
  return object_of({told("name", run.cluster->name), told("workers", workers)});
}

Fields run_fields(const results::Run& run) {
  const bool ended = run.state == results::State::kEnded;
  const double elapsed_s = run.figures.elapsed.seconds_f();
  const std::string started = format_wall(run.started_at);
  return {{"RUN", "id", run.id},
          {"STARTED", "started_at", started, started.substr(0, 19) + "Z"},
          {"SECONDS", "elapsed_s", elapsed_s, decimal(elapsed_s)},
          {"REQUESTS", "requests", run.figures.requests},
          {"FAILED", "failed", run.figures.failed, percent(run.figures.failed, run.figures.requests)},
          {"VERDICT", "verdict", ended ? Value(run.verdict) : Value(),
           ended ? run.verdict : std::string(to_string(run.state))},
          {"SCENARIO", "scenario", run.scenario,
           run.scenario + (run.cluster ? fmt::format(" (cluster {})", run.cluster->name) : "")},
          told("state", results::to_string(run.state)),
          told("exit_code", ended ? Value(run.exit_code) : Value()),
          told("bytes", run.bytes),
          told("cluster", cluster_of(run))};
}

using TextRows = std::vector<std::vector<std::string>>;

// Thresholds and checks: a mark, a name and a text.
TextRows judged_rows(const report::ResultFile& run, bool checks) {
  TextRows rows;
  const auto add = [&](bool ok, const std::string& name, const std::string& text) {
    rows.push_back({fmt::format("{} {}", ok ? "✓" : "✗", printable(name)), printable(text)});
  };
  if (!checks) {
    for (const report::ResultThreshold& one : run.thresholds) {
      add(one.ok, fmt::format("{}  {}", one.metric, one.expression), report::threshold_value(one));
    }
    return rows;
  }
  for (const report::ResultCheck& one : run.checks) {
    add(one.fails == 0, fmt::format("{}: {}", one.step, one.name), report::check_text(one.passes, one.fails));
  }
  return rows;
}

TextRows latency_rows(const report::ResultFile& run) {
  TextRows rows{report::kLatencyHead};
  for (const report::ResultStep& step : run.steps) {
    if (step.count == 0) continue;
    rows.push_back({fmt::format("{}  {}, {}/s, {} failed", printable(step.name), format_count(step.count, "request"),
                                decimal(step.rate_per_s), percent(step.failed, step.count))});
    if (!step.response.empty()) rows.push_back(report::latency_row("  response", step.response));
    if (!step.due_times || step.service.empty()) continue;
    metrics::ResponseTimes service;
    service.answered.merge(step.service);
    rows.push_back(report::latency_row(report::kServiceRow, service));
  }
  return rows;
}

std::string milliseconds_text(double ms) { return format_duration(Duration::nanos(std::llround(ms * 1e6))); }

TextRows iteration_rows(const report::ResultFile& run) {
  TextRows rows{{"", "completed", "interrupted", "mean", "p95", "max", "VUs used", "VUs made"}};
  for (const report::ResultWorkflow& one : run.workflows) {
    const report::ResultSpread times = one.iteration.value_or(report::ResultSpread{});
    rows.push_back({printable(one.name), format_count(one.completed), format_count(one.interrupted),
                    milliseconds_text(times.mean), milliseconds_text(times.p95), milliseconds_text(times.max),
                    std::to_string(one.vus_peak), std::to_string(one.vus_allocated)});
    if (one.status == "completed" || one.status == "stopped") continue;
    const std::string because = one.skipped_because.empty() ? "" : ": " + one.skipped_because;
    rows.push_back({"  " + printable(one.status + because)});
  }
  return rows;
}

TextRows schedule_rows(const report::ResultFile& run) {
  TextRows rows{{"", "scheduled", "on time", "late", "dropped", "lag p50", "lag p99", "lag max"}};
  for (const report::ResultWorkflow& one : run.workflows) {
    if (one.scheduled == 0) continue;
    const report::ResultSpread lag = one.start_lag.value_or(report::ResultSpread{});
    rows.push_back({printable(one.name), format_count(one.scheduled), format_count(one.on_time), format_count(one.late),
                    format_count(one.dropped), milliseconds_text(lag.p50), milliseconds_text(lag.p99),
                    milliseconds_text(lag.max)});
    if (one.dropped > 0) rows.push_back({"! dropped, because no virtual user was free: raise vus.max"});
  }
  return rows;
}

TextRows tag_rows(const report::ResultFile& run) {
  if (run.by_tag.empty()) return {};
  TextRows rows{report::kTagHead};
  for (const report::ResultStep& one : run.by_tag) {
    if (rows.size() > report::kTagsShown) break;
    rows.push_back(report::tag_row(printable(one.name), one.count, one.failed, one.rate_per_s, one.response));
  }
  const std::size_t left = run.by_tag.size() + run.tags_left_out - (rows.size() - 1);
  if (left > 0) rows.push_back({fmt::format("… and {} more (--json)", left)});
  return rows;
}

TextRows generator_rows(const report::ResultFile& run) {
  TextRows rows{
      {fmt::format("CPU {} of {}, event loop lag p99 {}{}", decimal(run.cpu_cores), format_count(run.cores, "core"),
                   milliseconds_text(run.loop_lag_p99_ms), run.saturated ? "" : ": no bottleneck found")}};
  if (run.saturated) {
    rows.push_back(
        {fmt::format("! The generator was a bottleneck: {}. Latencies may include its own delay. What "
                     "helps: {}.",
                     printable(run.saturation), printable(run.remedy))});
  }
  return rows;
}

// A line for each of the list; of a long list the first ones.
template <class List, class Say>
TextRows list_rows(const List& list, const Say& say) {
  constexpr std::size_t kMaxRows = 20;
  TextRows rows;
  for (std::size_t i = 0; i < std::min(list.size(), kMaxRows); ++i) rows.push_back({printable(say(list[i]))});
  if (list.size() > kMaxRows) rows.push_back({fmt::format("… and {} more (--json)", list.size() - kMaxRows)});
  return rows;
}

TextRows loss_rows(const report::ResultFile& run) {
  std::vector<plan::Loss> losses;
  for (const report::ResultLoss& one : run.lost) {
    losses.push_back({Duration::from_seconds_f(one.from), Duration::from_seconds_f(one.to), one.ratio, one.cause});
  }
  return list_rows(report::loss_texts(losses), [](const std::string& text) { return "! " + text; });
}

// The summary at the end of the run, without the sections that only its live figures have (DISTRIBUTION, PHASES).
std::string text_of(const report::ResultFile& run) {
  std::string out = fmt::format("\n  {}  {}  {}  {}  run {}\n", printable(run.scenario), printable(run.started_at),
                                format_duration(Duration::from_seconds_f(run.elapsed_s)),
                                format_count(run.cores, "core"), printable(run.id));
  const auto section = [&](std::string_view title, const TextRows& rows) {
    if (rows.empty()) return;
    out += fmt::format("\n{}\n", title);
    std::size_t width = 0;
    for (const auto& row : rows) width = std::max(width, report::width_of(row.front()));
    if (rows.front().size() == 2) {  // a name and a text
      for (const auto& row : rows) out += fmt::format("  {}  {}\n", report::pad_right(row[0], width), row[1]);
    } else {
      for (const std::string& line : report::columns(rows)) out += fmt::format("  {}\n", line);
    }
  };
  section("THRESHOLDS", judged_rows(run, false));
  section("CHECKS", judged_rows(run, true));
  TextRows metrics;
  for (const report::ResultMetric& one : run.metrics)
    metrics.push_back({printable(one.name), printable(figures_text(one))});
  section("METRICS", metrics);
  const double seconds = run.rate_per_s > 0 ? static_cast<double>(run.requests) / run.rate_per_s : 0;
  const auto per_second = [&](uint64_t bytes) {
    return format_bytes(seconds > 0 ? static_cast<double>(bytes) / seconds : 0) + "/s";
  };
  section("REQUESTS",
          {{"total", format_count(run.requests), decimal(run.rate_per_s) + "/s"},
           {"failed", format_count(run.failed), percent(run.failed, run.requests)},
           {"sent", format_bytes(static_cast<double>(run.bytes_sent)), per_second(run.bytes_sent)},
           {"received", format_bytes(static_cast<double>(run.bytes_received)), per_second(run.bytes_received)}});
  section("ITERATIONS", iteration_rows(run));
  if (const TextRows rows = schedule_rows(run); rows.size() > 1) {
    section("SCHEDULE  late: started more than 10ms after it was due; lag: due → started", rows);
  }
  if (const TextRows rows = latency_rows(run); rows.size() > 1) {
    section("LATENCY  " + report::latency_note(rows), rows);
  }
  section(fmt::format("TAGS  {}", report::kTagNote), tag_rows(run));
  std::map<std::string, uint64_t> statuses;
  for (const report::ResultStep& step : run.steps) {
    for (const auto& [status, count] : step.status) statuses[status] += count;
  }
  TextRows status;
  for (const auto& [name, count] : statuses) status.push_back({printable(name), format_count(count)});
  section("STATUS", status);
  section("ERRORS", list_rows(run.errors, [](const report::ResultError& one) {
            return fmt::format("{}  {}  {}", format_count(one.count), one.kind, one.detail);
          }));
  section("GENERATOR", generator_rows(run));
  section("WORKERS", list_rows(run.workers, [](const report::ResultWorker& one) {
            return fmt::format("{}  {}  {}  {}", one.name, format_count(one.cores, "core"),
                               format_count(one.assignments, "assignment"), one.state);
          }));
  TextRows notes = list_rows(run.events, [](const report::ResultEvent& one) {
    return fmt::format("- at {}: {}", format_duration(Duration::from_seconds_f(one.t)), one.detail);
  });
  std::set<std::string> closed;
  for (const report::ResultStep& step : run.steps) {
    if (!step.due_times && step.count > 0) closed.insert(fmt::format("'{}'", step.name.substr(0, step.name.find('.'))));
  }
  if (!closed.empty()) {
    const std::vector<std::string> names(closed.begin(), closed.end());
    notes.insert(notes.begin(), {"- " + report::closed_model_note(printable(joined(names)))});
  }
  section("NOTES", notes);
  section("LOST  missing in all figures above", loss_rows(run));
  if (!run.confirmed) section("UNCONFIRMED", {{"the run may have made more load"}});
  std::string verdict = printable(run.verdict);
  for (char& c : verdict) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out + fmt::format("\n  {}  {} (exit code {})\n", verdict,
                           printable(aggregate::verdict_text(run.reason, run.failed_thresholds)), run.exit_code);
}

using results::Run;
using results::Store;

constexpr std::string_view kRunHelp = "The id of a run or the beginning of it, last, last~1 …, or an exported file";

struct ResultsArguments {
  std::vector<std::string> runs;
  std::string run;
  std::string file;
  std::string store;
  std::size_t most = 20;
  bool json = false;
  bool all = false;
};

int put(const std::string& text) {
  print(text);
  return std::fflush(stdout) == 0 ? kExitOk : kExitUsage;
}

Result<Store> open_store(const ResultsArguments& given, Store::Use use) {
  BW_TRY(const auto path, store_path(given.store));
  return Store::open(path, use);
}

Result<int> list_runs(const ResultsArguments& given) {
  auto store = open_store(given, Store::Use::kRead);
  std::vector<Run> runs;
  if (store) {
    BW_TRY(auto found, store->list());
    runs = std::move(found);
  } else if (store.error().code != Errc::kNotFound) {
    return fail(Errc::kInvalid, store.error().message);
  }
  const std::size_t all = runs.size();
  runs.resize(given.all ? all : std::min(all, given.most));
  const Rows view(runs, &run_fields);
  if (given.json) return put(view.list().document());
  if (runs.empty()) return put("No run is stored yet. `bellwether run` stores each.\n");
  std::string text = view.table();
  if (runs.size() < all) text += fmt::format("… and {} older ones (--all)\n", all - runs.size());
  return put(text);
}

Result<int> show(const ResultsArguments& given) {
  BW_TRY(const auto document, document_of(given.run, given.store));
  if (given.json) return put(document);
  const auto run = report::read_result(document);
  if (!run) return fail(Errc::kInvalid, "'{}': {}", given.run, run.error().message);
  return put(text_of(*run));
}

Result<int> remove(const ResultsArguments& given) {
  BW_TRY(auto store, open_store(given, Store::Use::kWrite));
  std::vector<Run> runs;
  for (const std::string& name : given.runs) {
    BW_TRY(auto run, store.find(name));
    if (run.state == results::State::kRunning)
      return fail(Errc::kInvalid, "run {} is in progress: stop it, or wait for its end", run.id);
    runs.push_back(std::move(run));
  }
  std::vector<std::string> gone;
  for (const Run& run : runs) {
    BW_RETURN_IF_ERROR(store.remove(run));
    gone.push_back(run.id);
    if (!given.json) std::printf("deleted %s  %s\n", run.id.c_str(), printable(run.scenario).c_str());
  }
  return given.json ? put(object_of({told("deleted", gone)}).document()) : kExitOk;
}

Result<int> export_run(const ResultsArguments& given) {
  BW_TRY(auto found, open_run(given.run, given.store));
  if (found.run.state == results::State::kRunning)
    return fail(Errc::kInvalid, "run {} is in progress: stop it, or wait for its end", found.run.id);
  if (given.file.ends_with(".json")) {
    const auto document = found.store.document(found.run);
    const Status written = document ? report::write_file(given.file, *document) : tl::unexpected(document.error());
    if (!written) return fail(Errc::kInvalid, written.error().message);
  } else {
    BW_TRY(auto to, Store::open(given.file, Store::Use::kWrite));
    BW_RETURN_IF_ERROR(found.store.copy(found.run, to));
    BW_RETURN_IF_ERROR(to.close_whole());
  }
  if (given.json) return put(object_of({told("run", found.run.id), told("file", given.file)}).document());
  std::printf("exported %s to %s\n", found.run.id.c_str(), given.file.c_str());
  return kExitOk;
}

CLI::App* verb(CLI::App& parent, const char* name, const std::shared_ptr<ResultsArguments>& given) {
  CLI::App* made = new_verb(parent, name);
  add_store_option(made, given->store);
  made->add_flag("--json", given->json, "Print JSON");
  return made;
}

}  // namespace

void add_store_option(CLI::App* command, std::string& store) {
  add_text(command, "--store", store, "FILE",
           "File of stored runs (default: BELLWETHER_STORE, else bellwether/results.db in $XDG_DATA_HOME or "
           "~/.local/share)");
}

Result<std::string> store_path(const std::string& given) {
  if (!given.empty()) return given;
  if (std::string file = environment("BELLWETHER_STORE"); !file.empty()) return file;
  // By the XDG Base Directory Specification a path that is not absolute does not count.
  if (const std::string data = environment("XDG_DATA_HOME"); data.starts_with('/')) {
    return data + "/bellwether/results.db";
  }
  if (const std::string home = environment("HOME"); home.starts_with('/')) {
    return home + "/.local/share/bellwether/results.db";
  }
  return fail(Errc::kNotFound, "neither XDG_DATA_HOME nor HOME says where runs are stored; name a file with --store");
}

bool is_store_off() {
  const std::string off = environment("BELLWETHER_NO_STORE");
  return !off.empty() && off != "0";
}

Result<StoredRun> open_run(const std::string& name, const std::string& store) {
  const bool exported = looks_like_file(name);
  if (exported && !is_file(name)) return fail(Errc::kNotFound, "there is no file '{}'", name);
  BW_TRY(const auto path, exported ? Result<std::string>(name) : store_path(store));
  auto opened = results::Store::open(path, results::Store::Use::kRead);
  if (!opened && opened.error().code == Errc::kNotFound && !exported) {
    return fail(Errc::kNotFound, "there is no run '{}': none is stored ({})", name, opened.error().message);
  }
  if (!opened && opened.error().code == Errc::kInvalid && exported) {
    return fail(Errc::kInvalid,
                "'{}' holds no seconds of a run; `bellwether results export RUN FILE.db` writes a file that does",
                name);
  }
  BW_TRY(auto stored, std::move(opened));
  BW_TRY(auto run, stored.find(exported ? "last" : name));
  return StoredRun{std::move(stored), std::move(run)};
}

Result<std::string> document_of(const std::string& name, const std::string& store) {
  if (looks_like_file(name) && is_file(name)) {
    auto text = read_whole_file(name, report::kMaxResultBytes);
    // A store begins like every file of SQLite; any other file should be a result file.
    if (!text || !text->starts_with("SQLite format 3")) return text;
  }
  BW_TRY(auto found, open_run(name, store));
  return found.store.document(found.run);
}

void add_results(CLI::App& app, int& exit_code) {
  auto given = std::make_shared<ResultsArguments>();
  CLI::App* command = new_verb(app, "results");
  command->require_subcommand(1);
  command->footer("Each `bellwether run` on this machine is stored, except with --no-store or BELLWETHER_NO_STORE=1.");

  CLI::App* of_list = verb(*command, "list", given);
  of_list->add_option("--most", given->most, "Largest number of runs")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  of_list->add_flag("--all", given->all, "List all runs");
  of_list->footer("Exit codes: 0, or 104 when the store cannot be read.");
  of_list->callback([given, &exit_code] { exit_code = answer("results list", list_runs(*given)); });

  CLI::App* of_show = verb(*command, "show", given);
  of_show->add_option("RUN", given->run, std::string(kRunHelp))->required();
  of_show->footer("Exit codes: 0, or 104 when there is no such run.");
  of_show->callback([given, &exit_code] { exit_code = answer("results show", show(*given)); });

  CLI::App* of_delete = verb(*command, "delete", given);
  of_delete->add_option("RUN", given->runs, "Ids or beginnings of ids, last, last~1 …")->required();
  of_delete->footer("Deletes all of them, or none if one does not exist.");
  of_delete->callback([given, &exit_code] { exit_code = answer("results delete", remove(*given)); });

  CLI::App* of_export = verb(*command, "export", given);
  of_export->add_option("RUN", given->run, std::string(kRunHelp))->required();
  of_export
      ->add_option("FILE", given->file,
                   "NAME.json: the result file; any other name: a file with all seconds, for comparisons")
      ->required();
  of_export->callback([given, &exit_code] { exit_code = answer("results export", export_run(*given)); });

  add_results_compare(*command, exit_code);
}

}  // namespace bellwether::cli
