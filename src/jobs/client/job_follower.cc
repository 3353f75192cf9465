#include "jobs/client/job_follower.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/units.h"
#include "load/codec/window_codec.h"

namespace bellwether::node {

using runtime::task;

task<Result<bool>> JobFollower::next(Duration wait, Instant deadline, runtime::Cancellation* cancel,
                                     Instant retry_until) {
  dispatch::Watch message;
  message.job = job_;
  message.revision = record_.revision;
  message.seconds = seconds_;
  message.life = life_;
  message.wait = wait;
  message.live_every = live_every_;
  BW_CO_TRY(const auto answer, co_await client_.ask(message, deadline, cancel, retry_until));
  const auto* watched = std::get_if<dispatch::Watched>(&answer);
  if (watched == nullptr) co_return fail(Errc::kProtocol, "a manager's answer does not match the request");
  const bool news = watched->record.revision != record_.revision || watched->life != life_ ||
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
  record_ = watched.record;
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
    BW_TRY(auto state, ingest::decode_totals(watched.totals, plan_));
    totals_ = aggregate::Totals::restore(plan_, std::move(state));
    if (observer_) observer_->on_whole();
  }
  const metrics::Shape shape = aggregate::shape_of(plan_);
  for (const dispatch::SecondOver& second : watched.news) {
    BW_TRY(const auto window, ingest::decode_window(second.window, shape));
    if (second.amends) {
      totals_.amend(window);
    } else {
      totals_.add(window, second.covered);
    }
    if (observer_) observer_->on_second(window, second.covered, second.amends);
  }
  return {};
}

Duration ran_of(const dispatch::JobRecord& record, std::size_t workflow) {
  Duration ran;
  for (const dispatch::AssignmentRecord& assignment : record.assignments) {
    if (assignment.workflow == workflow && assignment.end) ran = std::max(ran, assignment.end->ran);
  }
  return ran;
}

namespace {

// Before its planned end; false for the teardown, and for the setup of a run that is stopped later.
bool was_stopped(const dispatch::JobRecord& record, std::size_t workflow) {
  const bool before_its_end = record.stop && record.stop->cause != dispatch::JobStop::Cause::kPlanned;
  return before_its_end && std::any_of(record.assignments.begin(), record.assignments.end(),
                                       [&](const dispatch::AssignmentRecord& assignment) {
                                         return assignment.workflow == workflow && assignment.end &&
                                                (assignment.end->outcome == dispatch::AssignmentOutcome::kStopped ||
                                                 assignment.end->outcome == dispatch::AssignmentOutcome::kAborted);
                                       });
}

report::WorkflowState state_of(const dispatch::JobRecord& record, std::size_t workflow) {
  using dispatch::WorkflowState;
  const dispatch::WorkflowRecord& one = record.workflows[workflow];
  const Duration ran = ran_of(record, workflow);
  const uint32_t cores = one.begun ? one.parts : 0;
  switch (one.state) {
    case WorkflowState::kCompleted: return {was_stopped(record, workflow) ? "stopped" : "completed", "", ran, cores};
    case WorkflowState::kFailed: return {"failed", "", ran, cores};
    case WorkflowState::kCancelled: return {"cancelled", "", ran, cores};
    case WorkflowState::kTimedOut: return {"timed_out", "", ran, cores};
    case WorkflowState::kSkipped: return {"skipped", one.why, ran, cores};
    case WorkflowState::kPending:
    case WorkflowState::kAssigned:
    case WorkflowState::kRunning:
    case WorkflowState::kRetrying: break;
  }
  return {one.begun ? "stopped" : "skipped", one.begun ? "" : "the job did not reach this workflow", ran, cores};
}

// When an assignment stopped using its cores, since the start of the run; never: it is not known to have stopped.
Duration end_of(const dispatch::JobRecord& record, const dispatch::AssignmentRecord& assignment) {
  const auto seconds = [](uint64_t count) { return Duration::seconds(static_cast<int64_t>(count)); };
  if (assignment.end) return seconds(record.workflows[assignment.workflow].base_second) + assignment.end->ran;
  if (assignment.state == dispatch::AssignmentState::kGone) return assignment.lost_from;
  return assignment.until != 0 ? seconds(assignment.until) : Duration::max();
}

// The cores that assignments take and give back. At equal times, the end of one comes before the begin of the next.
using CoreUse = std::vector<std::pair<Duration, int64_t>>;

uint32_t most_at_once(CoreUse use) {
  std::sort(use.begin(), use.end());
  int64_t now = 0;
  int64_t most = 0;
  for (const auto& [at, change] : use) most = std::max(most, now += change);
  return static_cast<uint32_t>(most);
}

}  // namespace

