#include "jobs/client/job_follower.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "load/codec/window_codec.h"

namespace bellwether::node {

using runtime::task;

task<Result<bool>> JobFollower::next(Duration wait, Instant deadline, runtime::Cancellation* cancel) {
  dispatch::Watch letter;
  letter.job = job_;
  letter.revision = sheet_.revision;
  letter.seconds = seconds_;
  letter.life = life_;
  letter.wait = wait;
  letter.live_every = live_every_;
  BW_CO_TRY(const auto answer, co_await client_.ask(letter, deadline, cancel));
  const auto* watched = std::get_if<dispatch::Watched>(&answer);
  if (watched == nullptr) co_return fail(Errc::kProtocol, "a manager answers something else than it was asked");
  const bool news = watched->sheet.revision != sheet_.revision || watched->life != life_ ||
                    watched->seconds != seconds_ || watched->final != final_ ||
                    (live_every_ > Duration::zero() && watched->live != live_);
  BW_CO_RETURN_IF_ERROR(take(*watched));
  co_return news;
}

Status JobFollower::take(const dispatch::Watched& watched) {
  if (Status added = add(watched); !added) {
    // Half of it may be in the totals: the next answer must bring all of them.
    life_ = 0;
    seconds_ = 0;
    return added;
  }
  sheet_ = watched.sheet;
  owner_ = watched.owner;
  position_ = watched.position;
  life_ = watched.life;
  seconds_ = watched.seconds;
  live_ = watched.live;
  final_ = watched.final;
  return {};
}

Status JobFollower::add(const dispatch::Watched& watched) {
  if (!watched.totals.empty()) {
    BW_TRY(auto state, account::decode_totals(watched.totals, plan_));
    totals_ = aggregate::Totals::restore(plan_, std::move(state));
    if (observer_) observer_->on_whole();
  }
  const metrics::Shape shape = aggregate::shape_of(plan_);
  for (const dispatch::SecondOver& second : watched.news) {
    BW_TRY(const auto window, account::decode_window(second.window, shape));
    if (second.amends) {
      totals_.amend(window);
    } else {
      totals_.add(window, second.covered);
    }
    if (observer_) observer_->on_second(window, second.covered, second.amends);
  }
  return {};
}

Duration ran_of(const dispatch::JobSheet& sheet, std::size_t workflow) {
  Duration ran;
  for (const dispatch::ShareSheet& share : sheet.shares) {
    if (share.workflow == workflow && share.end) ran = std::max(ran, share.end->ran);
  }
  return ran;
}

namespace {

// Before its planned end; false for the teardown, and for the setup of a run that is stopped later.
bool was_stopped(const dispatch::JobSheet& sheet, std::size_t workflow) {
  const bool before_its_end = sheet.stop && sheet.stop->cause != dispatch::JobStop::Cause::kPlanned;
  return before_its_end &&
         std::any_of(sheet.shares.begin(), sheet.shares.end(), [&](const dispatch::ShareSheet& share) {
           return share.workflow == workflow && share.end &&
                  (share.end->outcome == dispatch::ShareOutcome::kStopped ||
                   share.end->outcome == dispatch::ShareOutcome::kAborted);
         });
}

report::WorkflowState state_of(const dispatch::JobSheet& sheet, std::size_t workflow) {
  using dispatch::WorkflowState;
  const dispatch::WorkflowSheet& one = sheet.workflows[workflow];
  const Duration ran = ran_of(sheet, workflow);
  const uint32_t cores = one.begun ? one.parts : 0;
  switch (one.state) {
    case WorkflowState::kCompleted: return {was_stopped(sheet, workflow) ? "stopped" : "completed", "", ran, cores};
    case WorkflowState::kFailed: return {"failed", "", ran, cores};
    case WorkflowState::kCancelled: return {"cancelled", "", ran, cores};
    case WorkflowState::kTimedOut: return {"timed_out", "", ran, cores};
    case WorkflowState::kSkipped: return {"skipped", one.why, ran, cores};
    case WorkflowState::kPending:
    case WorkflowState::kAssigned:
    case WorkflowState::kRunning:
    case WorkflowState::kRetrying: break;
  }
  return {one.begun ? "stopped" : "skipped", one.begun ? "" : "the job has not got there", ran, cores};
}

}  // namespace

report::Course course_of(const dispatch::JobSheet& sheet) {
  using dispatch::JobState;
  using dispatch::JobStop;
  report::Course course;
  course.run_id = sheet.id;
  course.started_at = sheet.started.unix_ns != 0 ? sheet.started : sheet.submitted;
  course.elapsed = sheet.elapsed;
  course.losses = sheet.losses;
  course.findings = sheet.findings;
  for (const dispatch::JobEvent& event : sheet.events) course.events.push_back({event.at, event.kind, event.detail});
  std::map<std::string, report::Worker> workers;
  std::set<std::string> stayed;  // with an assignment that they ran to its end
  uint32_t parts = 0;
  for (const dispatch::ShareSheet& share : sheet.shares) {
    if (!share.streams) continue;
    report::Worker& one = workers[share.worker];
    one.name = share.worker;
    one.cores = std::max(one.cores, share.parts.count);
    ++one.shares;
    if (!share.handed_over) stayed.insert(share.worker);
    if (share.state != dispatch::ShareState::kGone || one.state == report::WorkerState::kLost) continue;
    const bool left = share.end && share.end->outcome == dispatch::ShareOutcome::kLeft;
    one.state = left ? report::WorkerState::kDrained : report::WorkerState::kLost;
  }
  for (const dispatch::WorkflowSheet& workflow : sheet.workflows) parts += workflow.begun ? workflow.parts : 0;
  for (auto& [name, worker] : workers) {
    if (!stayed.contains(name) && worker.state != report::WorkerState::kLost) {
      worker.state = report::WorkerState::kDrained;
    }
    course.workers.push_back(std::move(worker));
  }
  course.cores = static_cast<int>(std::max(parts, 1U));
  for (std::size_t w = 0; w < sheet.workflows.size(); ++w) course.workflows.push_back(state_of(sheet, w));
  if (sheet.stop) {
    course.why = sheet.stop->why;
    switch (sheet.stop->cause) {
      case JobStop::Cause::kCancelled: course.ending = aggregate::Ending::kCancelled; break;
      case JobStop::Cause::kThreshold: course.ending = aggregate::Ending::kThreshold; break;
      case JobStop::Cause::kOnError: course.ending = aggregate::Ending::kOnError; break;
      case JobStop::Cause::kTimeout: course.ending = aggregate::Ending::kTimeout; break;
      case JobStop::Cause::kPlanned: break;
    }
  } else if (sheet.state == JobState::kFailed && course.workers.empty()) {
    course.ending = aggregate::Ending::kNotRun;
    course.why = sheet.why;
  } else {
    for (const dispatch::WorkflowSheet& workflow : sheet.workflows) {
      if (workflow.state != dispatch::WorkflowState::kTimedOut || !plan::is_timeout_text(workflow.why)) continue;
      course.ending = aggregate::Ending::kWorkflowTimeout;
      course.why = workflow.why;
    }
  }
  return course;
}

}  // namespace bellwether::node
