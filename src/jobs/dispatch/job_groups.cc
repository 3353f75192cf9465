#include "jobs/dispatch/job_groups.h"

#include <algorithm>

#include "core/base/probe.h"
#include "core/base/units.h"
#include "load/plan/schedule.h"

namespace bellwether::dispatch {

uint32_t deaths(const JobBook& book, uint16_t workflow, uint32_t part) {
  return static_cast<uint32_t>(std::count_if(
      book.record.assignments.begin(), book.record.assignments.end(), [&](const AssignmentRecord& assignment) {
        return has_part(assignment, workflow, part) && assignment.state == AssignmentState::kGone &&
               assignment.streams && !assignment.handed_over && (!assignment.end || lost_its_process(assignment));
      }));
}

std::vector<uint16_t> JobGroups::ready() const {
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
void JobGroups::plan(Instant now, JobEffects& out) {
  if (again_ && now < *again_) return;
  again_.reset();
  if (!layers_.pass_border(now, out)) return;
  uint32_t total = 0;
  uint32_t free = 0;
  for (const WorkerSight& worker : pool_.workers()) {
    if (!pool_.usable(now, worker)) continue;
    total += worker.cores;
    free += worker.free;
  }
  const std::vector<uint16_t> next = ready();
  if (next.empty()) return;  // a teardown, until nothing runs any more of what failed
  if (total == 0) {
    if (std::any_of(pool_.workers().begin(), pool_.workers().end(),
                    [](const WorkerSight& worker) { return worker.held; })) {
      no_workers_since_.reset();
      return;
    }
    if (!no_workers_since_) no_workers_since_ = now;
    if (now - *no_workers_since_ < rules_.worker_wait) return;
    const std::string why = fmt::format("no worker accepted work for {}", format_duration(rules_.worker_wait));
    for (const uint16_t w : next) book_.become(w, WorkflowState::kFailed, why, out);
    no_workers_since_.reset();
    return book_.skip_dependents(out);
  }
  no_workers_since_.reset();
  std::vector<plan::CoreDemand> demands;
  for (const uint16_t w : next) demands.push_back({w, spec_[w].priority, spec_[w].is_test, spec_[w].vus});
  const std::vector<plan::CoreGrant> group = plan::core_batches(demands, total).front();
  uint32_t wanted = 0;
  for (const plan::CoreGrant& grant : group) wanted += grant.cores;
  if (wanted > free) return;
  for (const plan::CoreGrant& grant : group) {
    std::vector<uint32_t> parts(grant.cores);
    for (uint32_t i = 0; i < grant.cores; ++i) parts[i] = i;
    record_.workflows[grant.workflow].parts = grant.cores;
    if (!pool_.place(now, grant.workflow, parts, false))
      return take_back(now, "no cores of workers are free", false, out);
    book_.become(grant.workflow, WorkflowState::kAssigned, {}, out);
  }
  if (!book_.zero) book_.set_witnesses(pool_.witnesses(now));
  if (record_.state == JobState::kQueued) book_.become(JobState::kDispatching, {}, out);
}

// Parts of assigned workflows that no worker runs.
void JobGroups::fill_gaps(Instant now, JobEffects& out) {
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    WorkflowRecord& one = record_.workflows[w];
    if (!book_.is_active(w)) continue;
    const std::vector<uint32_t> left = book_.gaps(w);
    // While others of its parts run, the missing ones are tried to the end.
    if (left.empty() || (one.begun && book_.has_live(w))) {
      gap_since_.erase(w);
    } else {
      gap_since_.try_emplace(w, now);
    }
    if (left.empty()) continue;
    if (hopeless(now, w)) {
      gap_since_.erase(w);
      if (one.begun) continue;
      return take_back(now, "its worker refused the assignment or died, and no other worker has room", true, out);
    }
    // Before the begin nothing is squeezed in: it would distort the whole measurement.
    if (!one.begun) {
      if (!pool_.place(now, w, left, false))
        return take_back(now, fmt::format("no other worker has room for '{}'", spec_[w].name), !busy_, out);
      continue;
    }
    std::vector<uint32_t> placeable;
    for (const uint32_t part : left) {
      if (deaths(book_, w, part) <= rules_.retries_most) placeable.push_back(part);
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
void JobGroups::take_back(Instant now, const std::string& why, bool counts, JobEffects& out) {
  // What the owner before may have begun goes to nobody else until its worker has said whether it has.
  if (std::ranges::any_of(record_.assignments, [this](const AssignmentRecord& assignment) {
        return book_.may_have_begun(assignment) && !record_.workflows[assignment.workflow].begun;
      }))
    return;
  BW_PROBE("dispatch: a group is taken back");
  // To wait for cores is no failure.
  if (counts) ++attempts_;
  busy_ = false;
  const bool enough = attempts_ >= rules_.dispatch_attempts;
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
  again_ = now + rules_.dispatch_pause * (int64_t{1} << std::min(std::max(attempts_, 1U) - 1, 10U));
  if (enough) attempts_ = 0;
  book_.skip_dependents(out);
  if (record_.state == JobState::kDispatching && !book_.all_ended()) book_.become(JobState::kQueued, why, out);
}

// No worker will run the parts that do not run now.
bool JobGroups::hopeless(Instant now, uint16_t workflow) const {
  const std::vector<uint32_t> left = book_.gaps(workflow);
  const auto too_often = [&](uint32_t part) { return deaths(book_, workflow, part) > rules_.retries_most; };
  if (!left.empty() && std::all_of(left.begin(), left.end(), too_often)) return true;
  const auto since = gap_since_.find(workflow);
  if (since != gap_since_.end() && now - since->second >= rules_.dispatch_limit) return true;
  return book_.is_past(now, workflow);
}

Instant JobGroups::wake() const {
  Instant next = Instant::never();
  for (const auto& [w, since] : gap_since_) {
    if (!book_.is_active(w) || book_.is_stopped(w)) continue;  // nobody fills them any more
    next = std::min(next, since + rules_.dispatch_limit);
    if (book_.zero && spec_[w].length > Duration::zero()) next = std::min(next, book_.clock_of(w) + spec_[w].length);
  }
  if (book_.any_active()) return next;
  if (again_) next = std::min(next, *again_);
  return no_workers_since_ ? std::min(next, *no_workers_since_ + rules_.worker_wait) : next;
}

}  // namespace bellwether::dispatch
