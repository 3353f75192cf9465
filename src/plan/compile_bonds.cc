#include "plan/compile_bonds.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "plan/context.h"
#include "scenario/names.h"

namespace bellwether::plan {
namespace {

using scenario::in_quotes;

static_assert(scenario::kProvidesMax == kMostProvided && scenario::kListsMax == kMostLists);

Priority priority_of(scenario::Priority priority) {
  switch (priority) {
    case scenario::Priority::kAuto: return Priority::kAuto;
    case scenario::Priority::kLow: return Priority::kLow;
    case scenario::Priority::kNormal: return Priority::kNormal;
    case scenario::Priority::kHigh: return Priority::kHigh;
    case scenario::Priority::kExclusive: return Priority::kExclusive;
  }
  return Priority::kAuto;
}

// Where a value is provided for whom.
const scenario::Provide* find(const scenario::Workflow& maker, std::string_view to, std::string_view name) {
  const auto at = std::find_if(maker.provides.begin(), maker.provides.end(), [&](const scenario::Provide& one) {
    return one.to.text == to && one.name.text == name;
  });
  return at == maker.provides.end() ? nullptr : &*at;
}
bool takes(const scenario::Workflow& user, std::string_view from, std::string_view name) {
  return std::any_of(user.uses.begin(), user.uses.end(),
                     [&](const scenario::Use& one) { return one.from.text == from && one.name.text == name; });
}

class Bonds {
 public:
  Bonds(const scenario::Scenario& source, const Dag& order, scenario::Reading& reading, Plan& plan)
      : source_(source), order_(order), reading_(reading), plan_(plan) {}

  void provides(std::size_t w) {
    const scenario::Workflow& workflow = source_.workflows[w];
    for (const scenario::Provide& one : workflow.provides) {
      Provide& made = plan_.workflows[w].provides.emplace_back();
      made.name = one.name.text;
      made.collect_all = one.collect_all;
      if (one.collect_all && ++lists_ == scenario::kListsMax + 1) {
        reading_.diagnostics.add(one.name.mark,
                                 {.message = "the scenario has more than " + std::to_string(scenario::kListsMax) +
                                             " values with 'collect: all'"});
      }
      if (find(workflow, one.to.text, one.name.text) != &one) {
        reading_.diagnostics.add(one.name.mark, {.message = in_quotes(one.name.text) + " is provided for " +
                                                            in_quotes(one.to.text) + " twice"});
      }
      const auto to = find_workflow(one.to, w, "provides a value for");
      if (!to) continue;
      made.to = *to;
      const scenario::Workflow& user = source_.workflows[*to];
      if (!user.is_sound || takes(user, workflow.name.text, one.name.text)) continue;
      reading_.diagnostics.add(one.name.mark, {.message = "workflow " + in_quotes(user.name.text) + " does not use " +
                                                          in_quotes(one.name.text) + ", which " +
                                                          in_quotes(workflow.name.text) + " provides for it",
                                               .hint = "add to workflow " + in_quotes(user.name.text) + ": use: {" +
                                                       workflow.name.text + ": [" + one.name.text + "]}"});
    }
  }

  void uses(std::size_t w) {
    const scenario::Workflow& workflow = source_.workflows[w];
    for (const scenario::Use& one : workflow.uses) {
      check_name(workflow, one);
      Use& made = plan_.workflows[w].uses.emplace_back();
      made.name = one.name.text;
      made.fallback = one.fallback;
      made.is_list = true;  // of a maker that is wrong itself nobody knows, and nothing more is told
      const auto from = find_workflow(one.from, w, "uses a value of");
      if (!from) continue;
      made.from = *from;
      const scenario::Workflow& maker = source_.workflows[*from];
      if (!order_.before(*from, w)) {
        reading_.diagnostics.add(
            one.from.mark,
            {.message = "workflow " + in_quotes(workflow.name.text) + " uses a value of " + in_quotes(maker.name.text) +
                        ", which need not have ended when it begins",
             .hint = "add to workflow " + in_quotes(workflow.name.text) + ": depends: [" + maker.name.text + "]"});
      }
      const scenario::Provide* provided = find(maker, workflow.name.text, one.name.text);
      if (provided != nullptr) {
        made.provide = static_cast<uint16_t>(provided - maker.provides.data());
        made.is_list = provided->collect_all || !maker.is_sound;
      } else if (maker.is_sound) {
        reading_.diagnostics.add(one.name.mark,
                                 {.message = "workflow " + in_quotes(maker.name.text) + " does not provide " +
                                             in_quotes(one.name.text) + " for " + in_quotes(workflow.name.text),
                                  .hint = "add to workflow " + in_quotes(maker.name.text) + ": provide: {" +
                                          workflow.name.text + ": {" + one.name.text + ": …}}"});
      }
    }
  }

 private:
  std::optional<uint16_t> find_workflow(const scenario::Text& name, std::size_t self, std::string_view what) {
    std::vector<std::string_view> others;
    for (std::size_t i = 0; i < source_.workflows.size(); ++i) {
      if (i == self) continue;
      if (source_.workflows[i].name.text == name.text) return static_cast<uint16_t>(i);
      others.push_back(source_.workflows[i].name.text);
    }
    reading_.diagnostics.add(
        name.mark, {.message = "workflow " + in_quotes(source_.workflows[self].name.text) + " " + std::string(what) +
                               " " + in_quotes(name.text) + ", which is no other workflow of this scenario",
                    .found = in_quotes(name.text),
                    .expected = scenario::one_of(others),
                    .hint = scenario::did_you_mean(name.text, others)});
    return std::nullopt;
  }

  void check_name(const scenario::Workflow& workflow, const scenario::Use& use) {
    if (!scenario::is_value_name(use.name.text) ||
        std::find(scenario::kBuiltinNames.begin(), scenario::kBuiltinNames.end(), use.name.text) !=
            scenario::kBuiltinNames.end()) {
      reading_.diagnostics.add(
          use.name.mark, {.message = in_quotes(use.name.text) + " cannot be the name of a value",
                          .expected = "letters, digits and _, and none of " + scenario::join(scenario::kBuiltinNames)});
    } else if (reading_.environment.declares(use.name.text)) {
      reading_.diagnostics.add(use.name.mark,
                               {.message = in_quotes(use.name.text) + " is already the name of a value in 'env'",
                                .hint = "choose another name"});
    }
    const auto first = std::find_if(workflow.uses.begin(), workflow.uses.end(),
                                    [&](const scenario::Use& other) { return other.name.text == use.name.text; });
    if (&*first == &use) return;
    reading_.diagnostics.add(
        use.name.mark, {.message = in_quotes(use.name.text) + " is already used from " + in_quotes(first->from.text),
                        .hint = "give one of the two another name"});
  }

  const scenario::Scenario& source_;
  const Dag& order_;
  scenario::Reading& reading_;
  Plan& plan_;
  std::size_t lists_ = 0;
};

}  // namespace

void compile_bonds(const scenario::Scenario& source, const Dag& order, scenario::Reading& reading, Plan& plan) {
  Bonds bonds(source, order, reading, plan);
  for (std::size_t w = 0; w < source.workflows.size(); ++w) {
    plan.workflows[w].depends = order.after(w);
    plan.workflows[w].priority = priority_of(source.workflows[w].priority);
    bonds.provides(w);
    bonds.uses(w);
  }
}

}  // namespace bellwether::plan
