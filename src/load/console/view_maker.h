// Makes a view of a run's totals, about once a second.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "load/aggregate/totals.h"
#include "load/console/view.h"
#include "load/plan/plan.h"

namespace bellwether::console {

class ViewMaker {
 public:
  // The time over which rates are computed.
  static constexpr Duration kWindow = Duration::seconds(5);
  // One call computes the percentiles of this number of steps anew, in turn: with more steps they are some seconds old.
  static constexpr std::size_t kStepsAtOnce = 128;

  // The facts before the first measurement. `planned`: the length of the run, see plan::planned_length().
  void begin(View& view, const plan::Plan& plan, Duration planned);
  // REQUIRES the plan that begin() was given. Rates are those since the first call at most kWindow ago.
  void update(View& view, const aggregate::Totals& totals);

 private:
  struct Mark {
    Duration at;
    std::vector<uint64_t> requests;  // by step
  };
  struct Place {
    uint16_t workflow;
    std::size_t row;
  };
  void update_steps(View& view, const aggregate::Totals& totals, const Mark& before);

  std::vector<Place> places_;  // of each step that is measured
  std::vector<plan::StepId> steps_;
  std::size_t next_step_ = 0;
  std::deque<Mark> marks_;
  std::vector<aggregate::Counts> workflows_before_;
};

}  // namespace bellwether::console
