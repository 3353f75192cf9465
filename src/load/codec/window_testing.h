// Windows for tests: small, random, and comparable.
#pragma once

#include "core/base/prng.h"
#include "load/codec/window_codec.h"

namespace bellwether::ingest {

inline constexpr Shape kShape{2, 1, 1};

inline metrics::Window empty_window() { return metrics::Window(kShape); }

// A second with some requests in it.
inline metrics::Window random_window(Prng& prng, uint64_t second = 0) {
  metrics::Window window = empty_window();
  window.second = second;
  for (metrics::StepWindow& step : window.steps) {
    const auto requests = static_cast<int>(prng.below(20));
    for (int i = 0; i < requests; ++i) {
      const Duration took = prng.between(Duration::nanos(1), Duration::micros(int64_t{1} << prng.below(22)));
      ++step.count;
      step.bytes_sent += 100;
      if (prng.chance(0.1)) ++step.left_out;
      if (prng.chance(0.1)) ++step.repeated;
      step.bytes_received += prng.below(1000);
      if (prng.chance(0.1)) {
        ++step.failed;
        ++step.errors[prng.below(http1::kErrorKinds)];
        (prng.chance(0.5) ? step.response.unanswered : step.response.unfinished).record(took);
        continue;
      }
      step.status.add(prng.chance(0.9) ? 200 : 503, 1);
      step.service.record(took);
      step.response.answered.record(took + Duration::nanos(static_cast<int64_t>(prng.below(1000))));
      step.phases[prng.below(metrics::kPhases)].record(took / 2);
    }
  }
  for (metrics::WorkflowWindow& workflow : window.workflows) {
    workflow.iterations = prng.below(10);
    workflow.vus_active = static_cast<int64_t>(prng.below(5));
    workflow.begun = prng.below(20);
    workflow.taken = prng.below(1'000);
    workflow.pace = prng.below(30);
    if (workflow.iterations > 0) workflow.iteration.record(Duration::millis(3), workflow.iterations);
  }
  for (metrics::CheckCount& one : window.checks) one = {prng.below(9), prng.below(3)};
  window.cpu = Duration::millis(5);
  window.covered = Duration::seconds(1);
  return window;
}

}  // namespace bellwether::ingest
