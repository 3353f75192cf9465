// bellwether results: the runs of this machine that are stored.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "cli/commands.h"
#include "cli/stored_runs.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "core/base/printable.h"
#include "core/base/wall_text.h"
#include "load/report/result_file.h"
#include "load/report/text.h"
#include "load/report/threshold_text.h"
#include "load/report/write_file.h"
#include "load/results/store.h"

namespace bellwether::cli {
namespace {

// What `bellwether results` prints of stored runs.

using report::decimal;
using report::percent;
using Json = nlohmann::ordered_json;

std::string millis(const metrics::Histogram& times, double at) {
  return times.empty() ? "-" : decimal(times.percentile(at).millis_f());
}

std::string json_of(const results::Run& run) {
  const bool ended = run.state == results::State::kEnded;
  Json cluster(nullptr);
  if (run.cluster) {
    cluster = {{"name", run.cluster->name}, {"workers", Json::array()}};
    std::istringstream names(run.cluster->workers);
    for (std::string one; names >> one;) cluster["workers"].push_back(one);
  }
  return Json{{"id", run.id},
              {"scenario", run.scenario},
              {"started_at", format_wall(run.started_at)},
              {"state", results::to_string(run.state)},
              {"verdict", ended ? Json(run.verdict) : Json(nullptr)},
              {"exit_code", ended ? Json(run.exit_code) : Json(nullptr)},
              {"elapsed_s", run.figures.elapsed.seconds_f()},
              {"requests", run.figures.requests},
              {"failed", run.figures.failed},
              {"bytes", run.bytes},
              {"cluster", std::move(cluster)}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The verdict, sums, and a table of the steps.
std::string text_of(const report::ResultFile& run) {
  std::string out = "run " + printable(run.id) + "  " + printable(run.scenario) + "\n";
  out += "  started " + printable(run.started_at) + ", " + decimal(run.elapsed_s) + " s\n";
  out += "  " + printable(run.verdict) + " (exit code " + std::to_string(run.exit_code) + ")" +
         (run.reason.empty() ? "" : ": " + printable(run.reason)) + "\n";
  out += "  " + std::to_string(run.requests) + " requests, " + decimal(run.rate_per_s) + "/s, " +
         percent(run.failed, run.requests) + " failed\n";
  for (const report::ResultThreshold& one : run.thresholds) {
    out += std::string("  ") + (one.ok ? "✓ " : "✗ ") + printable(one.metric + " " + one.expression) +
           (one.value ? "  (" + decimal(*one.value) + ")" : "  (no samples)") + "\n";
  }
  Table table({"STEP", "REQUESTS", "PER S", "FAILED", "P50 MS", "P90", "P95", "P99", "LONGEST"});
  for (const report::ResultStep& step : run.steps) {
    const metrics::Histogram& times = step.response;
    table.add({step.name, std::to_string(step.count), decimal(step.rate_per_s), percent(step.failed, step.count),
               millis(times, 50), millis(times, 90), millis(times, 95), millis(times, 99), millis(times, 100)});
  }
  out += "\n" + table.text();
  if (run.metrics.empty()) return out;
  Table metrics({"METRIC", "KIND", "FIGURES"});
  for (const report::ResultMetric& one : run.metrics) {
    metrics.add({title_text(one), one.kind, figures_text(one)});
  }
  return out + "\n" + metrics.text();
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

int wrong(const std::string& verb, const std::string& message) {
  std::fprintf(stderr, "bellwether results %s: %s\n", verb.c_str(), message.c_str());
  return kExitUsage;
}

int put(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0 ? kExitOk : kExitUsage;
}

Result<Store> open_store(const ResultsArguments& given, Store::Use use) {
  BW_TRY(const auto path, store_path(given.store));
  return Store::open(path, use);
}

int list_runs(const ResultsArguments& given) {
  auto store = open_store(given, Store::Use::kRead);
  std::vector<Run> runs;
  if (store) {
    auto found = store->list();
    if (!found) return wrong("list", found.error().message);
    runs = std::move(*found);
  } else if (store.error().code != Errc::kNotFound) {
    return wrong("list", store.error().message);
  }
  const std::size_t shown = given.all ? runs.size() : std::min(runs.size(), given.most);
  if (given.json) {
    Json out = Json::array();
    for (std::size_t i = 0; i < shown; ++i) out.push_back(Json::parse(json_of(runs[i])));
    return put(out.dump(1) + "\n");
  }
  if (runs.empty()) return put("No run is stored yet. `bellwether run` stores each.\n");
  Table table({"RUN", "STARTED", "SECONDS", "REQUESTS", "FAILED", "VERDICT", "SCENARIO"});
  for (std::size_t i = 0; i < shown; ++i) {
    const Run& run = runs[i];
    const std::string said = run.state == results::State::kEnded ? run.verdict : std::string(to_string(run.state));
    const std::string where = run.cluster ? " (cluster " + run.cluster->name + ")" : "";
    table.add({run.id, format_wall(run.started_at).substr(0, 19) + "Z",
               report::decimal(run.figures.elapsed.seconds_f()), std::to_string(run.figures.requests),
               report::percent(run.figures.failed, run.figures.requests), said, run.scenario + where});
  }
  std::string text = table.text();
  if (shown < runs.size()) text += "… and " + std::to_string(runs.size() - shown) + " older ones (--all)\n";
  return put(text);
}

int show(const ResultsArguments& given) {
  const auto document = document_of(given.run, given.store);
  if (!document) return wrong("show", document.error().message);
  if (given.json) return put(*document);
  const auto run = report::read_result(*document);
  if (!run) return wrong("show", "'" + given.run + "': " + run.error().message);
  return put(text_of(*run));
}

int remove(const ResultsArguments& given) {
  auto store = open_store(given, Store::Use::kWrite);
  if (!store) return wrong("delete", store.error().message);
  std::vector<Run> runs;
  for (const std::string& name : given.runs) {
    auto run = store->find(name);
    if (!run) return wrong("delete", run.error().message);
    if (run->state == results::State::kRunning) return wrong("delete", "run " + run->id + " goes on");
    runs.push_back(std::move(*run));
  }
  Json gone = Json::array();
  for (const Run& run : runs) {
    if (auto removed = store->remove(run); !removed) return wrong("delete", removed.error().message);
    gone.push_back(run.id);
    if (!given.json) std::printf("deleted %s  %s\n", run.id.c_str(), printable(run.scenario).c_str());
  }
  return given.json ? put(Json{{"deleted", gone}}.dump(1) + "\n") : kExitOk;
}

int export_run(const ResultsArguments& given) {
  auto found = open_run(given.run, given.store);
  if (!found) return wrong("export", found.error().message);
  if (found->run.state == results::State::kRunning) return wrong("export", "run " + found->run.id + " goes on");
  if (given.file.ends_with(".json")) {
    const auto document = found->store.document(found->run);
    const Status written = document ? report::write_file(given.file, *document) : tl::unexpected(document.error());
    if (!written) return wrong("export", written.error().message);
  } else {
    auto to = Store::open(given.file, Store::Use::kWrite);
    if (!to) return wrong("export", to.error().message);
    if (auto copied = found->store.copy(found->run, *to); !copied) return wrong("export", copied.error().message);
    if (auto single = to->close_whole(); !single) return wrong("export", single.error().message);
  }
  if (given.json) return put(Json{{"run", found->run.id}, {"file", given.file}}.dump(1) + "\n");
  std::printf("exported %s to %s\n", found->run.id.c_str(), given.file.c_str());
  return kExitOk;
}

CLI::App* verb(CLI::App& parent, const char* name, const char* help, const std::shared_ptr<ResultsArguments>& given) {
  CLI::App* made = new_verb(parent, name, help);
  add_store_option(made, given->store);
  made->add_flag("--json", given->json, "As JSON");
  return made;
}

}  // namespace

void add_results(CLI::App& app, int& exit_code) {
  auto given = std::make_shared<ResultsArguments>();
  CLI::App* command = new_verb(app, "results", "Runs that are stored: list_runs, show, compare, delete, export");
  command->require_subcommand(1);
  command->footer(
      "Every `bellwether run` of this machine is stored, with --managers too,\n"
      "unless --no-store or BELLWETHER_NO_STORE=1 says otherwise.\n"
      "Examples:\n"
      "  bellwether results list\n"
      "  bellwether results show last\n"
      "  bellwether results compare last~1 last --tolerance 5%\n"
      "  bellwether results export last baseline.db");

  CLI::App* of_list = verb(*command, "list", "Stored runs, the newest first", given);
  of_list->add_option("--most", given->most, "How many at most")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  of_list->add_flag("--all", given->all, "All of them");
  of_list->footer("Exit codes: 0, or 104 when the store cannot be read.\nExample:\n  bellwether results list --json");
  of_list->callback([given, &exit_code] { exit_code = list_runs(*given); });

  CLI::App* of_show = verb(*command, "show", "What a run came to; --json: its result file", given);
  of_show->add_option("RUN", given->run, std::string(kRunHelp))->required();
  of_show->footer(
      "Exit codes: 0, or 104 when there is no such run.\nExample:\n  bellwether results show last~1 --json");
  of_show->callback([given, &exit_code] { exit_code = show(*given); });

  CLI::App* of_delete = verb(*command, "delete", "Delete runs", given);
  of_delete->add_option("RUN", given->runs, "Ids or beginnings of ids, last, last~1 …")->required();
  of_delete->footer("All or none, if one of them is not there.\nExample:\n  bellwether results delete 5f0c last~9");
  of_delete->callback([given, &exit_code] { exit_code = remove(*given); });

  CLI::App* of_export = verb(*command, "export", "Write a run into a file of its own", given);
  of_export->add_option("RUN", given->run, std::string(kRunHelp))->required();
  of_export->add_option("FILE", given->file, "NAME.json: its result file; any other: with all seconds, to compare with")
      ->required();
  of_export->footer(
      "Examples:\n  bellwether results export last baseline.db\n  bellwether results compare baseline.db last");
  of_export->callback([given, &exit_code] { exit_code = export_run(*given); });

  add_results_compare(*command, exit_code);
}

}  // namespace bellwether::cli
