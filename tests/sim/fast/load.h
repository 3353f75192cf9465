// A load made by the real engine, or by several that share its users, as a simulated process.
#pragma once

#include "core/runtime/runtime.h"
#include "load/metrics/window.h"
#include "load/plan/load.h"

namespace bellwether::sim {

// One load of one step, and what was counted.
struct Load {
  explicit Load(const plan::QuickRun& run);

  plan::Plan plan;
  uint32_t parts = 1;
  metrics::Window total;
  bool over = false;

  const metrics::StepWindow& step() const { return total.steps[0]; }
  const metrics::WorkflowWindow& workflow() const { return total.workflows[0]; }
};

// `context`: a Load.
runtime::task<void> generate_load(runtime::Runtime& runtime, void* context);

}  // namespace bellwether::sim
