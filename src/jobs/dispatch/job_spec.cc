#include "jobs/dispatch/job_spec.h"

#include "load/plan/stages.h"

namespace bellwether::dispatch {

JobSpec spec_of(const plan::Plan& plan) {
  JobSpec spec;
  for (std::size_t i = 0; i < plan.workflows.size(); ++i) {
    const plan::Workflow& workflow = plan.workflows[i];
    WorkflowSpec& one = spec.emplace_back();
    static_cast<plan::Links&>(one) = plan::links_of(workflow);
    one.is_test = plan::is_test(plan, static_cast<uint16_t>(i));
    one.priority = workflow.priority;
    one.length = workflow.start_time;
    one.graceful_stop = workflow.graceful_stop;
    one.on_overtime = workflow.on_overtime;
    one.timeout = workflow.timeout;
    const plan::ExecutorFacts facts = plan::facts_of(workflow.executor);
    one.vus = facts.vus_most;
    one.length = std::holds_alternative<plan::Once>(workflow.executor) ? Duration() : one.length + facts.length;
    const auto* open = std::get_if<plan::ArrivalRate>(&workflow.executor);
    if (const auto* counted = std::get_if<plan::Iterations>(&workflow.executor)) one.counted = *counted;
    if (const auto* told = std::get_if<plan::ExternallyControlled>(&workflow.executor)) one.told_vus = told->vus;
    one.endless = facts.endless;
    one.rebalance = open != nullptr && open->users.rebalance;
  }
  return spec;
}

}  // namespace bellwether::dispatch
