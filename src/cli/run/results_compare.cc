// bellwether results compare: whether a run is worse than others before it.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "cli/run/results.h"
#include "cli/verb.h"
#include "cli/view.h"
#include "core/base/units.h"
#include "load/aggregate/verdict.h"
#include "load/report/text.h"
#include "load/results/compare/compare.h"

namespace bellwether::cli {
namespace {

using results::Batcher;
using results::Batches;
using results::Comparison;
using results::Difference;
using results::Figure;
using results::Judgement;

constexpr std::size_t kTextColumns = 120;

struct ResultsCompareArguments {
  std::vector<std::string> runs;
  std::string tolerance = "5%";
  std::string errors = "0.1%";
  std::string store;
  bool json = false;
};

// "5%" or "0.05".
Result<double> ratio_of(const std::string& option, const std::string& text) {
  const bool percent = text.ends_with('%');
  const std::string number = percent ? text.substr(0, text.size() - 1) : text;
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end) / (percent ? 100 : 1);
  const bool whole = !number.empty() && end == number.c_str() + number.size();
  if (!whole || !std::isfinite(value) || value < 0 || value > 10) {
    return fail(Errc::kInvalid, "{} '{}': write a ratio, for example 5%", option, text);
  }
  return value;
}

struct Opened {
  StoredRun run;
  plan::Plan plan;
  std::string id() const { return run.run.id; }
};

Result<std::vector<Opened>> open_all(const ResultsCompareArguments& given) {
  std::vector<Opened> all;
  for (const std::string& name : given.runs) {
    BW_TRY(auto run, open_run(name, given.store));
    if (run.run.state == results::State::kRunning) {
      return fail(Errc::kInvalid, "run {} is in progress; compare it when it has ended", run.run.id);
    }
    BW_TRY(auto plan, run.store.plan_of(run.run));
    all.push_back({std::move(run), std::move(plan)});
  }
  return all;
}

// The steps that make requests, of all runs.
std::vector<std::string> common_steps(const std::vector<Opened>& runs) {
  std::vector<std::string> names;
  for (const plan::StepInfo& step : runs.back().plan.steps) {
    const bool everywhere = step.measured && std::ranges::all_of(runs, [&](const Opened& run) {
                              return std::ranges::any_of(run.plan.steps, [&](const auto& other) {
                                return other.name == step.name && other.measured;
                              });
                            });
    if (everywhere) names.push_back(step.name);
  }
  return names;
}

Result<Batches> batches_of(Opened& run, const std::vector<std::string>& names) {
  std::vector<Batcher::Step> steps;
  for (const std::string& name : names) {
    for (std::size_t s = 0; s < run.plan.steps.size(); ++s) {
      if (run.plan.steps[s].name == name) steps.push_back({name, s, run.plan.steps[s].workflow});
    }
  }
  // How long the run is, and its longest interval.
  uint64_t seconds = 0;
  uint64_t longest = 1;
  const auto measure = [&](const metrics::Window& window, uint64_t span) {
    if (window.covered < Duration::millis(100)) return;
    seconds = window.second + span;
    longest = std::max(longest, span);
  };
  BW_RETURN_IF_ERROR(run.run.store.each_interval(run.run.run, run.plan, measure));
  Batcher batcher(std::move(steps), seconds, longest);
  BW_RETURN_IF_ERROR(run.run.store.each_interval(run.run.run, run.plan, callback_to<&Batcher::add>(batcher)));
  return batcher.take();
}

void add(Batches& to, Batches more) {
  to.covered.insert(to.covered.end(), more.covered.begin(), more.covered.end());
  for (std::size_t s = 0; s < to.of.size(); ++s) {
    std::move(more.of[s].begin(), more.of[s].end(), std::back_inserter(to.of[s]));
  }
}

std::string signed_percent(double ratio) { return fmt::format("{:+.2f}%", ratio * 100); }

// Nothing was measured: no response comes in no time.
bool is_unknown(Figure figure, double value) {
  return value <= 0 && (figure == Figure::kP50 || figure == Figure::kP95 || figure == Figure::kP99);
}

std::string value_text(Figure figure, double value) {
  if (is_unknown(figure, value)) return "-";
  if (figure == Figure::kErrors || figure == Figure::kDropped) return fmt::format("{:.3f}%", value * 100);
  if (figure == Figure::kRate) return report::decimal(value) + "/s";
  return format_duration(Duration::from_seconds_f(value / 1e3));
}

// A step, or all of them without a name, and one of its figures.
struct Compared {
  std::string step;
  Difference of{};
};

Fields compared_fields(const Compared& row) {
  const Difference& of = row.of;
  const bool judged = of.judgement != Judgement::kNotJudged;
  const auto value = [&](double one) { return is_unknown(of.figure, one) ? Value() : Value(one); };
  const bool is_fraction = of.figure == Figure::kErrors || of.figure == Figure::kDropped;
  const bool has_change =
      !is_unknown(of.figure, of.before) && !is_unknown(of.figure, of.after) && (is_fraction || of.before > 0);
  return {shown("STEP", row.step.empty() ? "(all)" : row.step),
          {"FIGURE", "figure", to_string(of.figure)},
          {"BEFORE", "before", value(of.before), value_text(of.figure, of.before)},
          {"AFTER", "after", value(of.after), value_text(of.figure, of.after)},
          {"CHANGE", "change", has_change ? Value(of.change) : Value(), has_change ? signed_percent(of.change) : "-"},
          shown("BETWEEN", judged ? fmt::format("{} and {}", signed_percent(of.low), signed_percent(of.high)) : "-"),
          told("low", judged ? Value(of.low) : Value()),
          told("high", judged ? Value(of.high) : Value()),
          {"VERDICT", "verdict", to_string(of.judgement)}};
}

Rows compared_rows(const std::vector<results::StepComparison>& steps) {
  std::vector<Compared> rows;
  for (const results::StepComparison& step : steps) {
    for (const Difference& one : step.differences) rows.push_back({step.step, one});
  }
  return {rows, &compared_fields};
}

Value steps_of(const Comparison& of) {
  std::vector<Value> out;
  for (const results::StepComparison& step : of.steps) {
    out.push_back(object_of({told("step", step.step.empty() ? Value() : Value(step.step)),
                             told("differences", compared_rows({step}).list())}));
  }
  return out;
}

struct Said {
  std::string verdict;  // as in JSON
  std::string text;
  int exit_code = 0;
};

Said verdict_of(const Comparison& of, const ResultsCompareArguments& given, const results::Tolerance& tolerance) {
  if (of.judged == 0) {
    return {"not judged",
            fmt::format(
                "Nothing can be compared: each run needs at least {} rows with requests (a row is a measured second; "
                "old rows are merged)",
                results::kMinBatches),
            aggregate::kExitNoSamples};
  }
  if (of.count(Judgement::kWorse) > 0) {
    return {"regression",
            fmt::format("REGRESSION: something is worse by more than {} (errors and drops: {})", given.tolerance,
                        given.errors),
            aggregate::kExitThresholds};
  }
  if (of.count(Judgement::kUnclear) > 0) {
    return {"inconclusive", "INCONCLUSIVE: " + results::advice_of(of, tolerance), aggregate::kExitNoSamples};
  }
  return {"no regression", "No regression", aggregate::kExitPass};
}

Result<int> compare_command(const ResultsCompareArguments& given) {
  BW_TRY(const auto tolerance, ratio_of("--tolerance", given.tolerance));
  BW_TRY(const auto errors, ratio_of("--errors", given.errors));
  BW_TRY(auto runs, open_all(given));
  const std::vector<std::string> names = common_steps(runs);
  if (names.empty()) return fail(Errc::kInvalid, "the runs have no step in common: compare runs of one scenario");
  Batches before;
  for (std::size_t r = 0; r + 1 < runs.size(); ++r) {
    BW_TRY(auto batches, batches_of(runs[r], names));
    if (r == 0) {
      before = std::move(batches);
    } else {
      add(before, std::move(batches));
    }
  }
  BW_TRY(const auto after, batches_of(runs.back(), names));
  const results::Tolerance allowed{.relative = tolerance, .errors = errors};
  const Comparison compared = compare(before, after, allowed);
  const Said said = verdict_of(compared, given, allowed);
  std::size_t skipped = 0;
  for (const Opened& run : runs) {
    for (const plan::StepInfo& step : run.plan.steps) {
      skipped += step.measured && std::find(names.begin(), names.end(), step.name) == names.end() ? 1 : 0;
    }
  }
  std::string text;
  if (given.json) {
    std::vector<std::string> baselines;
    for (std::size_t r = 0; r + 1 < runs.size(); ++r) baselines.push_back(runs[r].id());
    text = object_of({told("baselines", baselines), told("run", runs.back().id()), told("tolerance", tolerance),
                      told("errors_tolerance", errors), told("steps_left_out", skipped), told("verdict", said.verdict),
                      told("exit_code", said.exit_code), told("steps", steps_of(compared))})
               .document();
  } else {
    text = compared_rows(compared.steps).table();
    if (skipped > 0) text += fmt::format("Steps that not all runs have are left out: {}\n", skipped);
    for (const std::string& line : report::wrap(said.text, kTextColumns)) text += line + "\n";
  }
  print(text);
  return std::fflush(stdout) == 0 ? said.exit_code : kExitUsage;
}

}  // namespace

void add_results_compare(CLI::App& results, int& exit_code) {
  auto given = std::make_shared<ResultsCompareArguments>();
  CLI::App* command = new_verb(results, "compare");
  command->add_option("RUN", given->runs, "One or more baselines, then the run to judge")->required()->expected(2, 50);
  add_text(command, "--tolerance", given->tolerance, "RATIO", "Allowed worsening of a rate or a time")
      ->capture_default_str();
  add_text(command, "--errors", given->errors, "RATIO",
           "Allowed growth of the ratios of failed requests and dropped iterations")
      ->capture_default_str();
  add_store_option(command, given->store);
  command->add_flag("--json", given->json, "Print JSON");
  command->footer(
      "Exit codes: 0 no regression, 99 regression, 104 there is no such run, 123 inconclusive, or too few samples.");
  command->callback([given, &exit_code] { exit_code = answer("results compare", compare_command(*given)); });
}

}  // namespace bellwether::cli
