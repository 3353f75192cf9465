#include "node/worker/plan_facts.h"

#include "dispatch/codec/bundle_codec.h"
#include "plan/bundle.h"

namespace bellwether::node {

Result<PlanFacts> facts_of(std::string_view bytes) {
  BW_TRY(const auto bundle, dispatch::decode_bundle(bytes));
  const auto plan = plan::plan_of(bundle);
  if (!plan) return tl::unexpected(plan.error());
  PlanFacts facts;
  facts.shape = {plan->steps.size(), plan->workflows.size(), plan->checks.size(), plan->series.size()};
  for (const plan::Workflow& workflow : plan->workflows) facts.graceful_stops.push_back(workflow.graceful_stop);
  return facts;
}

}  // namespace bellwether::node
