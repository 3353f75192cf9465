#include "load/plan/stages.h"

#include <algorithm>

#include "core/base/check.h"

namespace bellwether::plan {
namespace {

void add_layer(std::vector<Stage>& stages, const Plan& plan, const std::vector<uint16_t>& layer, uint32_t cores) {
  const bool ranked = std::any_of(layer.begin(), layer.end(),
                                  [&](uint16_t w) { return plan.workflows[w].priority != Priority::kAuto; });
  if (!ranked) {
    Stage& stage = stages.emplace_back();
    for (const uint16_t w : layer) stage.grants.push_back({w, cores});
    return;
  }
  std::vector<CoreDemand> demands;
  for (const uint16_t w : layer) {
    const Workflow& workflow = plan.workflows[w];
    demands.push_back({w, workflow.priority, is_test(plan, w), facts_of(workflow.executor).vus_most});
  }
  for (std::vector<CoreGrant>& batch : core_batches(demands, cores)) stages.push_back({std::move(batch), true});
}

}  // namespace

std::vector<Stage> stages_of(const Plan& plan, uint32_t cores) {
  check(cores > 0, "a machine has cores");
  std::vector<Stage> stages;
  std::vector<bool> placed(plan.workflows.size(), false);
  for (std::size_t left = placed.size(); left > 0;) {
    std::vector<uint16_t> layer;
    for (std::size_t w = 0; w < placed.size(); ++w) {
      const std::vector<uint16_t>& needs = plan.workflows[w].depends;
      const bool met = std::all_of(needs.begin(), needs.end(), [&](uint16_t need) { return placed[need]; });
      if (!placed[w] && met) layer.push_back(static_cast<uint16_t>(w));
    }
    check(!layer.empty(), "workflows of a plan do not wait for each other");
    for (const uint16_t w : layer) placed[w] = true;
    left -= layer.size();
    add_layer(stages, plan, layer, cores);
  }
  return stages;
}

uint32_t cores_used(const Plan& plan, uint32_t cores) {
  uint32_t most = 1;
  for (const Stage& stage : stages_of(plan, cores)) {
    if (!stage.apart) return cores;
    uint32_t sum = 0;
    for (const CoreGrant& grant : stage.grants) sum += grant.cores;
    most = std::max(most, sum);
  }
  return most;
}

Duration planned_length(const Plan& plan, std::optional<uint32_t> cores) {
  std::vector<Duration> ends(plan.workflows.size());
  Duration last;
  // Each stage comes after all that its workflows wait for.
  for (const Stage& stage : stages_of(plan, cores.value_or(1))) {
    const Duration before = last;
    for (const CoreGrant& grant : stage.grants) {
      const Workflow& workflow = plan.workflows[grant.workflow];
      const ExecutorFacts facts = facts_of(workflow.executor);
      if (facts.endless) return Duration::zero();
      Duration begin = cores ? before : Duration::zero();
      for (const uint16_t need : workflow.depends) begin = std::max(begin, ends[need]);
      ends[grant.workflow] = begin + workflow.start_time + facts.length;
      last = std::max(last, ends[grant.workflow]);
    }
  }
  return last;
}

bool is_test(const Plan& plan, uint16_t workflow) {
  return std::any_of(plan.steps.begin(), plan.steps.end(),
                     [workflow](const StepInfo& step) { return step.workflow == workflow && step.measured; });
}

}  // namespace bellwether::plan
