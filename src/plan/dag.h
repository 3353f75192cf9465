// The order of the steps of one workflow, from what each of them comes after.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scenario/document.h"
#include "scenario/model.h"

namespace bellwether::plan {

class Dag {
 public:
  // Reports names in `after` that are no step of the workflow, and one cycle, with its steps in order. After a cycle
  // the object may be used, but says of all steps that they come before each other.
  Dag(const scenario::Workflow& workflow, scenario::Diagnostics& diagnostics);

  // Each step as early as what it comes after allows; in the order of the file within a layer.
  const std::vector<std::vector<uint16_t>>& layers() const { return layers_; }
  // Whether step `first` has always ended when step `second` begins.
  bool before(std::size_t first, std::size_t second) const { return has_cycle_ || before_[second][first]; }

 private:
  void connect(const scenario::Workflow& workflow, scenario::Diagnostics& diagnostics);
  bool arrange();
  void report_cycle(const scenario::Workflow& workflow, scenario::Diagnostics& diagnostics);

  std::vector<std::vector<uint16_t>> after_;  // by step: the steps it directly comes after
  std::vector<std::vector<bool>> before_;     // by step: whether the other is among all that it comes after
  std::vector<std::vector<uint16_t>> layers_;
  std::vector<bool> arranged_;
  bool has_cycle_ = false;
};

}  // namespace bellwether::plan
