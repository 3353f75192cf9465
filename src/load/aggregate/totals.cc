#include "load/aggregate/totals.h"

#include <algorithm>
#include <map>

#include "core/base/check.h"

namespace bellwether::aggregate {

Percentiles percentiles_of(const metrics::ResponseTimes& times) {
  const auto [p50, p95, p99] = times.percentiles(std::array{50.0, 95.0, 99.0});
  return {p50.value, p95.value, p99.value};
}

void keep_worst(Percentiles& worst, const Percentiles& other) {
  worst.p50 = std::max(worst.p50, other.p50);
  worst.p95 = std::max(worst.p95, other.p95);
  worst.p99 = std::max(worst.p99, other.p99);
}

void StepSeries::add(const metrics::Window& part, Duration covered) {
  while (part.second / state_.length >= kMaxStepIntervals) fold();
  const std::size_t interval = part.second / state_.length;
  const std::size_t steps = plan_->steps.size();
  if (interval >= state_.covered.size()) {
    state_.covered.resize(interval + 1);
    state_.figures.resize((interval + 1) * steps);
  }
  state_.covered[interval] += covered;
  for (std::size_t s = 0; s < steps; ++s) {
    StepFigure& figure = state_.figures[interval * steps + s];
    figure.count += part.steps[s].count;
    figure.failed += part.steps[s].failed;
    const metrics::ResponseTimes& times = part.steps[s].response;
    if (!times.empty()) keep_worst(figure.duration, percentiles_of(times));
  }
}

void StepSeries::fold() {
  const std::size_t steps = plan_->steps.size();
  const std::size_t intervals = state_.covered.size();
  state_.length *= 2;
  for (std::size_t from = 1; from < intervals; ++from) {
    const std::size_t to = from / 2;
    if (from % 2 == 0) {
      state_.covered[to] = state_.covered[from];
      for (std::size_t s = 0; s < steps; ++s) state_.figures[to * steps + s] = state_.figures[from * steps + s];
      continue;
    }
    state_.covered[to] += state_.covered[from];
    for (std::size_t s = 0; s < steps; ++s) {
      StepFigure& figure = state_.figures[to * steps + s];
      const StepFigure& later = state_.figures[from * steps + s];
      figure.count += later.count;
      figure.failed += later.failed;
      keep_worst(figure.duration, later.duration);
    }
  }
  state_.covered.resize((intervals + 1) / 2);
  state_.figures.resize((intervals + 1) / 2 * steps);
}

void StepSeries::restore(StepSeriesState state) {
  check(state.length > 0 && state.covered.size() <= kMaxStepIntervals &&
            state.figures.size() == state.covered.size() * plan_->steps.size(),
        "a series of this plan");
  state_ = std::move(state);
}

namespace {

constexpr std::size_t kSeconds = 0;
constexpr std::size_t kTens = 1;
constexpr std::size_t kMinutes = 2;

// `from` belongs to the same interval. `late`: the last value of a gauge was set before.
void absorb(MetricFigure& into, const MetricFigure& from, bool late) {
  if (from.count == 0) return;
  if (into.count == 0) {
    into = from;
    return;
  }
  into.count += from.count;
  into.sum += from.sum;
  into.trues += from.trues;
  if (!late) into.last = from.last;
  into.least = std::min(into.least, from.least);
  into.greatest = std::max(into.greatest, from.greatest);
  into.p50 = std::max(into.p50, from.p50);
  into.p95 = std::max(into.p95, from.p95);
}

MetricTier copy_of(const MetricTier& tier) {
  MetricTier out{tier.begins, tier.figures, metrics::Window(tier.open.shape())};
  out.open.merge(tier.open);
  return out;
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
  counts.left_out += step.left_out;
  counts.repeated += step.repeated;
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

double in_units(Duration value, double scale) {
  return scale == kMillisecond ? value.millis_f() : static_cast<double>(value.ns()) / scale;
}

std::size_t most_of_tier(std::size_t tier) {
  const auto most = metrics::most_of_tiers(metrics::kHotPoints);
  std::size_t seconds = 0;
  for (std::size_t t = 0; t <= tier; ++t) seconds += most[t] * kTierSeconds[t];
  return seconds / kTierSeconds[tier] + 1;
}

metrics::Shape tier_shape(const plan::Plan& plan) { return {0, 0, 0, plan.metrics.size()}; }

MetricSeries::MetricSeries(const plan::Plan& plan) : plan_(&plan), part_(tier_shape(plan)) {
  if (plan.metrics.empty()) return;
  for (std::size_t t = 0; t < kTierSeconds.size(); ++t) tiers_.push_back({{}, {}, metrics::Window(tier_shape(plan))});
}

MetricFigure MetricSeries::figure_of(std::size_t metric, const metrics::MetricWindow& window) const {
  MetricFigure out{.count = window.count,
                   .sum = window.amount(),
                   .trues = window.trues,
                   .last = window.last,
                   .least = window.least,
                   .greatest = window.greatest};
  if (window.trend.empty()) return out;
  const double scale = plan_->metrics[metric].scale();
  out.p50 = in_units(window.trend.percentile(50), scale);
  out.p95 = in_units(window.trend.percentile(95), scale);
  return out;
}

void MetricSeries::add(const metrics::Window& part, const metrics::Retention& retention) {
  if (tiers_.empty()) return;
  forget(retention);
  part_.clear();
  bool any = false;
  for (std::size_t i = 0; i < plan_->series.size(); ++i) {
    if (part.series[i].count == 0) continue;
    part_.series[plan_->series[i].metric].merge(part.series[i]);
    any = true;
  }
  if (!any) return;
  if (part.second < retention.cold_begin()) {
    archive_.resize(plan_->metrics.size());
    for (std::size_t m = 0; m < archive_.size(); ++m) absorb(archive_[m], figure_of(m, part_.series[m]), true);
    return;
  }
  take(kMinutes, part.second);
  if (part.second >= retention.warm_begin()) take(kTens, part.second);
  if (part.second >= retention.hot_begin()) take(kSeconds, part.second);
}

void MetricSeries::take(std::size_t t, uint64_t second) {
  MetricTier& tier = tiers_[t];
  const std::size_t metrics = plan_->metrics.size();
  const uint64_t begin = second / kTierSeconds[t] * kTierSeconds[t];
  if (tier.begins.empty() || begin > tier.begins.back()) {
    tier.open.clear();
    tier.begins.push_back(begin);
    tier.figures.resize(tier.begins.size() * metrics);
  }
  if (begin == tier.begins.back()) {
    MetricFigure* const row = &tier.figures[tier.figures.size() - metrics];
    for (std::size_t m = 0; m < metrics; ++m) {
      if (part_.series[m].count == 0) continue;
      tier.open.series[m].merge(part_.series[m]);
      row[m] = figure_of(m, tier.open.series[m]);
    }
    return;
  }
  const auto at = std::lower_bound(tier.begins.begin(), tier.begins.end(), begin);
  const std::size_t first = static_cast<std::size_t>(at - tier.begins.begin()) * metrics;
  if (*at != begin) {
    tier.begins.insert(at, begin);
    tier.figures.insert(tier.figures.begin() + static_cast<std::ptrdiff_t>(first), metrics, MetricFigure{});
  }
  for (std::size_t m = 0; m < metrics; ++m) absorb(tier.figures[first + m], figure_of(m, part_.series[m]), true);
}

void MetricSeries::forget(const metrics::Retention& retention) {
  const std::array<uint64_t, kTierSeconds.size()> kept_from{retention.hot_begin(), retention.warm_begin(),
                                                            retention.cold_begin()};
  const std::size_t metrics = plan_->metrics.size();
  for (std::size_t t = 0; t < tiers_.size(); ++t) {
    MetricTier& tier = tiers_[t];
    const auto end = std::lower_bound(tier.begins.begin(), tier.begins.end(), kept_from[t]);
    const auto figures = static_cast<std::size_t>(end - tier.begins.begin()) * metrics;
    if (figures == 0) continue;
    if (t == kMinutes) {
      archive_.resize(metrics);
      for (std::size_t i = 0; i < figures; ++i) absorb(archive_[i % metrics], tier.figures[i], false);
    }
    tier.begins.erase(tier.begins.begin(), end);
    tier.figures.erase(tier.figures.begin(), tier.figures.begin() + static_cast<std::ptrdiff_t>(figures));
  }
}

const MetricFigure* MetricSeries::find(uint64_t second, std::size_t metric, const metrics::Retention& retention) const {
  if (tiers_.empty()) return nullptr;
  if (second < retention.cold_begin()) return archive_.empty() ? nullptr : &archive_[metric];
  std::size_t t = kMinutes;
  if (second >= retention.warm_begin()) t = kTens;
  if (second >= retention.hot_begin()) t = kSeconds;
  const MetricTier& tier = tiers_[t];
  const uint64_t begin = second / kTierSeconds[t] * kTierSeconds[t];
  const auto at = std::lower_bound(tier.begins.begin(), tier.begins.end(), begin);
  if (at == tier.begins.end() || *at != begin) return nullptr;
  return &tier.figures[static_cast<std::size_t>(at - tier.begins.begin()) * plan_->metrics.size() + metric];
}

MetricSeriesState MetricSeries::save() const {
  MetricSeriesState state;
  for (const MetricTier& tier : tiers_) state.tiers.push_back(copy_of(tier));
  state.archive = archive_;
  return state;
}

void MetricSeries::restore(MetricSeriesState state) {
  const std::size_t metrics = plan_->metrics.size();
  check(state.tiers.empty() || state.tiers.size() == tiers_.size(), "a tier for each length");
  check(state.archive.empty() || state.archive.size() == metrics, "a figure for each metric");
  for (std::size_t t = 0; t < state.tiers.size(); ++t) {
    MetricTier& tier = state.tiers[t];
    check(tier.open.shape() == tier_shape(*plan_) && tier.figures.size() == tier.begins.size() * metrics &&
              tier.begins.size() <= most_of_tier(t),
          "tiers of this plan");
    tiers_[t] = std::move(tier);
  }
  archive_ = std::move(state.archive);
}

metrics::Shape shape_of(const plan::Plan& plan) {
  return {plan.steps.size(), plan.workflows.size(), plan.checks.size(), plan.series.size(), plan.watches.size()};
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
    : plan_(&plan),
      sum_(aggregate::shape_of(plan)),
      workflow_vus_(plan.workflows.size()),
      metric_series_(plan),
      step_series_(plan) {
  series_.reserve(kMaxSeries + 1);
}

void Totals::add(const metrics::Window& second, Duration covered) {
  add_ran(second);
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
  step_series_.add(second, covered);
}

// Before they are merged, which takes the greater of two times.
void Totals::add_ran(const metrics::Window& second) {
  for (std::size_t w = 0; w < sum_.workflows.size(); ++w) {
    sum_.workflows[w].ran += second.workflows[w].ran;
  }
}

void Totals::amend(const metrics::Window& part) {
  SeriesPoint point = point_of(part, part.covered > Duration::zero() ? part.covered : Duration::seconds(1));
  const auto at = place_of(part.second);
  if (at != series_.end() && retention_.interval_of(at->second) == retention_.interval_of(part.second)) {
    // Of several seconds nobody knows which of them lacks time.
    const Duration before = part.second >= retention_.hot_begin() ? at->covered : point.covered;
    point.covered = std::max(point.covered - before, Duration::zero());
  }
  elapsed_ += point.covered;
  add_ran(part);
  sum_.merge(part);
  for (std::size_t w = 0; w < sum_.workflows.size(); ++w) {
    sum_.workflows[w].vus_active -= part.workflows[w].vus_active;
    sum_.workflows[w].vus_allocated -= part.workflows[w].vus_allocated;
  }
  put(point, true);
  metric_series_.add(part, retention_);
  step_series_.add(part, point.covered);
}

TotalsState Totals::save() const {
  TotalsState state{.sum = metrics::Window(aggregate::shape_of(*plan_)),
                    .elapsed = elapsed_,
                    .all_vus = all_vus_,
                    .workflow_vus = workflow_vus_,
                    .series = series_,
                    .last = last_,
                    .metrics = metric_series_.save(),
                    .steps = step_series_.state()};
  state.sum.merge(sum_);
  state.sum.second = sum_.second;
  return state;
}

Totals Totals::restore(const plan::Plan& plan, TotalsState state) {
  check(state.sum.shape() == shape_of(plan) && state.workflow_vus.size() == plan.workflows.size() &&
            state.series.size() <= kMaxSeries,
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
  totals.step_series_.restore(std::move(state.steps));
  return totals;
}

Duration Totals::elapsed(uint16_t workflow) const {
  const Duration ran = sum_.workflows[workflow].ran;
  return ran > Duration::zero() ? std::min(ran, elapsed_) : elapsed_;
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
    service_.answered.merge(step.service);
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
      series_.begin(), series_.end(), retention_.interval_of(second),
      [this](const SeriesPoint& one, uint64_t first) { return retention_.interval_of(one.second) < first; });
}

void Totals::put(const SeriesPoint& point, bool late) {
  if (retention_.reach(point.second)) {
    std::size_t kept = 0;
    for (std::size_t i = 1; i < series_.size(); ++i) {
      if (retention_.interval_of(series_[i].second) == retention_.interval_of(series_[kept].second)) {
        absorb(series_[kept], series_[i]);
      } else {
        series_[++kept] = series_[i];
      }
    }
    if (!series_.empty()) series_.resize(kept + 1);
  }
  const auto at = place_of(point.second);
  if (at == series_.end() || retention_.interval_of(at->second) != retention_.interval_of(point.second)) {
    series_.insert(at, point);
    return;
  }
  const int64_t vus = at->vus;
  absorb(*at, point);
  if (late) at->vus = vus;
}

std::vector<Failure> failures_of(const Totals& totals) {
  std::array<uint64_t, http1::kErrorKinds> errors{};
  std::map<uint16_t, uint64_t> statuses;
  uint64_t of_some_status = 0;
  for (const metrics::StepWindow& step : totals.sum().steps) {
    uint64_t answered = step.failed;
    for (std::size_t kind = 0; kind < errors.size(); ++kind) {
      errors[kind] += step.errors[kind];
      answered -= std::min(answered, step.errors[kind]);
    }
    uint64_t refusals = 0;
    for (const auto& [status, count] : step.status.entries()) refusals += status >= 400 ? count : 0;
    if (refusals != answered) {
      of_some_status += answered;
      continue;
    }
    for (const auto& [status, count] : step.status.entries()) {
      if (status >= 400) statuses[status] += count;
    }
  }
  std::vector<Failure> out;
  for (std::size_t kind = 0; kind < errors.size(); ++kind) {
    const std::string_view text = describe(static_cast<http1::ErrorKind>(kind));
    // Without its advice, which stands in parentheses.
    if (errors[kind] > 0) out.push_back({std::string(text.substr(0, text.find(" ("))), errors[kind]});
  }
  for (const auto& [status, count] : statuses) out.push_back({fmt::format("status {}", status), count});
  if (of_some_status > 0) out.push_back({"status 4xx or 5xx", of_some_status});
  std::ranges::stable_sort(out, [](const Failure& a, const Failure& b) { return a.count > b.count; });
  return out;
}

}  // namespace bellwether::aggregate
