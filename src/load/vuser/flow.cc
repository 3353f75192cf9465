// The order of the steps of an iteration: side by side, in rounds, one of several, or left out.
#include <algorithm>

#include "load/vuser/iteration.h"

namespace bellwether::vuser {

using runtime::task;

// Each step begins when those that it comes after have ended. After the end of the iteration, or of the user, none
// begins, and running ones end.
task<Flow> IterationRunner::run_order(WorkflowRun& run, Vu& vu, const plan::Order& order, Instant due) {
  if (vu.courses.empty()) {
    vu.courses.resize(run.workflow.orders);
    vu.missing.resize(run.steps.size());
  }
  Course& course = vu.courses[order.number];
  course.flow = Flow::kGoOn;
  for (const uint16_t index : order.steps) {
    vu.missing[index] = static_cast<uint16_t>(run.workflow.steps[index].after.size());
    if (run.may_leave_out) vu.left_out[index] = false;  // of the round before
  }
  for (const uint16_t index : order.steps) {
    if (run.workflow.steps[index].after.empty()) course.branches.push_back(run_branch(run, vu, course, index, due));
  }
  for (std::size_t i = 0; i < course.branches.size(); ++i) co_await course.branches[i];  // they add others
  course.branches.clear();
  co_return course.flow;
}

// A step, and one of those that it was the last to hold up; the others are branches of their own.
task<void> IterationRunner::run_branch(WorkflowRun& run, Vu& vu, Course& course, uint16_t index, Instant due) {
  while (true) {
    if (!run.may_leave_out || !leaves_out(run, vu, index)) {
      const Flow flow = co_await run_step(run, vu, run.steps[index], due);
      course.flow = std::max(course.flow, flow);
    }
    if (course.flow != Flow::kGoOn || vu.cancel->cancelled()) co_return;
    due = runtime_.now();
    std::optional<uint16_t> last;
    for (const uint16_t next : run.workflow.steps[index].then) {
      if (--vu.missing[next] > 0) continue;
      if (last) course.branches.push_back(run_branch(run, vu, course, *last, due));
      last = next;
    }
    if (!last) co_return;
    index = *last;
  }
}

task<Flow> IterationRunner::run_block(WorkflowRun& run, Vu& vu, const plan::Block& block, Instant due) {
  if (block.weights.empty()) return run_order(run, vu, block.order, due);
  return run_drawn(run, vu, draw(block), due);
}

uint16_t IterationRunner::draw(const plan::Block& block) {
  const uint64_t drawn = runtime_.prng().below(block.weights.back());
  const auto place = std::upper_bound(block.weights.begin(), block.weights.end(), drawn) - block.weights.begin();
  return block.order.steps[static_cast<std::size_t>(place)];
}

task<Flow> IterationRunner::run_drawn(WorkflowRun& run, Vu& vu, uint16_t index, Instant due) {
  if (run.may_leave_out) {
    vu.left_out[index] = false;  // of the round before
    if (leaves_out(run, vu, index)) co_return Flow::kGoOn;
  }
  const Flow flow = co_await run_step(run, vu, run.steps[index], due);
  co_return flow;
}

// The rounds of a step, each with its think time. The times of groups leave out the last one.
task<Flow> IterationRunner::run_rounds(WorkflowRun& run, Vu& vu, PreparedStep& step, Instant due) {
  const plan::Step& how = step.step();
  const uint32_t times = how.repeat ? how.repeat->times : 1;
  for (uint32_t round = 0;; ++round) {
    if (how.repeat && how.repeat->index) append_number(round, vu.values.begin(*how.repeat->index));
    if (how.group) vu.groups[*how.group].begin = std::min(vu.groups[*how.group].begin, runtime_.now());
    task<Flow> work = run_work(run, vu, step, due);
    const bool at_once = work.done();
    const Flow flow = co_await work;
    if (how.group) vu.groups[*how.group].end = runtime_.now();
    if (flow != Flow::kGoOn || vu.cancel->cancelled()) co_return flow;
    if (how.think) {
      // A stop by hand ends it early; the end of the workflow's time ends it at the latest.
      Instant until = runtime_.now() + plan::draw(*how.think, runtime_.prng());
      if (run.overtime.armed() && run.overtime.deadline() < until) until = run.overtime.deadline();
      runtime::Cancellation over(&state_.stopped);
      const runtime::CancelCallback on_cancel(
          vu.cancel, [](void* self) { static_cast<runtime::Cancellation*>(self)->cancel(); }, &over);
      co_await runtime_.sleep_until(until, &over);
    }
    const bool left_out = run.may_leave_out && vu.left_out[static_cast<std::size_t>(&step - run.steps.data())];
    if (round + 1 == times || left_out || vu.cancel->cancelled()) co_return Flow::kGoOn;
    if (at_once) co_await runtime_.yield();  // rounds without a wait must not hold up the rest of the loop
    due = runtime_.now();
  }
}

void IterationRunner::record_groups(const WorkflowRun& run, const Vu& vu) {
  for (std::size_t i = 0; i < vu.groups.size(); ++i) {
    const GroupTime& time = vu.groups[i];
    if (time.begin != Instant::never()) recorder_.record(run.workflow.groups[i], (time.end - time.begin).millis_f());
  }
}

// Whether its `if` does not hold, or a step that it comes after was left out or failed with `on_error: skip`.
bool IterationRunner::leaves_out(WorkflowRun& run, Vu& vu, uint16_t index) {
  for (const uint16_t before : run.workflow.steps[index].after) {
    if (vu.left_out[before]) return vu.left_out[index] = true;
  }
  Conditions& conditions = run.steps[index].conditions();
  if (conditions.empty()) return false;
  return vu.left_out[index] = !conditions.hold(context_for(vu, conditions.mention_time()));
}

}  // namespace bellwether::vuser
