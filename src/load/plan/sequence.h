// The sequence of workflows: which may begin, which are left out, and their values for each other. A run on one machine
// and the coordinator of a job both follow it. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "load/plan/context.h"
#include "load/plan/plan.h"
#include "load/plan/provision.h"

namespace bellwether::plan {

// The dependencies of a workflow, and the values that it provides and uses.
struct Links {
  std::string name;
  std::vector<uint16_t> depends;  // workflows that must have completed before it begins
  struct Use {
    uint16_t from = 0;     // workflow
    uint16_t provide = 0;  // of its values
    std::string name;
    bool required = true;  // no fallback
  };
  std::vector<Use> uses;              // in the order of the plan
  std::vector<std::string> provides;  // names of the values for others
  std::vector<uint16_t> lists;        // which of them are lists of all users' values
  bool is_teardown = false;           // it also follows failed and stopped workflows
};
Links links_of(const Workflow& workflow);

// A workflow whose number of users a command sets during the run.
struct Told {
  uint16_t workflow = 0;
  std::string name;
  uint32_t vus_most = 1;
};
// The workflow that a command means by a name, for `vus` users; no name: the only one. kNotFound: none, kInvalid:
// several are possible, or these are too many.
Result<uint16_t> find_told(const std::vector<Told>& all, const std::string& name, uint32_t vus);

// The state of a workflow for those that wait for it. kEnded: in any other way than by completing.
enum class WorkflowProgress : uint8_t { kOpen, kCompleted, kEnded };

// Whether all that it waits for is there. A teardown follows workflows that ended in any way. `progress`: of a
// workflow.
template <class ProgressOf>
bool may_begin(const Links& links, ProgressOf progress) {
  return std::ranges::all_of(links.depends, [&](uint16_t need) {
    return progress(need) == WorkflowProgress::kCompleted ||
           (links.is_teardown && progress(need) == WorkflowProgress::kEnded);
  });
}

// The first workflow that it waits for in vain; the reason to leave it out. Never of a teardown.
template <class ProgressOf>
std::optional<uint16_t> waits_in_vain_for(const Links& links, ProgressOf progress) {
  if (links.is_teardown) return std::nullopt;
  const auto in_vain = [&](uint16_t need) { return progress(need) == WorkflowProgress::kEnded; };
  const auto found = std::ranges::find_if(links.depends, in_vain);
  return found == links.depends.end() ? std::nullopt : std::optional(*found);
}

// A message to people: a stable word for its kind, and a text.
struct Remark {
  std::string kind;
  std::string text;
  bool operator==(const Remark&) const = default;
};

// The values that the workflows of a run have provided, merged in any order, with the same result.
struct Values {
  struct Value {
    uint16_t workflow = 0;  // that made it
    uint32_t by = 0;        // its sender: of one user and moment, the higher one's stays
    Provided value;
    bool operator==(const Value&) const = default;
  };
  uint64_t version = 0;                                       // grows with each change
  std::vector<Value> values;                                  // one of each workflow and provide but lists
  std::map<std::pair<uint16_t, uint16_t>, Collection> lists;  // by workflow and provide

  // wins() decides which of two values stays; of two of one virtual user and moment that of the higher `by` stays. In a
  // list this holds for each user. True: it has changed.
  bool merge(uint16_t workflow, uint32_t by, const Provided& value);
  // Null: no value.
  const std::string* find(uint16_t workflow, uint16_t provide) const;
  const Collection* find_list(uint16_t workflow, uint16_t provide) const;
  // The values that a workflow uses, as far as they exist.
  std::vector<Given> given_to(const Links& links) const;
  bool operator==(const Values&) const = default;
};

// The remarks at the begin of workflow `w`: lists that were cut, and values that it lacks. `all`: a list of Links.
template <class All>
std::vector<Remark> remarks_on_values(const Values& values, const All& all, uint16_t w) {
  std::vector<Remark> out;
  for (const Links::Use& use : all[w].uses) {
    const std::string& maker = all[use.from].name;
    const Collection* const list = values.find_list(use.from, use.provide);
    if (list != nullptr && list->cut()) out.push_back({"list_cut", cut_text(use.name, maker, *list)});
    const bool there = list != nullptr ? !list->items().empty() : values.find(use.from, use.provide) != nullptr;
    if (use.required && !there) {
      out.push_back(
          {"value_missing", "workflow '" + maker + "' provided no '" + use.name + "' for '" + all[w].name + "'"});
    }
  }
  return out;
}
// Why workflow `w` must not begin: a value that it uses is missing, and has no default. A teardown begins without.
template <class All>
std::optional<std::string> lack_of(const Values& values, const All& all, uint16_t w) {
  if (all[w].is_teardown) return std::nullopt;
  for (Remark& remark : remarks_on_values(values, all, w)) {
    if (remark.kind == "value_missing") return std::move(remark.text) + ", and 'use' has no default";
  }
  return std::nullopt;
}

// Of a value that `links` was to provide.
Remark remark_on_too_large(const Links& links, uint16_t provide);

// The workflows of a plan that run side by side on one machine, and their cores.

// Begins when the stage before it has ended.
struct Stage {
  std::vector<CoreGrant> grants;
  bool apart = false;  // each has separate cores, and they suffice; else all share the same ones
};

// Workflows follow their dependencies. Those that wait for nothing more run together on all cores, unless one of them
// has a priority. Then each gets separate cores, as on a cluster (core_batches), and a workflow without cores waits for
// those that have them. REQUIRES at least one core, and a plan whose workflows do not wait for each other.
std::vector<Stage> stages_of(const Plan& plan, uint32_t cores);

// The most of these cores that make load at the same time. REQUIRES the same as stages_of().
uint32_t cores_used(const Plan& plan, uint32_t cores);

// The length of the run by its plan, without a graceful stop: on these cores of one machine, or, if unknown, that of
// the longest chain of workflows that wait for each other. Zero: it ends only by a stop, or has no workflows. REQUIRES
// the same as stages_of().
Duration planned_length(const Plan& plan, std::optional<uint32_t> cores);

// Whether it has a step that is measured.
bool is_test(const Plan& plan, uint16_t workflow);

}  // namespace bellwether::plan
