// The executors of workflows: they decide when iterations begin, and by which virtual user.
//
// Arrival-rate executors: iterations start when they are due, independent of the target. An arrival that finds no free
// virtual user waits for one for at most max_wait (by default not at all) and is then dropped. A dropped arrival is
// charged its wait until a user became free, as a lower bound of its response time: a target that stalls cannot hide
// behind the requests that were never sent.
//
// Closed executors: each virtual user begins its next iteration when the last one has ended. Their number is constant
// or follows a course, or the number of iterations is fixed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "load/vuser/engine_state.h"
#include "load/vuser/iteration.h"

namespace bellwether::vuser {

class Executors {
 public:
  // Both must outlive it.
  Executors(EngineState& state, IterationRunner& iteration)
      : state_(state), runtime_(state.runtime), iteration_(iteration) {}

  // Runs a workflow from `resume` to its end; `start` is that of the run.
  runtime::task<void> run(WorkflowRun& run, Instant start, Resume resume);
  // Counts the waiting arrivals whose time is over (or all of them) as dropped. With `all`, charges them too.
  void drop_expired(WorkflowRun& run, bool all);

 private:
  bool begins(WorkflowRun& run, Duration length);
  runtime::task<void> constant_vus(WorkflowRun& run, const plan::ConstantVus& executor);
  runtime::task<void> iterations(WorkflowRun& run, const plan::Iterations& executor);
  runtime::task<void> live_users(WorkflowRun& run, uint32_t vus, const plan::Delay* pacing, std::span<uint64_t> left);
  runtime::task<void> vu_loop(WorkflowRun& run, Vu& vu, const plan::Delay* pacing, uint64_t* left);
  Instant next_by_pace(WorkflowRun& run, const Vu& vu, const plan::Delay& pacing, Instant began);
  runtime::task<void> ramping_vus(WorkflowRun& run, const plan::RampingVus& executor);
  runtime::task<void> externally_controlled(WorkflowRun& run, const plan::ExternallyControlled& executor);
  void want(WorkflowRun& run, uint32_t index, const plan::Delay* pacing, std::vector<runtime::task<void>>& loops);
  runtime::task<void> dismiss(WorkflowRun& run, std::vector<runtime::task<void>>& loops);
  void turn_away(Vu& vu, Duration grace);
  void renew_leaving(WorkflowRun& run, Vu& vu);
  runtime::task<void> arrivals(WorkflowRun& run, const plan::ArrivalRate& executor);
  void pass_over(WorkflowRun& run);
  runtime::task<void> arrival_vu(WorkflowRun& run, Vu& vu);
  runtime::task<void> once(WorkflowRun& run);
  void begin_arrival(WorkflowRun& run, Vu& vu, Instant due);
  void next_arrival_or_rest(WorkflowRun& run, Vu& vu);
  void hire(WorkflowRun& run);
  void serve(WorkflowRun& run, Instant due);
  bool claim_user(WorkflowRun& run);
  void tell_waiting(WorkflowRun& run);
  runtime::task<void> lend_users(WorkflowRun& run, Duration last);
  void pass_on(WorkflowRun& run, uint64_t fresh);
  void take_passed(WorkflowRun& run);
  void count_expired(WorkflowRun& run, uint64_t before);
  void charge_waiting(WorkflowRun& run);
  void charge_dropped(WorkflowRun& run, Duration waited, uint64_t times = 1);
  void charge_step(WorkflowRun& run, uint16_t index, Duration waited, uint64_t times);

  EngineState& state_;
  runtime::Runtime& runtime_;
  IterationRunner& iteration_;
};

}  // namespace bellwether::vuser
