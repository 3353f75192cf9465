// Assigns the parts of a job to workers, and follows the assignments: refused, ready, begun, ended, lost.

#include <algorithm>
#include <utility>

#include "core/base/probe.h"
#include "core/base/units.h"
#include "jobs/dispatch/job_kernel.h"
#include "load/plan/schedule.h"

namespace bellwether::dispatch {

// --- assigning -------------------------------------------------------------------------------------------------------

std::vector<uint16_t> JobKernel::ready_workflows() const {
  std::vector<uint16_t> ready;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (!book_.waits(w)) continue;
    // A teardown waits until nothing runs any more of what it follows.
    const bool met = plan::may_begin(spec_[w], [&](uint16_t need) {
      return spec_[w].is_teardown && book_.has_live(need) ? plan::WorkflowProgress::kOpen : book_.progress(need);
    });
    if (met) ready.push_back(w);
  }
  return ready;
}

// Assigns nothing without room for a whole group: a load test that begins in pieces measures nothing.
void JobKernel::plan_group(Instant now, JobEffects& out) {
  if (!layers_.pass_border(now, out)) {
    const auto ended = [](const WorkflowRecord& one) { return is_final(one.state); };
    if (std::all_of(record_.workflows.begin(), record_.workflows.end(), ended)) conclude(now, out);
    return;
  }
  if (group_again_ && now < *group_again_) return;
  group_again_.reset();
  uint32_t total = 0;
  uint32_t free = 0;
  for (const WorkerSight& worker : pool_.workers()) {
    if (!pool_.usable(now, worker)) continue;
    total += worker.cores;
    free += worker.free;
  }
  const std::vector<uint16_t> ready = ready_workflows();
  if (ready.empty()) return;  // a teardown, until nothing runs any more of what failed
  if (total == 0) {
    if (std::any_of(pool_.workers().begin(), pool_.workers().end(),
                    [](const WorkerSight& worker) { return worker.held; })) {
      no_workers_since_.reset();
      return;
    }
    if (!no_workers_since_) no_workers_since_ = now;
    if (now - *no_workers_since_ < rules_.worker_wait) return;
    const std::string why = fmt::format("no worker accepted work for {}", format_duration(rules_.worker_wait));
    for (const uint16_t w : ready) book_.become(w, WorkflowState::kFailed, why, out);
    no_workers_since_.reset();
    book_.skip_dependents(out);
    return conclude(now, out);
  }
  no_workers_since_.reset();
  std::vector<plan::CoreDemand> demands;
  for (const uint16_t w : ready) demands.push_back({w, spec_[w].priority, spec_[w].is_test, spec_[w].vus});
  const std::vector<plan::CoreGrant> group = plan::core_batches(demands, total).front();
  uint32_t wanted = 0;
  for (const plan::CoreGrant& grant : group) wanted += grant.cores;
  if (wanted > free) return;
  for (const plan::CoreGrant& grant : group) {
    std::vector<uint32_t> parts(grant.cores);
    for (uint32_t i = 0; i < grant.cores; ++i) parts[i] = i;
    record_.workflows[grant.workflow].parts = grant.cores;
    if (!pool_.place(now, grant.workflow, parts, false))
      return take_group_back(now, "no cores of workers are free", false, out);
    book_.become(grant.workflow, WorkflowState::kAssigned, {}, out);
  }
  if (!book_.zero) book_.set_witnesses(pool_.witnesses(now));
  if (record_.state == JobState::kQueued) book_.become(JobState::kDispatching, {}, out);
}