std::vector<dispatch::JobEvent> events_of(const dispatch::JobRecord& record) {
  std::vector<dispatch::JobEvent> out = record.events;
  const std::size_t from = std::min(dispatch::kMaxJobEvents / 2, out.size());
  if (record.events_dropped == 0 || from == out.size()) return out;
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(from),
             {out[from].at, "events_left_out",
              fmt::format("{} from here on are left out", format_count(record.events_dropped, "event"))});
  return out;
}

report::Course course_of(const dispatch::JobRecord& record) {
  using dispatch::JobState;
  using dispatch::JobStop;
  report::Course course;
  course.run_id = record.id;
  course.started_at = record.started.unix_ns != 0 ? record.started : record.submitted;
  course.elapsed = record.elapsed;
  course.losses = record.losses;
  course.findings = record.findings;
  for (const dispatch::JobEvent& event : events_of(record))
    course.events.push_back({event.at, event.kind, event.detail});
  std::map<std::string, report::Worker> workers;
  std::set<std::string> stayed;  // with an assignment that they ran to its end
  std::map<std::string, CoreUse> use;
  CoreUse all;
  for (const dispatch::AssignmentRecord& assignment : record.assignments) {
    if (!assignment.streams) continue;
    report::Worker& one = workers[assignment.worker];
    one.name = assignment.worker;
    const Duration from = Duration::seconds(static_cast<int64_t>(assignment.from));
    const auto cores = static_cast<int64_t>(assignment.cores);
    for (CoreUse* each : {&use[assignment.worker], &all}) {
      each->emplace_back(from, cores);
      each->emplace_back(std::max(from, end_of(record, assignment)), -cores);
    }
    ++one.assignments;
    if (!assignment.handed_over) stayed.insert(assignment.worker);
    if (assignment.state != dispatch::AssignmentState::kGone || one.state == report::WorkerState::kLost) continue;
    const bool left = assignment.end && assignment.end->outcome == dispatch::AssignmentOutcome::kLeft;
    one.state = left ? report::WorkerState::kDrained : report::WorkerState::kLost;
  }
  for (auto& [name, worker] : workers) {
    if (!stayed.contains(name) && worker.state != report::WorkerState::kLost) {
      worker.state = report::WorkerState::kDrained;
    }
    worker.cores = most_at_once(std::move(use[name]));
    course.workers.push_back(std::move(worker));
  }
  course.cores = static_cast<int>(std::max(most_at_once(std::move(all)), 1U));
  for (std::size_t w = 0; w < record.workflows.size(); ++w) course.workflows.push_back(state_of(record, w));
  if (record.stop) {
    course.why = record.stop->why;
    switch (record.stop->cause) {
      case JobStop::Cause::kCancelled: course.ending = aggregate::Ending::kCancelled; break;
      case JobStop::Cause::kThreshold: course.ending = aggregate::Ending::kThreshold; break;
      case JobStop::Cause::kOnError: course.ending = aggregate::Ending::kOnError; break;
      case JobStop::Cause::kTimeout: course.ending = aggregate::Ending::kTimeout; break;
      case JobStop::Cause::kPlanned: break;
    }
  } else if (record.state == JobState::kFailed && course.workers.empty()) {
    course.ending = aggregate::Ending::kNotRun;
    course.why = record.why;
  } else {
    for (const dispatch::WorkflowRecord& workflow : record.workflows) {
      if (workflow.state != dispatch::WorkflowState::kTimedOut || !plan::is_timeout_text(workflow.why)) continue;
      course.ending = aggregate::Ending::kWorkflowTimeout;
      course.why = workflow.why;
    }
  }
  return course;
}

report::Course unconfirmed_course(const dispatch::JobRecord& record, const aggregate::Totals& totals, std::string why) {
  report::Course course = course_of(record);
  course.unconfirmed = std::move(why);
  course.elapsed = totals.elapsed();
  for (report::Worker& one : course.workers) {
    if (one.state == report::WorkerState::kCompleted) one.state = report::WorkerState::kUnconfirmed;
  }
  course.workflows.resize(totals.plan().workflows.size(), {"unconfirmed", "", Duration::zero(), 0});
  for (std::size_t w = 0; w < record.workflows.size(); ++w) {
    const dispatch::WorkflowRecord& one = record.workflows[w];
    if (dispatch::is_final(one.state)) continue;
    const Duration begun = Duration::seconds(static_cast<int64_t>(one.base_second));
    const Duration ran = one.begun ? std::max(course.elapsed - begun, Duration::zero()) : Duration::zero();
    course.workflows[w] = {"unconfirmed", "", ran, one.begun ? one.parts : 0};
  }
  return course;
}

}  // namespace bellwether::node
