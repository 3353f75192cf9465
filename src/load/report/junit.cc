#include <cstdio>

#include "load/report/reports.h"
#include "load/report/text.h"

namespace bellwether::report {
namespace {

struct Case {
  std::string of;
  std::string name;
  std::string failure;  // empty: none
  std::string error;
};

std::string junit_number(double value) {
  char out[48];
  std::snprintf(out, sizeof out, "%.6g", value);
  return out;
}

std::string seconds(double value) {
  char out[48];
  std::snprintf(out, sizeof out, "%.3f", value);
  return out;
}

// What the figures suffered from on the side of the generator, for a person; empty: nothing.
std::string generator_text(const ResultFile& run) {
  if (!run.saturated) return {};
  return "The load generator was a bottleneck: " + run.saturation + "." +
         (run.remedy.empty() ? "" : " What helps: " + run.remedy + ".");
}

// `told`: what is to be read beside the cases; empty: nothing.
std::string suite(const ResultFile& run, const std::string& name, const std::vector<Case>& cases, double time,
                  const std::string& told = {}) {
  std::size_t failures = 0;
  std::size_t errors = 0;
  std::string inside;
  for (const Case& one : cases) {
    failures += one.failure.empty() ? 0 : 1;
    errors += one.error.empty() ? 0 : 1;
    inside += "    <testcase classname=\"" + escaped(one.of) + "\" name=\"" + escaped(one.name) + "\" time=\"" +
              seconds(time) + "\"";
    const std::string& text = one.failure.empty() ? one.error : one.failure;
    const std::string tag = one.failure.empty() ? "error" : "failure";
    if (text.empty()) {
      inside += "/>\n";
    } else {
      inside += ">\n      <" + tag + " type=\"" + name + "\" message=\"" + escaped(text) + "\"/>\n    </testcase>\n";
    }
  }
  // The schema wants the time of day without a zone; it is UTC.
  return "  <testsuite name=\"" + escaped(run.scenario) + ": " + name + "\" tests=\"" + std::to_string(cases.size()) +
         "\" failures=\"" + std::to_string(failures) + "\" errors=\"" + std::to_string(errors) +
         "\" skipped=\"0\" time=\"" + seconds(time) + "\" timestamp=\"" + escaped(run.started_at.substr(0, 19)) +
         "\">\n" + inside + (told.empty() ? "" : "    <system-out>" + escaped(told) + "</system-out>\n") +
         "  </testsuite>\n";
}

std::vector<Case> verdict_of(const ResultFile& run) {
  Case out{run.scenario, "verdict", {}, {}};
  const std::string text = run.verdict + " (exit code " + std::to_string(run.exit_code) + "): " + run.reason;
  if (run.verdict == "fail") out.failure = text;
  if (run.verdict != "fail" && run.verdict != "pass") out.error = text;
  return {out};
}

std::vector<Case> thresholds_of(const ResultFile& run) {
  std::vector<Case> out;
  for (const ResultThreshold& one : run.thresholds) {
    Case made{run.scenario + ".thresholds", one.metric + " " + one.expression, {}, {}};
    if (!one.value) {
      made.error = "there were no samples";
    } else if (!one.ok) {
      made.failure = "it was " + junit_number(*one.value);
    }
    out.push_back(std::move(made));
  }
  return out;
}

std::vector<Case> checks_of(const ResultFile& run) {
  std::vector<Case> out;
  for (const ResultCheck& one : run.checks) {
    const uint64_t all = one.passes + one.fails;
    Case made{run.scenario + "." + one.step, one.name, {}, {}};
    if (all == 0) {
      made.error = "it was never made";
    } else if (one.fails > 0) {
      made.failure =
          std::to_string(one.fails) + " of " + std::to_string(all) + " failed (" + percent(one.fails, all) + ")";
    }
    out.push_back(std::move(made));
  }
  return out;
}

}  // namespace

std::string to_junit(const ResultFile& run) {
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"" + escaped(run.scenario) + "\">\n";
  out += suite(run, "verdict", verdict_of(run), run.elapsed_s, generator_text(run));
  if (!run.thresholds.empty()) out += suite(run, "thresholds", thresholds_of(run), 0);
  if (!run.checks.empty()) out += suite(run, "checks", checks_of(run), 0);
  return out + "</testsuites>\n";
}

}  // namespace bellwether::report
