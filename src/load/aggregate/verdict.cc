#include "load/aggregate/verdict.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/enum_names.h"
#include "core/base/units.h"

namespace bellwether::aggregate {
namespace {

constexpr std::size_t kThresholdsNamed = 3;

// "12.3 %", rounded down, so that 100.0 % always means all.
std::string percent(uint64_t part, uint64_t whole) {
  const auto tenths = static_cast<uint64_t>(static_cast<unsigned __int128>(part) * 1000 / std::max<uint64_t>(whole, 1));
  return fmt::format("{}.{} %", tenths / 10, tenths % 10);
}

bool schedule_missed(const Facts& facts) {
  return static_cast<double>(facts.missed) > 0.01 * static_cast<double>(facts.scheduled);
}

std::string schedule_text(const Facts& facts) {
  return fmt::format("the schedule {}was not achieved: {} of {} ({}) dropped or not started",
                     facts.missing.empty() ? "" : fmt::format("of '{}' ", facts.missing), format_count(facts.missed),
                     format_count(facts.scheduled, "iteration"), percent(facts.missed, facts.scheduled));
}

// "25.0 % of the load was lost for 800ms", "up to 25.0 % of the load was lost in 3 places, 2.10s in all".
std::string loss_text(const LossSum& losses) {
  const double tenths = std::floor(std::clamp(losses.most_ratio, 0.0, 1.0) * 1000 + 1e-9);
  const std::string ratio = tenths < 1 ? "less than 0.1 %" : percent(static_cast<uint64_t>(tenths), 1000);
  const std::string time = format_duration(losses.time);
  if (losses.entries == 1) return fmt::format("{} of the load was lost for {}", ratio, time);
  return fmt::format("{}{} of the load was lost in {} places, {} in all", tenths < 1 ? "" : "up to ", ratio,
                     format_count(losses.entries), time);
}

Verdict lost(const Facts& facts) {
  const bool fails = facts.on_loss == plan::OnLoss::kFail;
  std::string reason = loss_text(facts.losses);
  if (facts.thresholds_no_samples > 0) {
    reason += fmt::format(", and {} of {} had no samples to judge", format_count(facts.thresholds_no_samples),
                          format_count(facts.thresholds, "threshold"));
  }
  return {fails ? Outcome::kFail : Outcome::kInconclusive, kExitLost, std::move(reason)};
}

Verdict pass(const Facts& facts) {
  std::string reason = fmt::format("all {} passed", format_count(facts.thresholds, "threshold"));
  if (facts.thresholds == 0) reason = "no threshold was given";
  if (facts.thresholds == 1) reason = "the threshold passed";
  if (facts.losses.entries > 0) reason += fmt::format("; {}, which on_loss: pass allows", loss_text(facts.losses));
  return {Outcome::kPass, kExitPass, std::move(reason)};
}

std::string with_why(std::string text, const std::string& why) {
  return why.empty() ? text : fmt::format("{}: {}", text, why);
}

// Without exponent and trailing zeros.
std::string with_digits(double value, int digits) {
  const int whole = value == 0 ? 1 : 1 + static_cast<int>(std::floor(std::log10(std::abs(value))));
  std::string text = fmt::format("{:.{}f}", value, std::clamp(digits - whole, 0, 17));
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

// All times of a second or more together.
Duration stood_still(const metrics::Histogram& lag) {
  Duration out;
  lag.each_bucket([&](uint32_t index, uint64_t count) {
    const auto time = Duration::nanos(static_cast<int64_t>(metrics::Histogram::middle_of(index)));
    if (time >= kSaturationStandstill) out += time * static_cast<int64_t>(count);
  });
  return out;
}

int order(double a, double b) { return (a > b ? 1 : 0) - (a < b ? 1 : 0); }

}  // namespace

Generator generator_check(const Totals& totals, int cores, std::vector<Finding> findings) {
  check(cores > 0, "a generator has cores");
  Generator out;
  out.cores = cores;
  if (!totals.empty()) out.cpu_cores = totals.sum().cpu.seconds_f() / totals.elapsed().seconds_f();
  out.loop_lag_p99 = totals.sum().loop_lag.percentile(99);
  for (const metrics::StepWindow& step : totals.sum().steps) {
    out.exhausted += step.errors[static_cast<std::size_t>(http1::ErrorKind::kExhausted)];
  }
  const auto because = [&out](Saturation saturation, const std::string& reason) {
    out.saturation += (out.saturation.empty() ? "" : "; ") + reason;
    out.remedy += (out.remedy.empty() ? "" : "; ") + std::string(remedy(saturation));
  };
  if (out.cpu_cores >= kSaturationCpu * cores) because(Saturation::kCpu, "its CPU was fully used");
  if (out.loop_lag_p99 > kSaturationLag) {
    because(Saturation::kLoopLag, "its event loop lagged by " + format_duration(out.loop_lag_p99));
  } else if (const Duration still = stood_still(totals.sum().loop_lag) / cores;
             still > Duration::zero() && still.seconds_f() >= kSaturatedRatio * totals.elapsed().seconds_f()) {
    because(Saturation::kLoopLag, fmt::format("its event loop stood still for {}", format_duration(still)));
  }
  if (out.exhausted > 0) {
    because(Saturation::kExhausted,
            format_count(out.exhausted, "request") + " found no free port or descriptor on this machine");
  }
  for (const Saturation saturation :
       {Saturation::kDescriptors, Saturation::kThrottled, Saturation::kStolen, Saturation::kMemory}) {
    const Duration time = lasted(findings, saturation);
    if (time <= Duration::zero() || time.seconds_f() < kSaturatedRatio * totals.elapsed().seconds_f()) continue;
    because(saturation, fmt::format("{} (at worst; {} in all)", text_of(plan::sum_of(findings, saturation)),
                                    format_duration(time)));
  }
  out.findings = std::move(findings);
  return out;
}

std::string_view to_string(Outcome outcome) {
  static constexpr EnumNames<Outcome> kNames("pass", "fail", "inconclusive", "aborted");
  return kNames[outcome];
}

namespace {

// The subject of a loss: causes end with their workflow (load/plan/finding.h).
std::string_view subject_of(const plan::Loss& loss) {
  const std::size_t at = loss.cause.rfind(", workflow ");
  return at == std::string::npos ? std::string_view() : std::string_view(loss.cause).substr(at);
}

}  // namespace

LossSum sum_of(std::span<const plan::Loss> losses) {
  LossSum out;
  out.entries = losses.size();
  std::vector<std::pair<Duration, Duration>> spans;
  for (const plan::Loss& loss : losses) {
    spans.emplace_back(loss.from, std::max(loss.from, loss.to));
  }
  std::sort(spans.begin(), spans.end());
  // Where losses of one workflow overlap, their parts add up; the greatest sum occurs at the begin of one of them.
  for (const plan::Loss& at : losses) {
    double ratio = 0;
    for (const plan::Loss& loss : losses) {
      if (subject_of(loss) != subject_of(at)) continue;
      if (loss.from <= at.from && (at.from < loss.to || loss.from == at.from)) ratio += loss.ratio;
    }
    out.most_ratio = std::max(out.most_ratio, std::min(ratio, 1.0));
  }
  Duration counted_to = Duration::nanos(INT64_MIN);
  for (const auto& [from, to] : spans) {
    if (to <= counted_to) continue;
    out.time += to - std::max(from, counted_to);
    counted_to = to;
  }
  return out;
}

namespace {

bool judges_drops(const plan::Plan& plan, std::size_t workflow) {
  return std::ranges::any_of(plan.thresholds, [&](const plan::Threshold& threshold) {
    return threshold.metric == "dropped_iterations" && (!threshold.workflow || *threshold.workflow == workflow);
  });
}

void take_schedule(const Totals& totals, Facts& facts) {
  const plan::Plan& plan = totals.plan();
  double worst = 0;
  for (std::size_t w = 0; w < plan.workflows.size(); ++w) {
    if (judges_drops(plan, w)) continue;
    const metrics::WorkflowWindow& counts = totals.sum().workflows[w];
    const bool counted = std::holds_alternative<plan::Iterations>(plan.workflows[w].executor);
    const uint64_t scheduled =
        counts.scheduled + (counted ? counts.iterations + counts.interrupted + counts.dropped : 0);
    const uint64_t known = counts.on_time + counts.late + counts.dropped;
    const uint64_t missed = counts.dropped + counts.scheduled - std::min(counts.scheduled, known);
    const double ratio = scheduled == 0 ? 0 : static_cast<double>(missed) / static_cast<double>(scheduled);
    if (scheduled == 0 || (facts.scheduled > 0 && ratio <= worst)) continue;
    worst = ratio;
    facts.scheduled = scheduled;
    facts.missed = missed;
    facts.missing = plan.workflows.size() > 1 ? plan.workflows[w].name : "";
  }
}

std::string failed_text(const plan::Plan& plan, const plan::Threshold& threshold, const ThresholdResult& result) {
  const auto metric = plan::find_metric(plan, threshold.metric);
  const MetricKind kind = metric ? metric->kind : MetricKind::kGauge;
  std::string_view unit = kind == MetricKind::kTrend ? "ms" : "";
  for (const plan::CustomMetric& own : plan.metrics) {
    if (own.name == threshold.metric) unit = own.unit;
  }
  return threshold_text(threshold.metric_text, threshold.expression, kind, unit, *result.value, result.at_least);
}

}  // namespace

Facts facts_of(const Totals& totals, std::span<const ThresholdResult> thresholds, const Generator& generator,
               Ending ending, std::string why, std::span<const plan::Loss> losses) {
  const plan::Plan& plan = totals.plan();
  const Counts counts = totals.counts();
  Facts facts;
  facts.ending = ending;
  facts.why = std::move(why);
  facts.losses = sum_of(losses);
  facts.on_loss = plan.on_loss;
  facts.thresholds = thresholds.size();
  for (const ThresholdResult& result : thresholds) {
    facts.thresholds_no_samples += result.no_samples() ? 1 : 0;
  }
  for (std::size_t t = 0; t < thresholds.size(); ++t) {
    if (thresholds[t].no_samples() || thresholds[t].ok) continue;
    facts.thresholds_failed.push_back(failed_text(plan, plan.thresholds[t], thresholds[t]));
  }
  facts.measures = std::ranges::any_of(plan.steps, [](const auto& step) { return step.measured; });
  facts.requests = counts.requests;
  if (facts.ending == Ending::kCompleted && facts.requests == 0) {
    uint64_t iterations = 0;
    for (const metrics::WorkflowWindow& one : totals.sum().workflows) iterations += one.iterations + one.interrupted;
    facts.why = iterations == 0 ? "no iteration began"
                                : fmt::format("'if', 'choose' or a failure left out its steps in each of {}",
                                              format_count(iterations, "iteration"));
  }
  facts.failed = counts.failed;
  take_schedule(totals, facts);
  facts.saturated = generator.saturated();
  return facts;
}

namespace {

// The reason lacks the count of failed thresholds, so it may be empty.
Verdict judge(const Facts& facts) {
  if (!facts.unconfirmed.empty()) {
    std::string reason = "unconfirmed: " + facts.unconfirmed;
    if (facts.losses.entries > 0) reason += "; so far " + loss_text(facts.losses);
    return {Outcome::kInconclusive, kExitLost, std::move(reason)};
  }
  if (facts.ending == Ending::kNotRun) {
    return {Outcome::kAborted, kExitNotRun, with_why("the run did not take place", facts.why)};
  }
  if (facts.ending == Ending::kCancelled) {
    return {Outcome::kAborted, kExitSignal, with_why("cancelled before its end", facts.why)};
  }
  if (facts.ending == Ending::kSignal) {
    const std::string by = facts.why.empty() ? "a signal" : facts.why;
    return {Outcome::kAborted, kExitSignal, fmt::format("stopped by {} before its end", by)};
  }
  if (facts.ending == Ending::kOnError) {
    return {Outcome::kAborted, kExitAbort,
            facts.why.empty() ? "stopped by a failed step that has on_error: abort" : "stopped: " + facts.why};
  }
  if (facts.ending == Ending::kTimeout) {
    return {Outcome::kAborted, kExitAbort, with_why("stopped at its timeout", facts.why)};
  }
  if (facts.ending == Ending::kWorkflowTimeout) {
    return {Outcome::kAborted, kExitAbort, with_why("a workflow was ended by its timeout", facts.why)};
  }
  if (facts.ending == Ending::kThreshold) {
    return {Outcome::kFail, kExitThresholds, "stopped early by a failed threshold that has abortOnFail"};
  }
  if (!facts.thresholds_failed.empty()) {
    std::string reason = facts.losses.entries > 0 ? loss_text(facts.losses) : "";
    if (facts.thresholds_no_samples > 0) {
      reason += fmt::format("{}{} had no samples to judge", reason.empty() ? "" : "; ",
                            format_count(facts.thresholds_no_samples, "threshold"));
    }
    return {Outcome::kFail, kExitThresholds, std::move(reason)};
  }
  if (facts.losses.entries > 0 && facts.on_loss != plan::OnLoss::kPass) return lost(facts);
  if (facts.thresholds_no_samples > 0) {
    return {Outcome::kInconclusive, kExitNoSamples,
            fmt::format("{} of {} had no samples to judge", format_count(facts.thresholds_no_samples),
                        format_count(facts.thresholds, "threshold"))};
  }
  if (facts.thresholds == 0 && facts.measures && facts.failed >= facts.requests) {
    const bool none = facts.requests == 0;
    return {Outcome::kFail, kExitAllFailed,
            none ? with_why("no measured request was made", facts.why)
                 : fmt::format("every request failed, {} of them", format_count(facts.requests))};
  }
  if (schedule_missed(facts)) {
    if (!facts.saturated) return {Outcome::kFail, kExitSchedule, schedule_text(facts)};
    return {Outcome::kInconclusive, kExitSaturated, schedule_text(facts) + ", because the generator was saturated"};
  }
  return pass(facts);
}

}  // namespace

Verdict verdict(const Facts& facts) {
  Verdict out = judge(facts);
  out.failed_thresholds = facts.thresholds_failed;
  if (out.failed_thresholds.empty()) return out;
  out.reason += fmt::format("{}{} of {} failed", out.reason.empty() ? "" : "; ",
                            format_count(out.failed_thresholds.size()), format_count(facts.thresholds, "threshold"));
  return out;
}

std::string verdict_text(std::string_view reason, std::span<const std::string> failed_thresholds) {
  std::string out(reason);
  for (std::size_t t = 0; t < std::min(failed_thresholds.size(), kThresholdsNamed); ++t) {
    out += (t == 0 ? ": " : "; ") + failed_thresholds[t];
  }
  if (failed_thresholds.size() > kThresholdsNamed) {
    out += fmt::format("; and {} more", format_count(failed_thresholds.size() - kThresholdsNamed));
  }
  return out;
}

std::string threshold_text(std::string_view metric, std::string_view expression, plan::MetricKind kind,
                           std::string_view unit, double value, bool at_least) {
  using plan::MetricKind;
  static constexpr std::string_view kOperators = "<>=!";
  const std::size_t op = std::min(expression.find_first_of(kOperators), expression.size());
  const std::size_t after = std::min(expression.find_first_not_of(kOperators, op), expression.size());
  const std::string_view what = trim(expression.substr(0, op));
  const auto limit = parse_double(trim(expression.substr(after)));
  if (!limit) return fmt::format("{} {}: measured {:.6g}", metric, expression, value);

  std::string suffix(unit);
  if (kind == MetricKind::kCounter && what == "rate") suffix += "/s";
  if ((kind == MetricKind::kTrend && what == "count") || kind == MetricKind::kRate) suffix.clear();
  const bool percent = kind == MetricKind::kRate && what == "rate";
  if (percent) suffix = "%";
  if (!suffix.empty() && suffix != "ms" && suffix != "%" && suffix.front() != '/') suffix.insert(0, " ");
  const double factor = percent ? 100 : 1;

  int digits = 3;
  std::string measured = with_digits(value * factor, digits);
  while (digits < 17 && order(parse_double(measured).value_or(0), *limit * factor) != order(value, *limit)) {
    measured = with_digits(value * factor, ++digits);
  }
  return fmt::format("{} {}{}{}{}, limit {}{}{}{}", metric, what, at_least ? "≥" : "=", measured, suffix,
                     expression.substr(op, after - op), with_digits(*limit * factor, 15), suffix,
                     at_least && value < *limit ? " (requests without a response may be slower)" : "");
}

}  // namespace bellwether::aggregate
