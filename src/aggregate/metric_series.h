// The scenario's own metrics over time, in the stretches of the run's series (metrics/retention.h): seconds, then ten
// seconds, minutes, and one of all that is older.
//
// The figures of a stretch come from what was recorded in all of it, merged, and so do its percentiles: each length of
// stretch has a window of its own that fills up beside the others, so that nothing has to be kept to merge it later.
// What cannot be merged any more is a part that came when its stretch was over, and what makes one of all minutes older
// than a day. There counts and sums are exact all the same, and percentiles the greatest of the parts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "metrics/retention.h"
#include "metrics/window.h"
#include "plan/plan.h"

namespace bellwether::aggregate {

inline constexpr double kMillisecond = 1e6;
// A value of a histogram of `scale` units to one of a metric's: times exactly as all other figures say them.
double in_units(Duration value, double scale);

// What one metric has seen in a stretch. Which members mean something depends on the metric's kind; none does when
// there are no values.
struct MetricFigure {
  uint64_t count = 0;   // values
  double sum = 0;       // counters
  uint64_t trues = 0;   // rates
  double last = 0;      // gauges
  double least = 0;     // gauges
  double greatest = 0;  // gauges
  double p50 = 0;       // trends, in the metric's unit
  double p95 = 0;       // trends. A second has few values of a metric: a p99 would mostly be the greatest of them
  bool operator==(const MetricFigure&) const = default;
};

// The stretches of one length.
struct MetricTier {
  std::vector<uint64_t> begins;       // the second with which each begins, rising
  std::vector<MetricFigure> figures;  // of each stretch, one for each metric of the plan
  metrics::Window open;               // of the last stretch: a series for each metric of the plan
};

// Seconds, ten seconds, minutes.
inline constexpr std::array<uint64_t, 3> kTierSeconds{1, 10, 60};
// How many stretches of each a tier can have. Those of the longer ones begin beside the shorter ones.
std::size_t most_of_tier(std::size_t tier);
// The windows of tiers of a plan.
metrics::Shape tier_shape(const plan::Plan& plan);

struct MetricSeriesState {
  std::vector<MetricTier> tiers = {};      // one for each of kTierSeconds; none: nothing was kept
  std::vector<MetricFigure> archive = {};  // one for each metric of the plan; none: nothing is that old
};

class MetricSeries {
 public:
  // `plan` must outlive it.
  explicit MetricSeries(const plan::Plan& plan);

  // What was measured in a second, or another part of that. `retention` has reached it, and never goes back.
  void add(const metrics::Window& part, const metrics::Retention& retention);
  // What is kept of the stretch in which a second is: null when nothing was recorded in it, of any metric.
  const MetricFigure* find(uint64_t second, std::size_t metric, const metrics::Retention& retention) const;

  MetricSeriesState save() const;
  // REQUIRES a state of the plan's shape, within most_of_tier().
  void restore(MetricSeriesState state);

 private:
  MetricFigure figure_of(std::size_t metric, const metrics::MetricWindow& window) const;
  void take(std::size_t tier, uint64_t second);
  void forget(const metrics::Retention& retention);

  const plan::Plan* plan_;
  metrics::Window part_;  // what is being added, by metric
  std::vector<MetricTier> tiers_;
  std::vector<MetricFigure> archive_;
};

}  // namespace bellwether::aggregate
