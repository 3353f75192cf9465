#include "aggregate/totals.h"

#include <algorithm>

#include "base/check.h"

namespace bellwether::aggregate {
namespace {

Percentiles percentiles_of(const metrics::Histogram& histogram) {
  return {histogram.percentile(50), histogram.percentile(95), histogram.percentile(99)};
}

void keep_worst(Percentiles& worst, const Percentiles& other) {
  worst.p50 = std::max(worst.p50, other.p50);
  worst.p95 = std::max(worst.p95, other.p95);
  worst.p99 = std::max(worst.p99, other.p99);
}

void absorb(SeriesPoint& point, const SeriesPoint& later) {
  point.covered += later.covered;
  point.requests += later.requests;
  point.failed += later.failed;
  point.iterations += later.iterations;
  point.dropped += later.dropped;
  point.vus = later.vus;
  keep_worst(point.service, later.service);
  keep_worst(point.response, later.response);
}

void add_step(Counts& counts, const metrics::StepWindow& step) {
  counts.requests += step.count;
  counts.failed += step.failed;
  counts.bytes_sent += step.bytes_sent;
  counts.bytes_received += step.bytes_received;
}

void add_workflow(Counts& counts, const metrics::WorkflowWindow& workflow) {
  counts.iterations += workflow.iterations;
  counts.interrupted += workflow.interrupted;
  counts.scheduled += workflow.scheduled;
  counts.on_time += workflow.on_time;
  counts.late += workflow.late;
  counts.dropped += workflow.dropped;
}

Counts counts_of(const plan::Plan& plan, const metrics::Window& window, std::optional<uint16_t> workflow) {
  Counts counts;
  for (std::size_t s = 0; s < window.steps.size(); ++s) {
    if (plan.steps[s].measured && (!workflow || plan.steps[s].workflow == *workflow)) add_step(counts, window.steps[s]);
  }
  for (std::size_t w = 0; w < window.workflows.size(); ++w) {
    if (!workflow || *workflow == w) add_workflow(counts, window.workflows[w]);
  }
  return counts;
}

}  // namespace

metrics::Shape shape_of(const plan::Plan& plan) {
  return {plan.steps.size(), plan.workflows.size(), plan.checks.size(), plan.series.size()};
}

metrics::Retention retention_of(const TotalsState& state) {
  metrics::Retention retention(metrics::kHotPoints);
  if (!state.series.empty()) retention.reach(std::max(state.series.back().second, state.last.second));
  return retention;
}

double SeriesPoint::rate_per_s() const {
  return covered > Duration::zero() ? static_cast<double>(requests) / covered.seconds_f() : 0;
}

void Gauge::set(int64_t value) {
  last = value;
  peak = std::max(peak, value);
}

Totals::Totals(const plan::Plan& plan)
    : plan_(&plan), sum_(aggregate::shape_of(plan)), workflow_vus_(plan.workflows.size()), metric_series_(plan) {
  series_.reserve(kSeriesMax + 1);
}

void Totals::add(const metrics::Window& second, Duration covered) {
  sum_.merge(second);
  sum_.second = second.second;
  elapsed_ += covered;
  int64_t active = 0;
  int64_t allocated = 0;
  for (std::size_t w = 0; w < workflow_vus_.size(); ++w) {
    const metrics::WorkflowWindow& now = second.workflows[w];
    sum_.workflows[w].vus_active = now.vus_active;
    sum_.workflows[w].vus_allocated = now.vus_allocated;
    workflow_vus_[w].active.set(now.vus_active);
    workflow_vus_[w].allocated.set(now.vus_allocated);
    active += now.vus_active;
    allocated += now.vus_allocated;
  }
  all_vus_.active.set(active);
  all_vus_.allocated.set(allocated);
  last_ = point_of(second, covered);
  put(last_, false);
  metric_series_.add(second, retention_);
}

void Totals::amend(const metrics::Window& part) {
  sum_.merge(part);
  for (std::size_t w = 0; w < sum_.workflows.size(); ++w) {
    sum_.workflows[w].vus_active -= part.workflows[w].vus_active;
    sum_.workflows[w].vus_allocated -= part.workflows[w].vus_allocated;
  }
  SeriesPoint point = point_of(part, Duration::zero());
  const auto at = place_of(part.second);
  if (at == series_.end() || retention_.stretch_of(at->second) != retention_.stretch_of(part.second)) {
    // Nobody else had measured in that second.
    point.covered = Duration::seconds(1);
    elapsed_ += point.covered;
  }
  put(point, true);
  metric_series_.add(part, retention_);
}

TotalsState Totals::save() const {
  TotalsState state{.sum = metrics::Window(aggregate::shape_of(*plan_)),
                    .elapsed = elapsed_,
                    .all_vus = all_vus_,
                    .workflow_vus = workflow_vus_,
                    .series = series_,
                    .last = last_,
                    .metrics = metric_series_.save()};
  state.sum.merge(sum_);
  state.sum.second = sum_.second;
  return state;
}

Totals Totals::restore(const plan::Plan& plan, TotalsState state) {
  check(state.sum.shape() == shape_of(plan) && state.workflow_vus.size() == plan.workflows.size() &&
            state.series.size() <= kSeriesMax,
        "a state of this plan");
  Totals totals(plan);
  totals.sum_ = std::move(state.sum);
  totals.elapsed_ = state.elapsed;
  totals.all_vus_ = state.all_vus;
  totals.workflow_vus_ = std::move(state.workflow_vus);
  totals.retention_ = retention_of(state);
  totals.series_.assign(state.series.begin(), state.series.end());
  totals.last_ = state.last;
  totals.metric_series_.restore(std::move(state.metrics));
  return totals;
}

Counts Totals::counts(std::optional<uint16_t> workflow) const { return counts_of(*plan_, sum_, workflow); }

const VuGauges& Totals::vus(std::optional<uint16_t> workflow) const {
  return workflow ? workflow_vus_.at(*workflow) : all_vus_;
}

std::vector<MetricPoint> Totals::series_of(std::size_t metric) const {
  check(metric < plan_->metrics.size(), "a metric of the plan");
  std::vector<MetricPoint> out;
  for (const SeriesPoint& point : series_) {
    const MetricFigure* figure = metric_series_.find(point.second, metric, retention_);
    if (figure != nullptr && figure->count > 0) out.push_back({point.second, point.covered, *figure});
  }
  return out;
}

SeriesPoint Totals::point_of(const metrics::Window& second, Duration covered) {
  service_.clear();
  response_.clear();
  for (const metrics::StepWindow& step : second.steps) {
    service_.merge(step.service);
    response_.merge(step.response);
  }
  const Counts counts = counts_of(*plan_, second, {});
  return {.second = second.second,
          .covered = covered,
          .requests = counts.requests,
          .failed = counts.failed,
          .iterations = counts.iterations,
          .dropped = counts.dropped,
          .vus = all_vus_.active.last,
          .service = percentiles_of(service_),
          .response = percentiles_of(response_)};
}

std::vector<SeriesPoint>::iterator Totals::place_of(uint64_t second) {
  return std::lower_bound(
      series_.begin(), series_.end(), retention_.stretch_of(second),
      [this](const SeriesPoint& one, uint64_t first) { return retention_.stretch_of(one.second) < first; });
}

void Totals::put(const SeriesPoint& point, bool late) {
  if (retention_.reach(point.second)) {
    std::size_t kept = 0;
    for (std::size_t i = 1; i < series_.size(); ++i) {
      if (retention_.stretch_of(series_[i].second) == retention_.stretch_of(series_[kept].second)) {
        absorb(series_[kept], series_[i]);
      } else {
        series_[++kept] = series_[i];
      }
    }
    if (!series_.empty()) series_.resize(kept + 1);
  }
  const auto at = place_of(point.second);
  if (at == series_.end() || retention_.stretch_of(at->second) != retention_.stretch_of(point.second)) {
    series_.insert(at, point);
    return;
  }
  const int64_t vus = at->vus;
  absorb(*at, point);
  if (late) at->vus = vus;
}

const metrics::Histogram& duration_of(const Totals& totals, plan::StepId step) {
  check(step < totals.plan().steps.size(), "a step of the plan");
  const metrics::StepWindow& window = totals.sum().steps[step];
  return totals.plan().steps[step].open_model ? window.response : window.service;
}

}  // namespace bellwether::aggregate
