#include "jobs/dispatch/job_book.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/check.h"

namespace bellwether::dispatch {
namespace {

std::string cut(std::string text) {
  if (text.size() > kMaxTextBytes) text.resize(kMaxTextBytes);
  return text;
}

}  // namespace

// Their numbers ascend (check_record()).
const AssignmentRecord* JobBook::find(AssignmentId assignment) const {
  const auto at = std::lower_bound(record.assignments.begin(), record.assignments.end(), assignment,
                                   [](const AssignmentRecord& one, AssignmentId id) { return one.id < id; });
  return at == record.assignments.end() || at->id != assignment ? nullptr : &*at;
}

bool JobBook::has_live(uint16_t workflow) const {
  return std::any_of(record.assignments.begin(), record.assignments.end(), [&](const AssignmentRecord& assignment) {
    return assignment.workflow == workflow && is_live(assignment);
  });
}

std::map<std::string_view, uint32_t> JobBook::parts_by_worker(std::optional<uint16_t> workflow) const {
  std::map<std::string_view, uint32_t> sums;
  for (const AssignmentRecord& assignment : record.assignments) {
    if (is_live(assignment) && assignment.workflow == workflow.value_or(assignment.workflow))
      sums[assignment.worker] += assignment.parts.count;
  }
  return sums;
}

std::vector<AssignmentId> JobBook::followers_of(AssignmentId from) const {
  std::vector<AssignmentId> found;
  for (const AssignmentRecord& assignment : record.assignments) {
    if (assignment.follows == from && is_live(assignment) && !assignment.streams) found.push_back(assignment.id);
  }
  return found;
}

std::vector<uint32_t> JobBook::gaps(uint16_t workflow) const {
  std::vector<bool> covered(record.workflows[workflow].parts, false);
  for (const AssignmentRecord& assignment : record.assignments) {
    if (assignment.workflow != workflow || assignment.handed_over) continue;
    // All of its iterations had begun: nothing is left for others.
    const bool leaves_nothing = spec[workflow].counted && assignment.streams && assignment.left == 0;
    if (assignment.state == AssignmentState::kGone && !leaves_nothing) continue;
    for (uint32_t i = 0; i < assignment.parts.count && assignment.parts.first + i < covered.size(); ++i) {
      covered[assignment.parts.first + i] = true;
    }
  }
  std::vector<uint32_t> left;
  for (uint32_t part = 0; part < covered.size(); ++part) {
    if (!covered[part]) left.push_back(part);
  }
  return left;
}

bool JobBook::is_spare(const AssignmentRecord& assignment) const {
  if (assignment.follows == AssignmentId() || assignment.streams || !is_live(assignment)) return false;
  const AssignmentRecord* const from = find(assignment.follows);
  return from != nullptr && is_live(*from) && !from->handed_over;
}

JobBook::Hearing JobBook::hearing(AssignmentId id, uint64_t second) const {
  const AssignmentRecord* const assignment = find(id);
  if (assignment == nullptr) return Hearing::kUnknown;
  if (assignment->streams) {
    const bool unsettled =
        is_live(*assignment) && assignment->until != 0 && !assignment->handed_over && second >= assignment->until;
    return unsettled ? Hearing::kWaits : Hearing::kCounts;
  }
  if (assignment->follows == AssignmentId()) return Hearing::kUnknown;
  return is_live(*assignment) ? Hearing::kWaits : Hearing::kExcess;
}

// An heir that died before its time gets a replacement that must not begin earlier.
Instant JobBook::runs_elsewhere_until(const AssignmentRecord& assignment) const {
  // The clock of a new owner may be behind the seconds that were measured: no second of a part counts twice.
  const auto told_until = [this](const AssignmentRecord& gone) -> Instant {
    if (spec[gone.workflow].length == Duration::zero()) return {};
    if (gone.end) return moment(record.workflows[gone.workflow].base_second) + gone.end->ran;
    const auto known = applied.find(gone.id);
    return moment(gone.from + (known == applied.end() ? 0 : known->second));
  };
  Instant until;
  for (const AssignmentRecord& other : record.assignments) {
    const bool overlaps = other.parts.first < assignment.parts.first + assignment.parts.count &&
                          assignment.parts.first < other.parts.first + other.parts.count;
    if (other.id == assignment.id || other.workflow != assignment.workflow || !overlaps) continue;
    if (other.handed_over && is_live(other)) until = std::max(until, moment(other.until));
    if (other.state == AssignmentState::kGone && other.streams) until = std::max(until, told_until(other));
  }
  return until;
}

bool JobBook::has_all_of(const AssignmentRecord& assignment) const {
  if (!assignment.end || !assignment.streams) return assignment.end.has_value();
  const auto known = applied.find(assignment.id);
  return assignment.end->last_number <= (known == applied.end() ? 0 : known->second);
}

bool JobBook::waits(uint16_t workflow) const {
  const WorkflowRecord& one = record.workflows[workflow];
  return one.state == WorkflowState::kPending || (one.state == WorkflowState::kRetrying && !one.begun);
}

bool JobBook::is_past(Instant now, uint16_t workflow) const {
  return record.workflows[workflow].begun && spec[workflow].length > Duration::zero() &&
         now >= clock_of(workflow) + spec[workflow].length;
}

plan::WorkflowProgress JobBook::progress(uint16_t workflow) const {
  const WorkflowState state = record.workflows[workflow].state;
  if (!is_final(state)) return plan::WorkflowProgress::kOpen;
  return state == WorkflowState::kCompleted ? plan::WorkflowProgress::kCompleted : plan::WorkflowProgress::kEnded;
}

Instant JobBook::clock_of(uint16_t workflow) const {
  check(zero.has_value(), "a clock is asked for after the begin");
  return *zero + seconds(record.workflows[workflow].base_second);
}

// By the clock of the run.
Instant JobBook::end_of_last() const {
  Instant last = *zero;
  for (const AssignmentRecord& assignment : record.assignments) {
    if (assignment.end && assignment.streams)
      last = std::max(last, clock_of(assignment.workflow) + assignment.end->ran);
  }
  return last;
}

Duration JobBook::stopped_at(const AssignmentRecord& assignment) {
  const Duration planned = planned_end(assignment.workflow);
  Duration latest = assignment.handed_over ? std::min(planned, assignment.lost_from) : planned;
  // What does not stop is killed so long after the order. An owner after the one that gave it knows no other time.
  if (assignment.end && assignment.end->outcome == AssignmentOutcome::kKilled)
    latest = std::min(latest, ran_until({}, assignment) - rules.kill_grace);
  if (const plan::Loss* const rest = rest_of(assignment.workflow)) return std::min(rest->from, latest);
  const WorkflowState state = record.workflows[assignment.workflow].state;
  if (state == WorkflowState::kCancelled || state == WorkflowState::kFailed) return latest;
  return std::min(elapsed(since[assignment.id]), latest);
}

void JobBook::settle_clock(Instant now) {
  adopting = false;
  auto event = record.events.end() - std::ssize(early_events);
  for (const Instant at : std::exchange(early_events, {})) (event++)->at = elapsed(at);
  Duration last;
  for (JobEvent& one : record.events) last = one.at = std::min(std::max(one.at, last), elapsed(now));
  for (const EarlyRest& one : std::exchange(early_rests, {})) {
    if (one.from) {
      move_rest(one.workflow, *one.from, std::min(elapsed(one.at), planned_end(one.workflow)));
    } else {
      lose_rest(one.at, one.workflow);
    }
  }
}

// --- witnesses -------------------------------------------------------------------------------------------------------

std::vector<Witness> JobBook::all_witnesses() const {
  std::vector<Witness> all = record.witnesses;
  for (const Witness& one : record.witnesses_before) {
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  }
  return all;
}

void JobBook::set_witnesses(std::vector<Witness> next) {
  record.witnesses = std::move(next);
  record.witnesses_since = record.revision + 1;
  changed = true;
}

// --- changes ---------------------------------------------------------------------------------------------------------

void JobBook::become(JobState to, std::string why, JobEffects& out) {
  const JobState from = record.state;
  if (from == to) return;
  check(may_become(from, to), "a job goes from one state to the next as the table says");
  record.state = to;
  record.why = cut(std::move(why));
  changed = true;
  out.push_back(job_effect::Moved{"job", to_string(from), to_string(to), record.why});
}

void JobBook::become(uint16_t workflow, WorkflowState to, std::string why, JobEffects& out) {
  WorkflowRecord& one = record.workflows[workflow];
  const WorkflowState from = one.state;
  if (from == to) return;
  check(may_become(from, to), "a workflow goes from one state to the next as the table says");
  one.state = to;
  one.why = cut(std::move(why));
  changed = true;
  out.push_back(job_effect::Moved{spec[workflow].name, to_string(from), to_string(to), one.why});
}

void JobBook::skip_dependents(JobEffects& out) {
  bool again = true;
  while (again) {
    again = false;
    for (uint16_t w = 0; w < spec.size(); ++w) {
      if (record.workflows[w].state != WorkflowState::kPending) continue;
      const auto need = plan::waits_in_vain_for(spec[w], [this](uint16_t one) { return progress(one); });
      if (!need) continue;
      const std::string_view state = to_string(record.workflows[*need].state);
      become(w, WorkflowState::kSkipped, fmt::format("'{}' is {}", spec[*need].name, state), out);
      again = true;
    }
  }
}

void JobBook::fail_workflow(Instant now, uint16_t workflow, WorkflowState to, const std::string& why, JobEffects& out) {
  if (is_final(record.workflows[workflow].state)) return;
  become(workflow, to, why, out);
  stop_assignments(now, workflow, StopHow::kAtOnce, "its workflow has failed", out);
  lose_rest(now, workflow);
}

void JobBook::stop_assignments(Instant now, uint16_t workflow, StopHow how, const std::string& why, JobEffects& out) {
  for (AssignmentRecord& assignment : record.assignments) {
    // What has ended, a new owner carries out when the clock of the run is certain.
    if (assignment.workflow != workflow || !is_live(assignment) || has_all_of(assignment)) continue;
    if (!assignment.streams) {
      // Nothing of it has begun, so no result will come.
      out.push_back(job_effect::Stop{assignment.id, StopHow::kAtOnce, why});
      set(now, assignment, AssignmentState::kGone);
    } else {
      to_hold.push_back(job_effect::Stop{assignment.id, how, why});
      set(now, assignment, AssignmentState::kStopping);
    }
  }
}

void JobBook::set(Instant now, AssignmentRecord& assignment, AssignmentState state) {
  assignment.state = state;
  since[assignment.id] = now;
  changed = true;
}

void JobBook::add_event(Instant now, std::string kind, std::string detail) {
  changed = true;
  std::vector<JobEvent>& events = record.events;
  if (events.size() >= kMaxJobEvents) {
    // A flood of one kind displaces its own.
    const auto newer = events.begin() + kMaxJobEvents / 2;
    const auto alike = std::ranges::find(newer, events.end(), kind, &JobEvent::kind);
    const auto dropped = alike != events.end() ? alike : newer;
    const auto left = events.end() - dropped;
    if (left <= std::ssize(early_events)) early_events.erase(early_events.end() - left);
    events.erase(dropped);
    ++record.events_dropped;
  }
  if (adopting) early_events.push_back(now);
  events.push_back({elapsed(now), std::move(kind), cut(std::move(detail))});
}

void JobBook::flush(JobEffects& out) {
  if (std::exchange(changed, false)) {
    ++record.revision;
    for (const AssignmentId assignment : std::exchange(to_take_over, {})) {
      held.push_back({record.revision, job_effect::TakeOver{assignment, clock_of(find(assignment)->workflow)}});
    }
    for (JobEffect& effect : std::exchange(to_hold, {})) held.push_back({record.revision, std::move(effect)});
    out.push_back(job_effect::Keep{record.revision});
  }
}

void JobBook::kept(Instant now, uint64_t revision, JobEffects& out) {
  kept_revision = std::max(kept_revision, revision);
  const auto later =
      std::partition(held.begin(), held.end(), [&](const Held& one) { return one.revision <= revision; });
  std::vector<Held> due(std::make_move_iterator(held.begin()), std::make_move_iterator(later));
  held.erase(held.begin(), later);
  for (Held& one : due) {
    if (const auto* offer = std::get_if<job_effect::Offer>(&one.effect)) {
      AssignmentRecord* assignment = find(offer->assignment);
      if (assignment == nullptr || assignment->state != AssignmentState::kOffered) continue;
      since[offer->assignment] = now;
    }
    if (const auto* taking = std::get_if<job_effect::TakeOver>(&one.effect)) {
      const AssignmentRecord* const assignment = find(taking->assignment);
      if (assignment == nullptr || !is_spare(*assignment)) continue;
    }
    if (const auto* stopping = std::get_if<job_effect::Stop>(&one.effect)) {
      const AssignmentRecord* assignment = find(stopping->assignment);
      if (assignment == nullptr || !is_live(*assignment)) continue;
      since[stopping->assignment] = now;
    }
    if (std::holds_alternative<job_effect::Over>(one.effect)) over = true;
    out.push_back(std::move(one.effect));
  }
}

}  // namespace bellwether::dispatch
