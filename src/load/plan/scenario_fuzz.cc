// Loads arbitrary bytes as a scenario. The result is a plan, or at least one diagnostic.
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "load/plan/load_testing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using bellwether::check;
  bellwether::plan::TestSources sources(std::string(reinterpret_cast<const char*>(data), size));
  sources.world.files["body.json"] = "{\"vu\": ${vu}}";
  sources.world.files["users.csv"] = "name,pass\nann,1\nbob,2\n";
  sources.world.files["people.json"] = "[{\"name\": \"ann\", \"address\": {\"city\": \"Bonn\"}}]";
  sources.world.files["more/common.yaml"] =
      "env: {HOST: http://h}\ninclude: more.yaml\ndata: {d: {csv: ../users.csv}}\n";
  sources.world.files["more/more.yaml"] = "workflows: {m: {steps: {s: {action: {set: {x: y}}}}}}\n";
  sources.world.variables["BASE"] = "http://host";
  const auto plan = sources.load();
  if (!plan) {
    check(!plan.error().empty(), "a scenario is refused for a reason");
    for (const auto& diagnostic : plan.error()) check(!bellwether::scenario::format(diagnostic).empty());
    return 0;
  }
  check(!plan->workflows.empty(), "a plan does something");
  for (const bellwether::plan::Workflow& workflow : plan->workflows) {
    std::size_t ordered = workflow.order.steps.size();
    for (const bellwether::plan::Step& step : workflow.steps) {
      const auto* block = std::get_if<bellwether::plan::Block>(&step.work);
      if (block != nullptr) ordered += block->order.steps.size();
    }
    check(ordered == workflow.steps.size(), "every step is in one order");
    check(workflow.slot_names.size() == workflow.slot_count);
  }
  return 0;
}
