#include "load/plan/sequence.h"

#include "core/base/check.h"

namespace bellwether::plan {
namespace {

auto place(std::vector<Values::Value>& values, uint16_t workflow, uint16_t provide) {
  return std::ranges::find_if(
      values, [&](const Values::Value& one) { return one.workflow == workflow && one.value.provide == provide; });
}

void add_layer(std::vector<Stage>& stages, const Plan& plan, const std::vector<uint16_t>& layer, uint32_t cores) {
  const bool ranked =
      std::ranges::any_of(layer, [&](uint16_t w) { return plan.workflows[w].priority != Priority::kAuto; });
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

Links links_of(const Workflow& workflow) {
  Links links;
  links.name = workflow.name;
  links.depends = workflow.depends;
  links.is_teardown = workflow.is_teardown;
  for (const Use& use : workflow.uses) links.uses.push_back({use.from, use.provide, use.name, !use.fallback});
  for (const Provide& provide : workflow.provides) {
    if (provide.collect_all) links.lists.push_back(static_cast<uint16_t>(links.provides.size()));
    links.provides.push_back(provide.name);
  }
  return links;
}

Result<uint16_t> find_told(const std::vector<Told>& all, const std::string& name, uint32_t vus) {
  if (all.empty()) {
    return fail(Errc::kNotFound, "no workflow is controlled from outside (executor: externally-controlled)");
  }
  std::string names;
  const Told* found = all.size() == 1 && name.empty() ? all.data() : nullptr;
  for (const Told& one : all) {
    if (one.name == name) found = &one;
    names += (names.empty() ? "" : ", ") + one.name;
  }
  if (found == nullptr && name.empty()) {
    return fail(Errc::kInvalid, "several workflows are controlled from outside; name one: " + names);
  }
  if (found == nullptr) {
    return fail(Errc::kNotFound, "no workflow '{}' is controlled from outside; there is: {}", name, names);
  }
  if (vus > found->vus_most) {
    return fail(Errc::kInvalid, "workflow '{}' may have at most {} virtual users ('max_vus'), not {}", found->name,
                found->vus_most, vus);
  }
  return found->workflow;
}

bool Values::merge(uint16_t workflow, uint32_t by, const Provided& value) {
  if (value.listed) {
    const bool changed = lists[{workflow, value.provide}].add(value, by);
    if (changed) ++version;
    return changed;
  }
  const auto known = place(values, workflow, value.provide);
  if (known == values.end()) {
    values.push_back({workflow, by, value});
  } else if (wins(value, known->value) || (!wins(known->value, value) && by > known->by)) {
    known->by = by;
    known->value = value;
  } else {
    return false;
  }
  ++version;
  return true;
}

const std::string* Values::find(uint16_t workflow, uint16_t provide) const {
  const auto known = place(const_cast<Values*>(this)->values, workflow, provide);
  return known == values.end() ? nullptr : &known->value.text;
}

const Collection* Values::find_list(uint16_t workflow, uint16_t provide) const {
  const auto known = lists.find({workflow, provide});
  return known == lists.end() ? nullptr : &known->second;
}

std::vector<Given> Values::given_to(const Links& links) const {
  std::vector<Given> given;
  for (uint16_t use = 0; use < links.uses.size(); ++use) {
    const auto& [from, provide, name, required] = links.uses[use];
    if (const Collection* const list = find_list(from, provide)) {
      if (auto one = list->given(use)) given.push_back(std::move(*one));
    } else if (const std::string* const text = find(from, provide)) {
      given.push_back({use, *text});
    }
  }
  return given;
}

Remark remark_on_too_large(const Links& links, uint16_t provide) {
  return {"value_too_large", fmt::format("'{}' of workflow '{}' is longer than {} KiB, and is left out",
                                         links.provides[provide], links.name, kMaxContextText >> 10)};
}

std::vector<Stage> stages_of(const Plan& plan, uint32_t cores) {
  check(cores > 0, "a machine has cores");
  std::vector<Stage> stages;
  std::vector<bool> placed(plan.workflows.size(), false);
  for (std::size_t left = placed.size(); left > 0;) {
    std::vector<uint16_t> layer;
    for (std::size_t w = 0; w < placed.size(); ++w) {
      const std::vector<uint16_t>& needs = plan.workflows[w].depends;
      const bool met = std::ranges::all_of(needs, [&](uint16_t need) { return placed[need]; });
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
  return std::ranges::any_of(plan.steps,
                             [workflow](const StepInfo& step) { return step.workflow == workflow && step.measured; });
}

}  // namespace bellwether::plan
