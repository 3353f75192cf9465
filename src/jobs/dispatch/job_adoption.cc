// A new owner takes over a job: it asks the workers what they run, and when the run began.

#include <algorithm>
#include <utility>

#include "core/base/probe.h"
#include "jobs/dispatch/job_kernel.h"

namespace bellwether::dispatch {
namespace {

// A new owner asks so many workers for the clock of the run that have nothing else to tell.
constexpr std::size_t kMaxAskedForClock = 5;

}  // namespace

void JobKernel::adopt(Instant now, Duration ago, std::map<AssignmentId, uint64_t> applied, JobEffects& out) {
  book_.applied = std::move(applied);
  book_.owned = book_.adopting = book_.adopted = true;
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
    if (!book_.adopting || !has_begun(sight) || assignment == nullptr || assignment->worker != worker) continue;
    const WorkflowRecord& one = record_.workflows[assignment->workflow];
    const uint64_t base = one.begun ? one.base_second : sight.from;
    // A part that ran once and was begun again: the clock of its workflow is another one now.
    if (spec_[assignment->workflow].length == Duration::zero() && sight.from != base) continue;
    // The workers know best when it began, also those on which it has ended.
    book_.zero = now - sight.clock - seconds(base);
    if (record_.started.unix_ns == 0) record_.started = book_.wall(*book_.zero);
    asking_clock_.clear();
    break;
  }
  for (AssignmentRecord& assignment : record_.assignments) {
    if (assignment.worker != worker || !is_live(assignment)) continue;
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
      if (sight->phase == AssignmentPhase::kRunning && assignment.streams)
        book_.set(now, assignment, AssignmentState::kRunning);
      if (spec_[assignment.workflow].told_vus) out.push_back(job_effect::Scale{assignment.id});
    }
    if (assignment.state == AssignmentState::kOffered && sight->phase != AssignmentPhase::kEnded)
      out.push_back(job_effect::Offer{assignment.id});
    const WorkflowRecord& its = record_.workflows[assignment.workflow];
    const bool stopped = book_.is_stopped(assignment.workflow);
    if ((stopped || is_final(its.state)) && sight->phase != AssignmentPhase::kEnded) {
      book_.set(now, assignment, AssignmentState::kStopping);
      // Its workflow may have ended just now, which the next owner must know before its worker.
      JobEffects& orders = stopped ? out : book_.to_hold;
      orders.push_back(job_effect::Stop{assignment.id, stopped ? record_.stop->how : StopHow::kAtOnce,
                                        stopped ? record_.stop->why : its.why});
    }
  }
  asking_.erase(worker);
  asking_clock_.erase(worker);
  fence_.sighted(worker);
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
  if (book_.zero && record_.state == JobState::kDispatching) book_.become(JobState::kRunning, {}, out);
}

}  // namespace bellwether::dispatch
