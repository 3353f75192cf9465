#include "load/aggregate/metric.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/core.h>
#include <map>
#include <numeric>

#include "core/base/check.h"
#include "core/base/enum_names.h"

namespace bellwether::aggregate {

namespace {

using metrics::Histogram;
using metrics::Phase;
using plan::MetricScope;

enum class Source : uint8_t {
  kRequests,
  kFailed,
  kBytesSent,
  kBytesReceived,
  kRepeated,
  kDuration,
  kService,
  kPhase,
  kIterations,
  kIterationDuration,
  kDropped,
  kVus,
  kMaxVus,
  kChecks,
};

// The source of a metric's figures: one for each of plan::metrics().
struct Origin {
  std::string_view metric;
  Source source;
  Phase phase = Phase::kDns;
};

constexpr std::array<Origin, 19> kOrigins{{
    {"http_reqs", Source::kRequests},
    {"http_req_failed", Source::kFailed},
    {"http_req_duration", Source::kDuration},
    {"http_req_service", Source::kService},
    {"http_req_looking_up", Source::kPhase, Phase::kDns},
    {"http_req_connecting", Source::kPhase, Phase::kConnect},
    {"http_req_tls_handshaking", Source::kPhase, Phase::kTls},
    {"http_req_sending", Source::kPhase, Phase::kSend},
    {"http_req_waiting", Source::kPhase, Phase::kWait},
    {"http_req_receiving", Source::kPhase, Phase::kReceive},
    {"checks", Source::kChecks},
    {"iterations", Source::kIterations},
    {"iteration_duration", Source::kIterationDuration},
    {"dropped_iterations", Source::kDropped},
    {"data_sent", Source::kBytesSent},
    {"data_received", Source::kBytesReceived},
    {"http_reqs_repeated", Source::kRepeated},
    {"vus", Source::kVus},
    {"vus_max", Source::kMaxVus},
}};

const Origin& origin_of(std::string_view metric) {
  const auto* found = std::ranges::find_if(kOrigins, [&](const Origin& origin) { return origin.metric == metric; });
  check(found != kOrigins.end(), "every metric of the plan is kept somewhere");
  return *found;
}

bool can_have(MetricScope scope, const Filter& filter) {
  switch (scope) {
    case MetricScope::kResponse: return !filter.check;
    case MetricScope::kStep: return !filter.check && filter.response.takes_all();
    case MetricScope::kWorkflow:
      return !filter.check && !filter.step && filter.tags.empty() && filter.response.takes_all();
    case MetricScope::kCheck: return filter.response.takes_all();
  }
  return false;
}

bool selects_step(const plan::Plan& plan, std::size_t step, const Filter& filter) {
  return plan::selects_step(plan, step, filter.step, filter.workflow, filter.tags);
}

// The time that a rate of this part is per.
Duration elapsed_of(const Totals& totals, const Filter& filter) {
  if (!filter.step && !filter.workflow && filter.tags.empty()) return totals.elapsed();
  const plan::Plan& plan = totals.plan();
  std::optional<uint16_t> only = filter.workflow;
  for (std::size_t s = 0; s < plan.steps.size() && !filter.workflow; ++s) {
    if (!selects_step(plan, s, filter)) continue;
    if (only && *only != plan.steps[s].workflow) return totals.elapsed();
    only = plan.steps[s].workflow;
  }
  return only ? totals.elapsed(*only) : totals.elapsed();
}

void add(uint64_t count, Sample& out) { out.count += static_cast<double>(count); }

void take_step(const Origin& origin, const Totals& totals, plan::StepId id, Sample& out) {
  const metrics::StepWindow& step = totals.sum().steps[id];
  switch (origin.source) {
    case Source::kRequests: add(step.count, out); break;
    case Source::kBytesSent: add(step.bytes_sent, out); break;
    case Source::kBytesReceived: add(step.bytes_received, out); break;
    case Source::kRepeated: add(step.repeated, out); break;
    case Source::kFailed:
      add(step.failed, out);
      out.total += step.count;
      break;
    case Source::kDuration: out.trend.merge(step.response); break;
    case Source::kService: out.trend.answered.merge(step.service); break;
    case Source::kPhase: out.trend.answered.merge(step.phases[static_cast<std::size_t>(origin.phase)]); break;
    default: break;
  }
}

// A time of the requests of a step that the filter takes. REQUIRES a watch of the plan.
const Histogram& watched(const Totals& totals, const plan::Watch& watch) {
  const std::vector<plan::Watch>& watches = totals.plan().watches;
  const auto found = std::find(watches.begin(), watches.end(), watch);
  check(found != watches.end(), "the plan watches what its thresholds select");
  return totals.sum().watches[static_cast<std::size_t>(found - watches.begin())];
}

// Those requests of a step that the filter takes by their response, or for want of one.
void take_selected(const Origin& origin, const Totals& totals, plan::StepId id, const plan::ResponseFilter& filter,
                   plan::RequestTime time, Sample& out) {
  const metrics::StepWindow& step = totals.sum().steps[id];
  const auto count = [&](const plan::ResponseFilter& one) {
    const uint64_t errors = std::accumulate(step.errors.begin(), step.errors.end(), uint64_t{0});
    return watched(totals, {id, one}).count() + (one.takes(0, false) ? errors : 0);
  };
  switch (origin.source) {
    case Source::kRequests: add(count(filter), out); break;
    case Source::kFailed:
      out.total += count(filter);
      if (filter.expected != true) add(count({filter.status, false}), out);
      break;
    case Source::kDuration:
      out.trend.answered.merge(watched(totals, {id, filter}));
      if (filter.takes(0, false)) out.trend.unanswered.merge(step.response.unanswered);
      // Those might have got any response. So a stall that drops requests raises this figure too.
      if (filter == plan::ResponseFilter{{}, true}) out.trend.unfinished.merge(step.response.unfinished);
      break;
    case Source::kService:
    case Source::kPhase: out.trend.answered.merge(watched(totals, {id, filter, time})); break;
    default: break;
  }
}

void take_workflow(const Origin& origin, const metrics::WorkflowWindow& workflow, Sample& out) {
  switch (origin.source) {
    case Source::kIterations: add(workflow.iterations, out); break;
    case Source::kDropped: add(workflow.dropped, out); break;
    case Source::kIterationDuration: out.trend.answered.merge(workflow.iteration); break;
    default: break;
  }
}

void take_gauge(const Gauge& gauge, Sample& out) {
  out.last = static_cast<double>(gauge.last);
  out.greatest = static_cast<double>(gauge.peak);
}

void take_checks(const Totals& totals, const Filter& filter, Sample& out) {
  const plan::Plan& plan = totals.plan();
  for (std::size_t c = 0; c < plan.checks.size(); ++c) {
    if ((filter.check && *filter.check != c) || !selects_step(plan, plan.checks[c].step, filter)) continue;
    add(totals.sum().checks[c].passes, out);
    out.total += totals.sum().checks[c].passes + totals.sum().checks[c].fails;
  }
}

Sample custom_sample(const Totals& totals, std::size_t metric, const Filter& filter) {
  const plan::Plan& plan = totals.plan();
  metrics::MetricWindow sum(nullptr);
  for (std::size_t i = 0; i < plan.series.size(); ++i) {
    if (plan.series[i].metric != metric || !selects_step(plan, plan.series[i].step, filter)) continue;
    sum.merge(totals.sum().series[i]);
  }
  Sample out;
  out.kind = plan.metrics[metric].kind;
  out.elapsed = elapsed_of(totals, filter);
  out.any = sum.count > 0;
  out.refused = sum.refused;
  out.count = out.kind == MetricKind::kRate ? static_cast<double>(sum.trues) : sum.amount();
  out.total = sum.count;
  out.last = sum.last;
  out.greatest = sum.greatest;
  out.trend.answered = std::move(sum.trend);
  out.scale = plan.metrics[metric].scale();
  return out;
}

std::optional<Value> trend_value(const metrics::ResponseTimes& trend, double scale, plan::Aggregation aggregation,
                                 double percentile) {
  if (aggregation == plan::Aggregation::kCount) return Value{static_cast<double>(trend.count())};
  if (trend.empty()) return std::nullopt;
  const auto figure = [&](const metrics::ResponseFigure& of) {
    Value out{in_units(of.value, scale), !of.known(), {}};
    if (of.most) out.most = in_units(*of.most, scale);
    return out;
  };
  switch (aggregation) {
    case plan::Aggregation::kAvg: {
      const metrics::ResponseFigure mean = trend.mean();
      if (!mean.most) return figure(mean);
      // More exact than a duration: values of small scales are fractions of a nanosecond apart.
      const Histogram& all = trend.answered;
      const double exact = static_cast<double>(all.sum_ns()) / static_cast<double>(all.count());
      return Value{scale == kMillisecond ? exact * 1e-6 : exact / scale};
    }
    case plan::Aggregation::kMin: return Value{in_units(trend.min(), scale), trend.answered.empty(), {}};
    case plan::Aggregation::kMax: return figure(trend.max());
    case plan::Aggregation::kMed: return figure(trend.percentile(50));
    case plan::Aggregation::kPercentile: return figure(trend.percentile(percentile));
    default: return std::nullopt;
  }
}

// Of a lower bound only what is true up to the upper one.
bool holds(const Value& seen, plan::Op op, double bound) {
  const double most = seen.at_least ? seen.most.value_or(HUGE_VAL) : seen.value;
  switch (op) {
    case plan::Op::kLess: return most < bound;
    case plan::Op::kLessEqual: return most <= bound;
    case plan::Op::kGreater: return seen.value > bound;
    case plan::Op::kGreaterEqual: return seen.value >= bound;
    case plan::Op::kEqual: return seen.value == bound && most == bound;
    case plan::Op::kNotEqual: return seen.value > bound || most < bound;
  }
  return false;
}

}  // namespace

std::string_view to_string(MetricKind kind) {
  static constexpr EnumNames<MetricKind> kNames("counter", "rate", "trend", "gauge");
  return kNames[kind];
}

std::optional<Sample> sample(const Totals& totals, std::string_view metric, const Filter& filter) {
  const auto known = plan::find_metric(totals.plan(), metric);
  if (!known || !can_have(known->scope, filter)) return std::nullopt;
  const std::vector<plan::CustomMetric>& custom = totals.plan().metrics;
  for (std::size_t i = 0; i < custom.size(); ++i) {
    if (custom[i].name == metric) return custom_sample(totals, i, filter);
  }

  const Origin& origin = origin_of(metric);
  Sample out;
  out.kind = known->kind;
  out.elapsed = elapsed_of(totals, filter);
  if (origin.source == Source::kVus) {
    take_gauge(totals.vus(filter.workflow).active, out);
  } else if (origin.source == Source::kMaxVus) {
    take_gauge(totals.vus(filter.workflow).allocated, out);
  } else if (known->scope == MetricScope::kCheck) {
    take_checks(totals, filter, out);
  } else if (known->scope == MetricScope::kStep || known->scope == MetricScope::kResponse) {
    for (std::size_t s = 0; s < totals.plan().steps.size(); ++s) {
      if (!totals.plan().steps[s].measured || !selects_step(totals.plan(), s, filter)) continue;
      const auto id = static_cast<plan::StepId>(s);
      if (filter.response.takes_all()) {
        take_step(origin, totals, id, out);
      } else {
        take_selected(origin, totals, id, filter.response, known->time, out);
      }
    }
  } else {
    for (std::size_t w = 0; w < totals.plan().workflows.size(); ++w) {
      if (!filter.workflow || *filter.workflow == w) take_workflow(origin, totals.sum().workflows[w], out);
    }
  }
  return out;
}

std::optional<Value> value_of(const Sample& sample, plan::Aggregation aggregation, double percentile) {
  using plan::Aggregation;
  const bool nothing_yet = sample.elapsed <= Duration::zero();
  switch (sample.kind) {
    case MetricKind::kCounter:
      if (aggregation == Aggregation::kCount) return Value{sample.count};
      if (aggregation != Aggregation::kRate || nothing_yet) return std::nullopt;
      return Value{sample.count / sample.elapsed.seconds_f()};
    case MetricKind::kGauge:
      if (nothing_yet || !sample.any) return std::nullopt;
      if (aggregation == Aggregation::kValue) return Value{sample.last};
      if (aggregation == Aggregation::kMax) return Value{sample.greatest};
      return std::nullopt;
    case MetricKind::kRate:
      if (aggregation != Aggregation::kRate || sample.total == 0) return std::nullopt;
      return Value{sample.count / static_cast<double>(sample.total)};
    case MetricKind::kTrend: return trend_value(sample.trend, sample.scale, aggregation, percentile);
  }
  return std::nullopt;
}

TagSums sums_by_tag(const Totals& totals) {
  struct Found {
    bool own = false;
    std::vector<std::size_t> steps;
  };
  const plan::Plan& plan = totals.plan();
  std::map<std::pair<std::string_view, std::string_view>, Found> found;
  std::size_t measured = 0;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (!plan.steps[s].measured) continue;
    ++measured;
    for (const plan::Tag& tag : plan.steps[s].tags) {
      Found& one = found[{tag.key, tag.value}];
      one.own = true;
      one.steps.push_back(s);
    }
    for (const plan::Tag& fact : plan.steps[s].facts) {
      if (fact.key == "name") found[{fact.key, fact.value}].steps.push_back(s);
    }
  }
  TagSums out;
  for (const auto& [key, one] : found) {
    const plan::Tag tag{std::string(key.first), std::string(key.second)};
    const bool of_run = std::find(plan.tags.begin(), plan.tags.end(), tag) != plan.tags.end();
    if ((!one.own && one.steps.size() == 1) || (of_run && one.steps.size() == measured)) continue;
    if (out.tags.size() == TagSums::kMax) {
      ++out.left_out;
      continue;
    }
    out.tags.push_back({fmt::format("{}:{}", tag.key, tag.value), metrics::StepWindow(nullptr),
                        elapsed_of(totals, {.tags = {&tag, 1}})});
    for (const std::size_t s : one.steps) out.tags.back().sum.merge(totals.sum().steps[s]);
  }
  return out;
}

ThresholdResult evaluate(const Totals& totals, const plan::Threshold& threshold) {
  ThresholdResult result;
  const auto seen = sample(totals, threshold.metric,
                           {threshold.step, threshold.workflow, threshold.check, threshold.tags, threshold.response});
  if (!seen) return result;
  const auto value = value_of(*seen, threshold.aggregation, threshold.percentile);
  if (!value) return result;
  result.value = value->value;
  result.at_least = value->at_least;
  result.ok = holds(*value, threshold.op, threshold.value);
  return result;
}

std::vector<ThresholdResult> evaluate(const Totals& totals) {
  std::vector<ThresholdResult> results;
  for (const plan::Threshold& threshold : totals.plan().thresholds) results.push_back(evaluate(totals, threshold));
  return results;
}

std::optional<std::size_t> abort_due(const Totals& totals) {
  const std::vector<plan::Threshold>& thresholds = totals.plan().thresholds;
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    if (!thresholds[i].abort_on_fail || totals.elapsed() < thresholds[i].delay_abort_eval) continue;
    const ThresholdResult result = evaluate(totals, thresholds[i]);
    if (!result.ok && !result.no_samples()) return i;
  }
  return std::nullopt;
}

}  // namespace bellwether::aggregate
