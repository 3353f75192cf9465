// The steps of a run over time, coarser than the series of the whole run: at most kMaxStepIntervals intervals of equal
// length. When the run outgrows them, their length doubles. Counts are sums, and percentiles those of the worst second,
// so the order of additions does not matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/time.h"
#include "load/metrics/window.h"
#include "load/plan/plan.h"

namespace bellwether::aggregate {

struct Percentiles {
  Duration p50;
  Duration p95;
  Duration p99;
  bool operator==(const Percentiles&) const = default;
};
// Of requests without a response the lower bounds.
Percentiles percentiles_of(const metrics::ResponseTimes& times);
// The greater of each.
void keep_worst(Percentiles& worst, const Percentiles& other);

struct StepFigure {
  uint64_t count = 0;
  uint64_t failed = 0;
  Percentiles duration;  // http_req_duration; zero without a measurement
  bool operator==(const StepFigure&) const = default;
};

inline constexpr std::size_t kMaxStepIntervals = 120;

struct StepSeriesState {
  uint64_t length = 1;                   // seconds of a interval: a power of two
  std::vector<Duration> covered = {};    // measured time in each, from the begin of the run
  std::vector<StepFigure> figures = {};  // of each interval, one for each step of the plan
};

class StepSeries {
 public:
  // `plan` must outlive it.
  explicit StepSeries(const plan::Plan& plan) : plan_(&plan) {}

  // Adds a second, or another part of one; `covered` is the time that it adds to those measured.
  void add(const metrics::Window& part, Duration covered);

  const StepSeriesState& state() const { return state_; }
  // REQUIRES a state of the plan's shape, within kMaxStepIntervals.
  void restore(StepSeriesState state);

 private:
  void fold();

  const plan::Plan* plan_;
  StepSeriesState state_;
};

}  // namespace bellwether::aggregate
