// The order of the steps of one workflow, or of the workflows of a scenario, from their `after` and `depends`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "load/scenario/document.h"
#include "load/scenario/model.h"
#include "load/scenario/section.h"

namespace bellwether::plan {

class Dag {
 public:
  // Reports names in `after` that are no step of the workflow, and one cycle, with its steps in order. After a cycle
  // the object is usable, but each step counts as before each other one.
  static Dag of_steps(const scenario::Workflow& workflow, scenario::Reading& reading);
  // The same for workflows and their `depends`.
  static Dag of_workflows(const std::vector<scenario::Workflow>& workflows, scenario::Reading& reading);

  // The steps with this holder (none: those of the workflow itself), each after those that it comes after.
  std::vector<uint16_t> held_by(std::optional<uint16_t> holder) const;
  // The steps that `step` directly comes after.
  const std::vector<uint16_t>& after(std::size_t step) const { return after_[step]; }
  // Whether step `first` has always ended when step `second` begins. True after an unknown name in `after` of the
  // second: that may be the first, misspelt.
  bool before(std::size_t first, std::size_t second) const;
  // What `step` comes after is known: no unknown name in `after`, and no cycle, makes before() true for it.
  bool is_clear(std::size_t step) const;
  // The steps with the same holder that are or hold these two. The same one: one of the two holds the other.
  std::pair<uint16_t, uint16_t> apart(std::size_t first, std::size_t second) const;

 private:
  struct Node {
    const scenario::Text& name;
    const std::vector<scenario::Text>& after;
    std::optional<uint16_t> holder = std::nullopt;
  };
  // Their names in messages.
  struct Words {
    std::string one;       // "step "
    std::string prefix;    // of a name: "browse."
    std::string relation;  // " comes after "
    std::string unknown;   // ", which is no step of this workflow"
    std::string all;       // "the steps of workflow 'browse'"
    std::string key;       // "after"
  };
  Dag(const std::vector<Node>& nodes, const Words& words, scenario::Reading& reading);
  void connect(const std::vector<Node>& nodes, const Words& words, const scenario::Reading& reading);
  bool arrange();
  void report_cycle(const std::vector<Node>& nodes, const Words& words, scenario::Diagnostics& diagnostics);

  std::vector<std::vector<uint16_t>> after_;  // by step: the steps it directly comes after
  std::vector<std::vector<bool>> before_;     // by step: whether it comes after the other, directly or not
  std::vector<std::optional<uint16_t>> holders_;
  std::vector<uint16_t> order_;
  std::vector<bool> arranged_;
  std::vector<bool> unclear_;  // by step: it, or one before it, comes after a step that does not exist
  bool has_cycle_ = false;
};

}  // namespace bellwether::plan
