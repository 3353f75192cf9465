// What workers report of the assignments: refused, ready, begun, ended, lost. A new owner asks them what they run, and
// when the run began.

#include <algorithm>
#include <utility>

#include "core/base/probe.h"
#include "jobs/dispatch/job_kernel.h"

namespace bellwether::dispatch {
namespace {

// A new owner asks so many workers for the clock of the run that have nothing else to tell.
constexpr std::size_t kMaxAskedForClock = 5;

}  // namespace

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
  constexpr std::string_view kRefused = "assignment_refused";
  const std::string text = fmt::format("worker '{}': {}", assignment->worker, why);
  if (answer == OfferAnswer::kBusy && !spare) {
    groups_.busy();
    // It is asked again and again for parts that are missing, and says each reason once.
    const bool told = std::any_of(record_.events.begin(), record_.events.end(), [&](const JobEvent& event) {
      return event.kind == kRefused && event.detail == text.substr(0, kMaxTextBytes);
    });
    if (record_.workflows[workflow].begun && !told) book_.add_event(now, std::string(kRefused), text);
  } else {
    pool_.exclude(now, *assignment);
    book_.add_event(now, std::string(kRefused), text);
  }
  // A worker that did not answer may have it all the same.
  out.push_back(job_effect::Stop{id, StopHow::kAtOnce, "it is reassigned"});
  lose(now, *assignment, why, out);
  // Of what runs elsewhere, this worker alone cannot prepare a part: its disk or memory fails, not the scenario.
  if (answer == OfferAnswer::kBroken && !spare && !record_.workflows[workflow].begun)
    book_.fail_workflow(now, workflow, WorkflowState::kFailed, why, out);
  advance(now, out);
}

