#include "cli/results_words.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/printable.h"
#include "base/wall_text.h"
#include "cli/table.h"
#include "report/text.h"
#include "report/threshold_text.h"

namespace bellwether::cli {
namespace {

using report::decimal;
using report::percent;
using Json = nlohmann::ordered_json;

std::string millis(const metrics::Histogram& times, double at) {
  return times.empty() ? "-" : decimal(times.percentile(at).millis_f());
}

}  // namespace

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

}  // namespace bellwether::cli
