#include "dispatch/job_spec.h"

#include <algorithm>

namespace bellwether::dispatch {
namespace {

struct LoadOf {
  WorkflowSpec& spec;
  void operator()(const plan::ConstantVus& executor) const {
    spec.vus = executor.vus;
    spec.length += executor.duration;
  }
  void operator()(const plan::ConstantArrivalRate& executor) const {
    spec.vus = executor.vus_max;
    spec.length += executor.duration;
  }
  void operator()(const plan::Once&) const {
    spec.vus = 1;
    spec.length = Duration::zero();
  }
};

}  // namespace

JobSpec spec_of(const plan::Plan& plan) {
  JobSpec spec;
  for (std::size_t i = 0; i < plan.workflows.size(); ++i) {
    const plan::Workflow& workflow = plan.workflows[i];
    WorkflowSpec& one = spec.emplace_back();
    one.name = workflow.name;
    one.is_test = std::any_of(plan.steps.begin(), plan.steps.end(),
                              [i](const plan::StepInfo& step) { return step.workflow == i && step.measured; });
    one.priority = workflow.priority;
    one.depends = workflow.depends;
    for (const plan::Use& use : workflow.uses) one.uses.push_back({use.from, use.provide, use.name, !use.fallback});
    for (const plan::Provide& provide : workflow.provides) {
      if (provide.collect_all) one.lists.push_back(static_cast<uint16_t>(one.provides.size()));
      one.provides.push_back(provide.name);
    }
    one.length = workflow.start_time;
    one.graceful_stop = workflow.graceful_stop;
    one.on_overtime = workflow.on_overtime;
    std::visit(LoadOf{one}, workflow.executor);
    const auto* open = std::get_if<plan::ConstantArrivalRate>(&workflow.executor);
    one.rebalance = open != nullptr && open->rebalance;
  }
  return spec;
}

}  // namespace bellwether::dispatch
