#include "aggregate/metric.h"

#include <algorithm>
#include <array>

#include "base/check.h"

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
  kDuration,
  kService,
  kResponse,
  kPhase,
  kIterations,
  kIterationDuration,
  kDropped,
  kVus,
  kVusMax,
  kChecks,
};

// Where the figures of a metric are kept: one for each of plan::metrics().
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
    {"http_req_response", Source::kResponse},
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
    {"vus", Source::kVus},
    {"vus_max", Source::kVusMax},
}};

const Origin& origin_of(std::string_view metric) {
  const auto* found =
      std::find_if(kOrigins.begin(), kOrigins.end(), [&](const Origin& origin) { return origin.metric == metric; });
  check(found != kOrigins.end(), "every metric of the plan is kept somewhere");
  return *found;
}

bool can_have(MetricScope scope, const Filter& filter) {
  switch (scope) {
    case MetricScope::kStep: return !filter.check;
    case MetricScope::kWorkflow: return !filter.check && !filter.step && filter.tags.empty();
    case MetricScope::kCheck: return true;
  }
  return false;
}

// Whether or not it is measured: what it checks counts either way.
bool selects_step(const plan::Plan& plan, std::size_t step, const Filter& filter) {
  return (!filter.step || *filter.step == step) &&
         (!filter.workflow || plan.steps[step].workflow == *filter.workflow) &&
         std::all_of(filter.tags.begin(), filter.tags.end(), [&](const plan::Tag& tag) {
           const std::vector<plan::Tag>& own = plan.steps[step].tags;
           return std::find(own.begin(), own.end(), tag) != own.end();
         });
}

void take_step(const Origin& origin, const Totals& totals, plan::StepId id, Sample& out) {
  const metrics::StepWindow& step = totals.sum().steps[id];
  switch (origin.source) {
    case Source::kRequests: out.count += step.count; break;
    case Source::kBytesSent: out.count += step.bytes_sent; break;
    case Source::kBytesReceived: out.count += step.bytes_received; break;
    case Source::kFailed:
      out.count += step.failed;
      out.total += step.count;
      break;
    case Source::kDuration: out.trend.merge(duration_of(totals, id)); break;
    case Source::kService: out.trend.merge(step.service); break;
    case Source::kResponse: out.trend.merge(step.response); break;
    case Source::kPhase: out.trend.merge(step.phases[static_cast<std::size_t>(origin.phase)]); break;
    default: break;
  }
}

void take_workflow(const Origin& origin, const metrics::WorkflowWindow& workflow, Sample& out) {
  switch (origin.source) {
    case Source::kIterations: out.count += workflow.iterations; break;
    case Source::kDropped: out.count += workflow.dropped; break;
    case Source::kIterationDuration: out.trend.merge(workflow.iteration); break;
    default: break;
  }
}

void take_checks(const Totals& totals, const Filter& filter, Sample& out) {
  const plan::Plan& plan = totals.plan();
  for (std::size_t c = 0; c < plan.checks.size(); ++c) {
    if ((filter.check && *filter.check != c) || !selects_step(plan, plan.checks[c].step, filter)) continue;
    out.count += totals.sum().checks[c].passes;
    out.total += totals.sum().checks[c].passes + totals.sum().checks[c].fails;
  }
}

std::optional<double> trend_value(const Histogram& trend, plan::Aggregation aggregation, double percentile) {
  if (aggregation == plan::Aggregation::kCount) return static_cast<double>(trend.count());
  if (trend.empty()) return std::nullopt;
  switch (aggregation) {
    case plan::Aggregation::kAvg:
      return static_cast<double>(trend.sum_ns()) / static_cast<double>(trend.count()) * 1e-6;
    case plan::Aggregation::kMin: return trend.min().millis_f();
    case plan::Aggregation::kMax: return trend.max().millis_f();
    case plan::Aggregation::kMed: return trend.percentile(50).millis_f();
    case plan::Aggregation::kPercentile: return trend.percentile(percentile).millis_f();
    default: return std::nullopt;
  }
}

}  // namespace

std::string_view to_string(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter: return "counter";
    case MetricKind::kGauge: return "gauge";
    case MetricKind::kRate: return "rate";
    case MetricKind::kTrend: return "trend";
  }
  return "";
}

std::optional<Sample> sample(const Totals& totals, std::string_view metric, const Filter& filter) {
  const plan::Metric* known = plan::find_metric(metric);
  if (known == nullptr || !can_have(known->scope, filter)) return std::nullopt;

  const Origin& origin = origin_of(metric);
  Sample out;
  out.kind = known->kind;
  out.elapsed = totals.elapsed();
  if (origin.source == Source::kVus) {
    out.gauge = totals.vus(filter.workflow).active;
  } else if (origin.source == Source::kVusMax) {
    out.gauge = totals.vus(filter.workflow).allocated;
  } else if (known->scope == MetricScope::kCheck) {
    take_checks(totals, filter, out);
  } else if (known->scope == MetricScope::kStep) {
    for (std::size_t s = 0; s < totals.plan().steps.size(); ++s) {
      if (!totals.plan().steps[s].measured || !selects_step(totals.plan(), s, filter)) continue;
      take_step(origin, totals, static_cast<plan::StepId>(s), out);
    }
  } else {
    for (std::size_t w = 0; w < totals.plan().workflows.size(); ++w) {
      if (!filter.workflow || *filter.workflow == w) take_workflow(origin, totals.sum().workflows[w], out);
    }
  }
  return out;
}

std::optional<double> value_of(const Sample& sample, plan::Aggregation aggregation, double percentile) {
  using plan::Aggregation;
  const bool nothing_yet = sample.elapsed <= Duration::zero();
  switch (sample.kind) {
    case MetricKind::kCounter:
      if (aggregation == Aggregation::kCount) return static_cast<double>(sample.count);
      if (aggregation != Aggregation::kRate || nothing_yet) return std::nullopt;
      return static_cast<double>(sample.count) / sample.elapsed.seconds_f();
    case MetricKind::kGauge:
      if (nothing_yet) return std::nullopt;
      if (aggregation == Aggregation::kValue) return static_cast<double>(sample.gauge.last);
      if (aggregation == Aggregation::kMax) return static_cast<double>(sample.gauge.peak);
      return std::nullopt;
    case MetricKind::kRate:
      if (aggregation != Aggregation::kRate || sample.total == 0) return std::nullopt;
      return static_cast<double>(sample.count) / static_cast<double>(sample.total);
    case MetricKind::kTrend: return trend_value(sample.trend, aggregation, percentile);
  }
  return std::nullopt;
}

}  // namespace bellwether::aggregate