// Parts of assigned workflows that no worker runs.
void JobKernel::fill_gaps(Instant now, JobEffects& out) {
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    WorkflowRecord& one = record_.workflows[w];
    if (!book_.is_active(w)) continue;
    const std::vector<uint32_t> left = book_.gaps(w);
    if (left.empty()) {
      gap_since_.erase(w);
      continue;
    }
    gap_since_.try_emplace(w, now);
    if (hopeless(now, w)) {
      gap_since_.erase(w);
      if (one.begun) continue;
      return take_group_back(now, "its worker refused the assignment or died, and no other worker has room", true, out);
    }
    // Before the begin nothing is squeezed in: it would distort the whole measurement.
    if (!one.begun) {
      if (!pool_.place(now, w, left, false))
        return take_group_back(now, fmt::format("no other worker has room for '{}'", spec_[w].name), !busy_, out);
      continue;
    }
    std::vector<uint32_t> placeable;
    for (const uint32_t part : left) {
      if (book_.deaths(w, part) <= rules_.retries_most) placeable.push_back(part);
    }
    bool any = pool_.place(now, w, placeable, true);
    // Some of them are better than none.
    for (std::size_t i = 0; !any && i < placeable.size() && pool_.place(now, w, {placeable[i]}, true); ++i) {
      any = i + 1 == placeable.size();
    }
    if (book_.gaps(w).size() == left.size()) continue;
    BW_PROBE("dispatch: parts are given to somebody else");
    if (one.state == WorkflowState::kRetrying) book_.become(w, WorkflowState::kAssigned, {}, out);
  }
}

// Takes back a group that cannot begin; it is tried again a little later. Workers that are ready give their parts back,
// too: another number of cores needs another cut into parts, and two jobs that each keep some cores until they have the
// rest wait for each other.
void JobKernel::take_group_back(Instant now, const std::string& why, bool counts, JobEffects& out) {
  BW_PROBE("dispatch: a group is taken back");
  // To wait for cores is no failure.
  if (counts) ++group_attempts_;
  busy_ = false;
  const bool enough = group_attempts_ >= rules_.dispatch_attempts;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    WorkflowRecord& one = record_.workflows[w];
    if (one.begun || is_final(one.state) || one.parts == 0) continue;
    book_.stop_assignments(now, w, StopHow::kAtOnce, why, out);
    gap_since_.erase(w);
    one.parts = 0;
    if (enough) {
      book_.become(w, WorkflowState::kFailed, "could not be assigned: " + why, out);
    } else if (one.state == WorkflowState::kAssigned) {
      book_.become(w, WorkflowState::kRetrying, why, out);
    }
  }
  if (counts) book_.add_event(now, "dispatch_failed", why);
  if (record_.state == JobState::kDispatching && !enough) book_.become(JobState::kQueued, why, out);
  group_again_ = now + rules_.dispatch_pause * (int64_t{1} << std::min(std::max(group_attempts_, 1U) - 1, 10U));
  if (enough) {
    group_attempts_ = 0;
    book_.skip_dependents(out);
    conclude(now, out);
  }
}

// No worker will run the parts that do not run now.
bool JobKernel::hopeless(Instant now, uint16_t workflow) const {
  const std::vector<uint32_t> left = book_.gaps(workflow);
  const auto too_often = [&](uint32_t part) { return book_.deaths(workflow, part) > rules_.retries_most; };
  if (!left.empty() && std::all_of(left.begin(), left.end(), too_often)) return true;
  const auto since = gap_since_.find(workflow);
  if (since != gap_since_.end() && now - since->second >= rules_.dispatch_limit) return true;
  return book_.is_past(now, workflow);
}

// --- reports ---------------------------------------------------------------------------------------------------------

void JobKernel::offered(Instant now, AssignmentId id, OfferAnswer answer, const std::string& why, JobEffects& out) {
  AssignmentRecord* assignment = book_.find(id);
  if (!book_.owned || assignment == nullptr || assignment->state != AssignmentState::kOffered) return;
  if (is_settled(*assignment)) return;
  if (answer == OfferAnswer::kReady) {
    book_.set(now, *assignment, AssignmentState::kReady);
    fence_.heard(now, assignment->worker, assignment->life);
    // The number may have changed after its order was sent.
    if (spec_[assignment->workflow].told_vus) book_.to_hold.push_back(job_effect::Scale{id});
    if (record_.workflows[assignment->workflow].begun && !book_.adopting) begin_assignment(now, *assignment, out);
    return advance(now, out);
  }
  const uint16_t workflow = assignment->workflow;
  const bool spare = book_.is_spare(*assignment);
  pool_.set_aside(assignment->worker);
  if (answer == OfferAnswer::kBusy && !spare) {
    busy_ = true;
  } else {
    pool_.exclude(now, *assignment);
    book_.add_event(now, "assignment_refused", fmt::format("worker '{}': {}", assignment->worker, why));
  }
  // A worker that did not answer may have it all the same.
  out.push_back(job_effect::Stop{id, StopHow::kAtOnce, "it is reassigned"});
  lose(now, *assignment, why, out);
  if (answer == OfferAnswer::kBroken && !spare) book_.fail_workflow(now, workflow, WorkflowState::kFailed, why, out);
  advance(now, out);
}

