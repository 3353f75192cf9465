#include "load/aggregate/step_series.h"

#include <algorithm>
#include <array>

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

}  // namespace bellwether::aggregate
