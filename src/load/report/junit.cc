#include "load/aggregate/verdict.h"
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

// The bottleneck of the generator, for a person; empty: none.
std::string generator_text(const ResultFile& run) {
  if (!run.saturated) return {};
  return fmt::format("The load generator was a bottleneck: {}.{}", run.saturation,
                     run.remedy.empty() ? "" : fmt::format(" What helps: {}.", run.remedy));
}

// `told`: the text beside the cases; empty: none.
std::string suite(const ResultFile& run, const std::string& name, const std::vector<Case>& cases, double time,
                  const std::string& told = {}) {
  std::size_t failures = 0;
  std::size_t errors = 0;
  std::string inside;
  for (const Case& one : cases) {
    failures += one.failure.empty() ? 0 : 1;
    errors += one.error.empty() ? 0 : 1;
    inside += fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"", escaped(one.of),
                          escaped(one.name), time);
    const std::string& text = one.failure.empty() ? one.error : one.failure;
    const std::string tag = one.failure.empty() ? "error" : "failure";
    if (text.empty()) {
      inside += "/>\n";
    } else {
      inside += fmt::format(">\n      <{} type=\"{}\" message=\"{}\"/>\n    </testcase>\n", tag, name, escaped(text));
    }
  }
  // The schema requires the time of day without a zone; it is UTC.
  return fmt::format(
      "  <testsuite name=\"{}: {}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\" time=\"{:.3f}\" "
      "timestamp=\"{}\">\n{}{}  </testsuite>\n",
      escaped(run.scenario), name, cases.size(), failures, errors, time, escaped(run.started_at.substr(0, 19)), inside,
      told.empty() ? "" : fmt::format("    <system-out>{}</system-out>\n", escaped(told)));
}

std::vector<Case> verdict_of(const ResultFile& run) {
  Case out{run.scenario, "verdict", {}, {}};
  const std::string text = fmt::format("{} (exit code {}): {}", run.verdict, run.exit_code,
                                       aggregate::verdict_text(run.reason, run.failed_thresholds));
  if (run.verdict == "fail") out.failure = text;
  if (run.verdict != "fail" && run.verdict != "pass") out.error = text;
  return {out};
}

std::vector<Case> thresholds_of(const ResultFile& run) {
  std::vector<Case> out;
  std::size_t failed = 0;
  for (const ResultThreshold& one : run.thresholds) {
    Case made{run.scenario + ".thresholds", fmt::format("{} {}", one.metric, one.expression), {}, {}};
    if (!one.value) {
      made.error = "there were no samples";
    } else if (!one.ok) {
      // An older file, or a run without a judgement, does not have the text.
      made.failure = failed < run.failed_thresholds.size() ? run.failed_thresholds[failed++]
                                                           : fmt::format("measured {}", *one.value);
    } else if (!run.confirmed) {
      made.error = "it held so far, but the result is unconfirmed";
    }
    out.push_back(std::move(made));
  }
  return out;
}

std::vector<Case> checks_of(const ResultFile& run) {
  std::vector<Case> out;
  for (const ResultCheck& one : run.checks) {
    const uint64_t all = one.passes + one.fails;
    Case made{fmt::format("{}.{}", run.scenario, one.step), one.name, {}, {}};
    if (all == 0) {
      made.error = "it was never made";
    } else if (one.fails > 0) {
      made.failure = fmt::format("{} of {} failed ({})", one.fails, all, percent(one.fails, all));
    }
    out.push_back(std::move(made));
  }
  return out;
}

}  // namespace

std::string to_junit(const ResultFile& run) {
  std::string out =
      fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\">\n", escaped(run.scenario));
  out += suite(run, "verdict", verdict_of(run), run.elapsed_s, generator_text(run));
  if (!run.thresholds.empty()) out += suite(run, "thresholds", thresholds_of(run), 0);
  if (!run.checks.empty()) out += suite(run, "checks", checks_of(run), 0);
  return out + "</testsuites>\n";
}

}  // namespace bellwether::report