void JobKernel::begin_assignment(Instant now, AssignmentRecord& assignment, JobEffects& out) {
  if (book_.is_spare(assignment) || book_.unsighted.contains(assignment.id)) return;
  if (now < book_.runs_elsewhere_until(assignment)) return;
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
  const bool unsaid = lost_its_process(assignment) || is_failure(end.outcome);
  if (!left && !unsaid && end.outcome != AssignmentOutcome::kIsolated) book_.fit_rest(assignment, base + end.ran);
  if (assignment.handed_over && pool_.is_leaving(assignment)) {
    book_.add_event(now, "worker_left", whose + ": the worker leaves the cluster and has handed over");
  }
  if ((end.outcome == AssignmentOutcome::kIsolated || left) && assignment.handed_over) {
    const Duration ran = base + end.ran;
    const Duration to = is_final(one.state) ? book_.stopped_at(assignment) : assignment.lost_from;
    if (ran < to) book_.add_loss(workflow, how_lost(assignment), assignment.parts.count, ran, to);
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
      // What it had not reported at its end, and the time until its owner heard of it: the rest begins then.
      const Duration from = book_.reported_until(assignment);
      const Duration at_end = std::min(book_.elapsed(now), from + Duration::seconds(1));
      book_.add_loss(workflow, how_lost(assignment), assignment.parts.count, from,
                     std::max({from, at_end, book_.stopped_at(assignment)}));
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

// Its load ended at `from`, and its owner stopped it later: nobody goes on with it. Iterations that did not begin are
// no loss then, but those that a killed process did not report are.
void JobKernel::lose_until_stop(const AssignmentRecord& assignment, Duration from) {
  const bool told_all = !lost_its_process(assignment) && !is_failure(assignment.end->outcome);
  if (spec_[assignment.workflow].counted && told_all) return;
  const Duration to = book_.stopped_at(assignment);
  if (from < to) return book_.add_loss(assignment.workflow, how_lost(assignment), assignment.parts.count, from, to);
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
    if (last > counted && parts > 0) book_.add_loss(assignment.workflow, how_lost(assignment), parts, counted, last);
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

// --- a new owner -----------------------------------------------------------------------------------------------------

void JobKernel::adopt(Instant now, Duration ago, std::map<AssignmentId, uint64_t> applied, JobEffects& out) {
  book_.applied = std::move(applied);
  book_.owned = book_.adopting = book_.adopted = true;
  adopted_at_ = now;
  asked_until_ = now + rules_.adopt_limit;
  fence_.adopt(now);
  if (!record_.witnesses_before.empty()) record_.witnesses_since = record_.revision + 1;
  if (record_.started.unix_ns != 0) book_.zero = now - ago;
  if (is_final(record_.state)) {
    book_.over = true;
  } else {
    book_.follow_ingest(now);
  }
  for (const AssignmentRecord& assignment : record_.assignments) {
    book_.since[assignment.id] = now;
    if (is_live(assignment)) book_.unsighted.insert(assignment.id);
    const bool missed = is_live(assignment) && !book_.has_all_of(assignment);
    if (missed || (assignment.end && layers_.is_awaited(assignment.workflow))) asking_.insert(assignment.worker);
  }
  // A wall clock that is ahead would end workflows and reach timeouts too early. Without a clock only a job ends of
  // which all has completed.
  bool needs_clock = !asking_.empty();
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    const WorkflowRecord& one = record_.workflows[w];
    needs_clock = needs_clock || (!is_final(one.state) && (!one.begun || !book_.gaps(w).empty()));
  }
  for (const AssignmentRecord& assignment : record_.assignments) {
    needs_clock = needs_clock || (is_live(assignment) && book_.has_all_of(assignment) &&
                                  assignment.end->outcome != AssignmentOutcome::kCompleted);
  }
  for (auto one = record_.assignments.rbegin(); needs_clock && one != record_.assignments.rend(); ++one) {
    if (!book_.zero || asking_clock_.size() == kMaxAskedForClock) break;
    if (one->streams && !asking_.contains(one->worker)) asking_clock_.insert(one->worker);
  }
  if (record_.state == JobState::kSubmitted) book_.become(JobState::kQueued, {}, out);
  book_.changed = !book_.over;
  advance(now, out);
}

std::vector<std::string> JobKernel::workers_to_ask() const {
  std::vector<std::string> all(asking_.begin(), asking_.end());
  all.insert(all.end(), asking_clock_.begin(), asking_clock_.end());
  return all;
}

void JobKernel::sighted(Instant now, const std::string& worker, uint64_t life,
                        const std::vector<AssignmentSight>& sights, JobEffects& out) {
  if (!book_.owned || book_.over) return;
  const auto has_begun = [](const AssignmentSight& sight) { return sight.clock != Duration::zero(); };
  for (const AssignmentSight& sight : sights) {
    const AssignmentRecord* assignment = find(sight.assignment);
    const bool knows_better = book_.adopting || !book_.zero;
    if (!knows_better || !has_begun(sight) || assignment == nullptr || assignment->worker != worker) continue;
    const WorkflowRecord& one = record_.workflows[assignment->workflow];
    const uint64_t base = one.begun ? one.base_second : sight.from;
    // A part that ran once and was begun again: the clock of its workflow is another one now.
    if (spec_[assignment->workflow].length == Duration::zero() && sight.from != base) continue;
    // The workers know best when it began, also those on which it has ended.
    book_.zero = now - sight.clock - seconds(base);
    if (record_.started.unix_ns == 0) record_.started = book_.wall(*book_.zero);
    if (record_.state == JobState::kDispatching) book_.become(JobState::kRunning, {}, out);
    asking_clock_.clear();
    break;
  }
  for (AssignmentRecord& assignment : record_.assignments) {
    if (assignment.worker != worker || !is_live(assignment)) continue;
    book_.unsighted.erase(assignment.id);
    const auto sight = std::find_if(sights.begin(), sights.end(),
                                    [&](const AssignmentSight& one) { return one.assignment == assignment.id; });
    if (assignment.life != life || sight == sights.end()) {
      if (is_settled(assignment)) continue;
      book_.add_event(now, "assignment_lost", fmt::format("worker '{}' no longer has it", worker));
      lose(now, assignment, "its worker no longer has it", out);
      continue;
    }
    if (book_.is_spare(assignment)) {
      if (has_begun(*sight) && sight->phase == AssignmentPhase::kRunning) moves_.will_take_over(assignment.id);
    } else if (has_begun(*sight) && !assignment.streams) {
      BW_PROBE("dispatch: a begin that its owner did not live to write down");
      assignment.streams = true;
      assignment.from = sight->from;
      assignment.rows = book_.rows_before(now, assignment);
      book_.changed = true;
      WorkflowRecord& one = record_.workflows[assignment.workflow];
      if (!std::exchange(one.begun, true)) one.base_second = sight->from;
      if (!book_.adopting && one.state == WorkflowState::kAssigned)
        book_.become(assignment.workflow, WorkflowState::kRunning, {}, out);
      if (sight->from > one.base_second) {
        book_.write_losses(assignment.workflow, parts_of(assignment.parts), seconds(sight->from + 1));
      }
    }
    if (assignment.state == AssignmentState::kStopping && !book_.is_stopped(assignment.workflow) &&
        sight->phase == AssignmentPhase::kRunning && !is_final(record_.workflows[assignment.workflow].state)) {
      BW_PROBE("dispatch: an eviction that its owner did not live to carry out");
      out.push_back(job_effect::Stop{assignment.id, StopHow::kAtOnce, "it makes no progress", true});
    }
    if (assignment.state != AssignmentState::kStopping) {
      if (sight->phase == AssignmentPhase::kReady) book_.set(now, assignment, AssignmentState::kReady);
      // Also one that has ended, whose last seconds may not have arrived: it does not begin again.
      if (has_begun(*sight) && assignment.streams) book_.set(now, assignment, AssignmentState::kRunning);
      if (spec_[assignment.workflow].told_vus) out.push_back(job_effect::Scale{assignment.id});
    }
    if (assignment.state == AssignmentState::kOffered && sight->phase != AssignmentPhase::kEnded)
      out.push_back(job_effect::Offer{assignment.id});
    const WorkflowRecord& its = record_.workflows[assignment.workflow];
    const bool stopped = book_.is_stopped(assignment.workflow);
    if ((stopped || is_final(its.state)) && sight->phase != AssignmentPhase::kEnded) {
      book_.set(now, assignment, AssignmentState::kStopping);
      const bool at_once =
          (is_final(its.state) && (!its.graceful || its.at_once)) || (stopped && record_.stop->how == StopHow::kAtOnce);
      // Its workflow may have ended just now, which the next owner must know before its worker.
      JobEffects& orders = stopped ? out : book_.to_hold;
      orders.push_back(job_effect::Stop{assignment.id, at_once ? StopHow::kAtOnce : StopHow::kGraceful,
                                        stopped ? record_.stop->why : its.why});
    }
  }
  asking_.erase(worker);
  asking_clock_.erase(worker);
  for (const AssignmentSight& sight : sights) {
    if (sight.until != 0) handed_over(now, sight.assignment, sight.until, out);
    if (sight.phase != AssignmentPhase::kEnded) continue;
    const AssignmentRecord* assignment = find(sight.assignment);
    if (assignment != nullptr && assignment->worker == worker && !is_live(*assignment)) {
      layers_.hear_values(now, *assignment, sight.end.provided, out);
    }
    ended(now, sight.assignment, sight.end, out);
  }
  advance(now, out);
}

// All workers have reported what they run of it, or the limit has passed.
void JobKernel::adopted(Instant now, JobEffects& out) {
  book_.settle_clock(now);
  // The newest first: nothing begins for a lost one that was to follow another lost one.
  const std::map<AssignmentId, std::string> lost = std::exchange(lost_early_, {});
  for (std::size_t i = record_.assignments.size(); i-- > 0;) {
    AssignmentRecord& assignment = record_.assignments[i];
    if (!is_live(assignment)) continue;
    if (book_.has_all_of(assignment)) {
      finish(now, assignment, out);
    } else if (const auto one = lost.find(assignment.id); one != lost.end()) {
      lose(now, assignment, one->second, out);
    }
  }
  if (!asking_.empty()) {
    BW_PROBE("dispatch: a worker did not say what it runs");
    asking_.clear();
  }
  asking_clock_.clear();
  if (book_.zero) book_.add_event(now, "owner_changed", "another manager continues the run");
  for (std::size_t i = 0; i < record_.assignments.size(); ++i) {
    AssignmentRecord& assignment = record_.assignments[i];
    const WorkflowRecord& one = record_.workflows[assignment.workflow];
    if (!one.begun || is_final(one.state)) continue;
    if (assignment.streams && one.state == WorkflowState::kAssigned)
      book_.become(assignment.workflow, WorkflowState::kRunning, {}, out);
    if (assignment.state == AssignmentState::kReady && !book_.is_stopped(assignment.workflow))
      begin_assignment(now, assignment, out);
    const bool told = book_.is_spare(assignment) && find(assignment.follows)->until != 0;
    const bool goes = assignment.follows != AssignmentId() && assignment.state == AssignmentState::kRunning &&
                      now < book_.moment(assignment.from);
    if (goes || (told && !moves_.takes_over(assignment.id)))
      out.push_back(job_effect::TakeOver{assignment.id, book_.clock_of(assignment.workflow), goes});
  }
}

}  // namespace bellwether::dispatch
