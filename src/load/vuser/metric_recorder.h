// Where the scenario's own metrics are counted, on one load thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/runtime/runtime.h"
#include "load/metrics/window.h"
#include "load/plan/plan.h"
#include "load/vuser/render.h"

namespace bellwether::vuser {

class MetricRecorder {
 public:
  // All must outlive it. `window`: the one that is being filled; `start`: of the run.
  MetricRecorder(const plan::Plan& plan, const runtime::Runtime& runtime, metrics::Window* const& window,
                 const Instant& start)
      : plan_(plan), runtime_(runtime), window_(window), start_(start) {}

  // What is no value of the metric is counted as refused. `series`: an index into Plan::series.
  void record(uint16_t series, double value);
  // The values that a step says. What mentions something that is missing is refused, too.
  void record(const std::vector<plan::Recording>& values, const RenderContext& context);

 private:
  const plan::Plan& plan_;
  const runtime::Runtime& runtime_;
  metrics::Window* const& window_;
  const Instant& start_;
  std::string text_;  // of the value in the making
};

}  // namespace bellwether::vuser
