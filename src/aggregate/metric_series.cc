#include "aggregate/metric_series.h"

#include <algorithm>

#include "base/check.h"

namespace bellwether::aggregate {
namespace {

constexpr std::size_t kSeconds = 0;
constexpr std::size_t kTens = 1;
constexpr std::size_t kMinutes = 2;

// `from` belongs to the same stretch. `late`: the last value of a gauge was set before.
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

}  // namespace bellwether::aggregate