void JobKernel::begin_assignment(Instant now, AssignmentRecord& assignment, JobEffects& out) {
  if (book_.is_spare(assignment) || now < book_.runs_elsewhere_until(assignment)) return;
  if (book_.is_past(now, assignment.workflow)) {
    BW_PROBE("dispatch: an assignment is ready when its workflow is over");
    out.push_back(job_effect::Stop{assignment.id, StopHow::kAtOnce, "its workflow has ended"});
    book_.set(now, assignment, AssignmentState::kGone);
    return;
  }
  WorkflowRecord& one = record_.workflows[assignment.workflow];
  const bool once = spec_[assignment.workflow].length == Duration::zero();
  const Instant planned = book_.clock_of(assignment.workflow);
  const bool resumes = now > planned;
  Instant clock = planned;
  if (resumes && once) {
    // A part that runs once begins again.
    one.base_second = static_cast<uint64_t>((book_.elapsed(now) + Duration::seconds(1)).ns() / 1'000'000'000);
    clock = book_.clock_of(assignment.workflow);
  }
  // The order of an owner before did not arrive: the losses up to that begin are in the record.
  const Duration since = assignment.streams ? seconds(assignment.from) : Duration::zero();
  assignment.from = one.base_second;
  if (resumes && !once) {
    assignment.from += static_cast<uint64_t>((now - planned).ns() / 1'000'000'000);
    assignment.rows = book_.rows_before(now, assignment);
    book_.write_losses(assignment.workflow, parts_of(assignment.parts), book_.elapsed(now), since);
    book_.add_event(now, "assignment_moved",
                    fmt::format("worker '{}' continues {} of {} parts of '{}'", assignment.worker,
                                assignment.parts.count, assignment.parts.of, spec_[assignment.workflow].name));
  }
  assignment.streams = true;
  book_.set(now, assignment, AssignmentState::kRunning);
  if (one.state == WorkflowState::kAssigned || one.state == WorkflowState::kRetrying) {
    if (one.state == WorkflowState::kRetrying) book_.become(assignment.workflow, WorkflowState::kAssigned, {}, out);
    if (book_.gaps(assignment.workflow).empty()) book_.become(assignment.workflow, WorkflowState::kRunning, {}, out);
  }
  out.push_back(job_effect::Begin{assignment.id, clock, resumes && !once});
}

void JobKernel::not_begun(Instant now, AssignmentId id, const std::string& why, JobEffects& out) {
  AssignmentRecord* assignment = book_.find(id);
  if (!book_.owned || assignment == nullptr || !is_live(*assignment) || is_settled(*assignment)) return;
  book_.add_event(now, "assignment_lost", fmt::format("worker '{}': {}", assignment->worker, why));
  lose(now, *assignment, why, out);
  advance(now, out);
}

void JobKernel::taken_over(Instant now, AssignmentId id, JobEffects& out) {
  const AssignmentRecord* const assignment = find(id);
  if (!book_.owned || assignment == nullptr || !book_.is_spare(*assignment)) return;
  moves_.will_take_over(id);
  advance(now, out);
}

void JobKernel::handed_over(Instant now, AssignmentId id, uint64_t until, JobEffects& out) {
  AssignmentRecord* const from = book_.find(id);
  if (!book_.owned || from == nullptr || !is_live(*from) || !from->streams || from->handed_over || until == 0) return;
  const std::vector<AssignmentId> followers = book_.followers_of(id);
  from->until = until;
  from->handed_over = true;
  from->lost_from = Duration::seconds(static_cast<int64_t>(until));
  book_.set(now, *from, from->state);
  for (const AssignmentId one : followers) {
    AssignmentRecord& follower = *book_.find(one);
    if (follower.from == until) {
      moves_.promote(now, follower, out);
    } else {
      BW_PROBE("dispatch: an assignment has handed over at a second that its followers do not know");
      out.push_back(job_effect::Stop{one, StopHow::kAtOnce, "it is reassigned"});
      book_.set(now, follower, AssignmentState::kGone);
    }
  }
  advance(now, out);
}

void JobKernel::kept_on(Instant now, AssignmentId id, const std::string& why, JobEffects& out) {
  AssignmentRecord* const from = book_.find(id);
  if (!book_.owned || from == nullptr || from->handed_over || from->until == 0) return;
  moves_.call_off(now, *from, why, out);
  advance(now, out);
}

void JobKernel::applied(Instant now, AssignmentId id, uint64_t number, JobEffects& out) {
  uint64_t& known = book_.applied[id];
  known = std::max(known, number);
  AssignmentRecord* assignment = book_.find(id);
  if (assignment == nullptr || !is_live(*assignment) || !book_.has_all_of(*assignment)) return;
  finish(now, *assignment, out);
  advance(now, out);
}

void JobKernel::ended(Instant now, AssignmentId id, const AssignmentEnd& end, JobEffects& out) {
  AssignmentRecord* assignment = book_.find(id);
  if (!book_.owned || assignment == nullptr || !is_live(*assignment) || assignment->end) return;
  if (book_.is_spare(*assignment)) {
    lose(now, *assignment, "it ended before it could take over", out);
    return advance(now, out);
  }
  // This owner does not know of the begin: the worker's answer to its question brings the rest too.
  if (!assignment->streams && end.last_number > 0) return;
  layers_.hear_values(now, *assignment, end.provided, out);
  assignment->end = end;
  assignment->end->provided.clear();
  layers_.hear_findings(now, *assignment, end.findings);
  assignment->end->findings.clear();
  layers_.hear_notes(now, end.notes);
  assignment->end->notes.clear();
  book_.changed = true;
  if (book_.has_all_of(*assignment)) finish(now, *assignment, out);
  advance(now, out);
}

void JobKernel::finish(Instant now, AssignmentRecord& assignment, JobEffects& out) {
  if (book_.adopting) return;  // adopted() finishes it, when the clock of the run is certain
  const AssignmentId id = assignment.id;
  const uint16_t workflow = assignment.workflow;
  const WorkflowRecord& one = record_.workflows[workflow];
  const Duration base = seconds(one.base_second);
  // An eviction is no stop: others go on with its parts, however it ends.
  const bool was_stopped =
      assignment.state == AssignmentState::kStopping && (book_.is_stopped(workflow) || is_final(one.state));
  const Instant since = book_.since[id];
  const AssignmentEnd end = *assignment.end;
  book_.set(now, assignment, AssignmentState::kEnded);
  if (was_stopped) book_.since[id] = since;  // it was to run until then
  if (assignment.streams) out.push_back(job_effect::CloseStream{assignment.id});
  if (book_.had_ended.contains(id)) return;
  const std::string whose = fmt::format("worker '{}', workflow '{}'", assignment.worker, spec_[workflow].name);
  // An unrecorded stop counts as leaving, too: its owner died before it recorded the stop.
  const bool unasked =
      end.outcome == AssignmentOutcome::kStopped && !book_.is_stopped(workflow) && !is_final(one.state);
  const bool left = end.outcome == AssignmentOutcome::kLeft || unasked;
  if (!left) fit_rest(assignment, since);
  if (assignment.handed_over && pool_.is_leaving(assignment)) {
    book_.add_event(now, "worker_left", whose + ": the worker leaves the cluster and has handed over");
  }
  if ((end.outcome == AssignmentOutcome::kIsolated || left) && assignment.handed_over) {
    const Duration ran = base + end.ran;
    if (ran < assignment.lost_from)
      book_.add_loss(workflow, book_.how_lost(assignment), assignment.parts.count, ran, assignment.lost_from);
  } else if ((end.outcome == AssignmentOutcome::kIsolated || left) && !was_stopped) {
    assignment.lost_from = base + end.ran;
    if (left) {
      pool_.exclude(now, assignment);
      book_.add_event(now, "worker_left",
                      whose + (unasked && !pool_.is_leaving(assignment)
                                   ? ": an owner stopped it before a quorum knew why: " + end.detail
                                   : ": the worker leaves the cluster"));
    } else {
      book_.add_event(now, "worker_isolated", fmt::format("{} stopped: {}", whose, end.detail));
    }
    lose(now, assignment, left ? "its worker has left" : "it was isolated", out);
  } else if (lost_its_process(assignment) && !(was_stopped && book_.is_stopped(workflow))) {
    // Seconds that it had not reported are lost with its process.
    if (!assignment.handed_over) assignment.lost_from = book_.reported_until(assignment);
    if (end.outcome == AssignmentOutcome::kLost)
      book_.add_event(now, "assignment_lost", fmt::format("{}: {}", whose, end.detail));
    lose(now, assignment, end.detail, out);
  } else if (end.outcome == AssignmentOutcome::kIsolated || left || lost_its_process(assignment)) {
    lose_until_stop(assignment, lost_its_process(assignment) ? book_.reported_until(assignment) : base + end.ran);
  } else if (end.outcome == AssignmentOutcome::kOvertime) {
    book_.add_event(now, "assignment_overtime", whose + " exceeded its time limit");
    book_.fail_workflow(now, workflow, WorkflowState::kTimedOut, "exceeded its time limit", out);
  } else if (end.outcome == AssignmentOutcome::kTimedOut && !book_.is_stopped(workflow)) {
    time_.time_out(now, workflow, out);
  } else if (is_failure(end.outcome)) {
    const std::string why = fmt::format("{}: {}", to_string(end.outcome), end.detail);
    book_.add_event(now, "assignment_failed", fmt::format("{} {}", whose, why));
    if (assignment.streams && !was_stopped) {
      // The seconds that it had not reported at its end.
      const Duration from = book_.reported_until(assignment);
      book_.add_loss(workflow, book_.how_lost(assignment), assignment.parts.count, from,
                     std::max(from, std::min(book_.elapsed(now), from + Duration::seconds(1))));
    }
    if (assignment.streams && was_stopped) lose_until_stop(assignment, book_.reported_until(assignment));
    if (!was_stopped) book_.fail_workflow(now, workflow, WorkflowState::kFailed, fmt::format("{} {}", whose, why), out);
  } else if (end.outcome == AssignmentOutcome::kAborted && !record_.stop) {
    stop(now,
         {JobStop::Cause::kOnError,
          StopHow::kGraceful,
          {},
          fmt::format("step {} failed and says on_error: abort", end.detail)},
         {}, out);
  }
  // The stop may have added assignments.
  AssignmentRecord& ended = *book_.find(id);
  const bool goes_on = !ended.handed_over && ended.state == AssignmentState::kEnded;
  if (goes_on && !book_.followers_of(id).empty()) moves_.call_off(now, ended, {}, out);
}

// It ended by itself, or was stopped then.
void JobKernel::fit_rest(const AssignmentRecord& assignment, Instant stopped) {
  const AssignmentOutcome as = assignment.end->outcome;
  if (as == AssignmentOutcome::kIsolated || lost_its_process(assignment) || is_failure(as)) return;
  const Duration ran = book_.ran_until(stopped, assignment);
  book_.fit_rest(assignment,
                 ends_gracefully_.contains(assignment.workflow) ? std::min(ran, book_.elapsed(stopped)) : ran);
}

// Its load ended at `from`, and its owner stopped it later: nobody goes on with it.
void JobKernel::lose_until_stop(const AssignmentRecord& assignment, Duration from) {
  if (spec_[assignment.workflow].counted) return;
  const Duration stopped = book_.stopped_at(assignment);
  const Duration to = assignment.handed_over ? std::min(stopped, assignment.lost_from) : stopped;
  if (from < to)
    return book_.add_loss(assignment.workflow, book_.how_lost(assignment), assignment.parts.count, from, to);
  book_.fit_rest(assignment, from);
}

void JobKernel::evicted(Instant now, AssignmentId id, const std::string& why, JobEffects& out) {
  AssignmentRecord* const assignment = book_.find(id);
  if (!book_.owned || assignment == nullptr || !is_live(*assignment) || !assignment->streams || assignment->end) return;
  BW_PROBE("dispatch: an assignment that stands still is given to somebody else");
  if (assignment->state == AssignmentState::kStopping) return;
  pool_.exclude(now, *assignment);
  book_.add_event(
      now, "assignment_evicted",
      fmt::format("worker '{}', workflow '{}': {}", assignment->worker, spec_[assignment->workflow].name, why));
  // At once: its end says that it was evicted, so a later owner moves it as well.
  out.push_back(job_effect::Stop{id, StopHow::kAtOnce, why, true});
  book_.set(now, *assignment, AssignmentState::kStopping);
  advance(now, out);
}

// Takes its parts from it.
void JobKernel::lose(Instant now, AssignmentRecord& assignment, const std::string& why, JobEffects& out) {
  if (book_.adopting && assignment.streams) {
    // A new owner has the clock of the run from a wall clock until the workers have told it: a loss by that clock could
    // be too short, and count iterations as not begun that have.
    lost_early_.try_emplace(assignment.id, why);
    return;
  }
  WorkflowRecord& one = record_.workflows[assignment.workflow];
  if (book_.is_spare(assignment)) {
    book_.set(now, assignment, AssignmentState::kGone);
    return moves_.call_off(now, *book_.find(assignment.follows), fmt::format("worker '{}': {}", assignment.worker, why),
                           out);
  }
  if (assignment.handed_over) {
    // Seconds that others run are not lost; seconds that it had begun and did not report are.
    const Duration counted = book_.reported_until(assignment);
    Duration last = assignment.lost_from;
    if (!lost_its_process(assignment))
      last = std::max(last, std::min(book_.elapsed(now), counted + Duration::seconds(1)));
    // The loss of parts that nobody has taken over is written when somebody continues them.
    const uint32_t parts = book_.succeeded(assignment);
    if (last > counted && parts > 0)
      book_.add_loss(assignment.workflow, book_.how_lost(assignment), parts, counted, last);
    assignment.lost_from = counted;
    out.push_back(job_effect::CloseStream{assignment.id});
    return book_.set(now, assignment, AssignmentState::kGone);
  }
  if (assignment.streams && assignment.state != AssignmentState::kEnded) {
    assignment.lost_from = book_.reported_until(assignment);
    out.push_back(job_effect::CloseStream{assignment.id});
  }
  if (assignment.streams) book_.lose_iterations(now, assignment);
  if (assignment.streams && spec_[assignment.workflow].takes_rows)
    assignment.rows = book_.rows_by(assignment, book_.ran_until(now, assignment));
  const Duration stopped = book_.stopped_at(assignment);
  book_.set(now, assignment, AssignmentState::kGone);
  if (is_final(one.state) && assignment.streams) {
    // Some of its seconds had not arrived. What comes after its end is in the record already, or was not planned.
    const bool had_ended = book_.had_ended.contains(assignment.id);
    const bool until_end = assignment.end && (had_ended || one.state == WorkflowState::kTimedOut);
    const Duration until =
        !until_end ? stopped
                   : std::min(seconds(one.base_second) + assignment.end->ran, book_.planned_end(assignment.workflow));
    if (until > assignment.lost_from) {
      book_.write_losses(assignment.workflow, parts_of(assignment.parts), until);
    } else if (!had_ended) {
      book_.fit_rest(assignment, assignment.lost_from);
    }
  }
  if (!one.begun || is_final(one.state)) return;
  if (assignment.streams) ++one.retries;
  if (!book_.is_stopped(assignment.workflow) && one.state != WorkflowState::kRetrying)
    book_.become(assignment.workflow, WorkflowState::kRetrying, why, out);
  for (const AssignmentId id : moves_.release_followers(now, assignment, out))
    begin_assignment(now, *book_.find(id), out);
}

}  // namespace bellwether::dispatch
