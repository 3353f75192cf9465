#include "jobs/dispatch/job_book.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/check.h"
#include "core/base/probe.h"
#include "core/base/units.h"
#include "load/plan/schedule.h"

namespace bellwether::dispatch {
namespace {

// Whether an assignment holds, or held, this part of the workflow.
bool has_part(const AssignmentRecord& assignment, uint16_t workflow, uint32_t part) {
  return assignment.workflow == workflow && part >= assignment.parts.first &&
         part - assignment.parts.first < assignment.parts.count;
}

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

Duration JobBook::elapsed(Instant now) const { return zero && now > *zero ? now - *zero : Duration::zero(); }

// By the clock of the run.
Instant JobBook::end_of_last() const {
  Instant last = *zero;
  for (const AssignmentRecord& assignment : record.assignments) {
    if (assignment.end && assignment.streams)
      last = std::max(last, clock_of(assignment.workflow) + assignment.end->ran);
  }
  return last;
}

// --- losses ----------------------------------------------------------------------------------------------------------

uint32_t JobBook::deaths(uint16_t workflow, uint32_t part) const {
  return static_cast<uint32_t>(
      std::count_if(record.assignments.begin(), record.assignments.end(), [&](const AssignmentRecord& assignment) {
        return has_part(assignment, workflow, part) && assignment.state == AssignmentState::kGone &&
               assignment.streams && !assignment.handed_over && (!assignment.end || lost_its_process(assignment));
      }));
}

uint64_t JobBook::iterations_of(uint16_t workflow, uint32_t part) const {
  if (!spec[workflow].counted) return 0;
  const AssignmentRecord* last = nullptr;
  for (const AssignmentRecord& assignment : record.assignments) {
    if (has_part(assignment, workflow, part) && assignment.state == AssignmentState::kGone && assignment.streams)
      last = &assignment;
  }
  return last == nullptr ? spec[workflow].counted->planned(part, record.workflows[workflow].parts)
                         : plan::dealt_to(last->left, part - last->parts.first, last->parts.count);
}

uint32_t JobBook::succeeded(const AssignmentRecord& assignment) const {
  uint32_t count = 0;
  for (const uint32_t part : parts_of(assignment.parts)) {
    count += std::any_of(record.assignments.begin(), record.assignments.end(), [&](const AssignmentRecord& other) {
      return has_part(other, assignment.workflow, part) && other.id.value() > assignment.id.value() && other.streams;
    });
  }
  return count;
}

std::string JobBook::how_lost(const AssignmentRecord& assignment) {
  const bool left = assignment.end && assignment.end->outcome == AssignmentOutcome::kLeft;
  return fmt::format("worker '{}' {}", assignment.worker,
                     left                           ? "left"
                     : lost_its_process(assignment) ? "lost the process of an assignment"
                                                    : "was lost");
}

void JobBook::add_loss(uint16_t workflow, const std::string& how, uint32_t parts, Duration from, Duration to) {
  plan::Loss loss{from, to, static_cast<double>(parts) / std::max(record.workflows[workflow].parts, 1U),
                  fmt::format("{}, workflow '{}'", how, spec[workflow].name)};
  if (record.losses.size() < kMaxLosses) {
    record.losses.push_back(std::move(loss));
    return;
  }
  // At no moment did a workflow lose more than this entry says.
  plan::Loss& last = record.losses.back();
  if (merged.empty()) merged.push_back({std::nullopt, last.from, last.to, last.ratio});
  double at_once = loss.ratio;
  for (const MergedLoss& one : merged) {
    const bool is_its = !one.workflow || *one.workflow == workflow;
    if (is_its && one.from < loss.to && loss.from < one.to) at_once += one.ratio;
  }
  if (merged.size() < kMaxMerged) {
    merged.push_back({workflow, loss.from, loss.to, loss.ratio});
  } else {
    MergedLoss& all = merged.back();
    all = {std::nullopt, std::min(all.from, loss.from), std::max(all.to, loss.to), std::max(all.ratio, at_once)};
  }
  last = {std::min(last.from, loss.from), std::max(last.to, loss.to), std::min(std::max(last.ratio, at_once), 1.0),
          std::string(kMergedLosses)};
}

void JobBook::write_losses(uint16_t workflow, const std::vector<uint32_t>& parts, Duration until) {
  if (spec[workflow].counted) return;
  const bool once = spec[workflow].length == Duration::zero();
  const Duration begin = seconds(record.workflows[workflow].base_second);
  std::map<std::pair<Duration, std::string>, uint32_t> lost;  // from when, and the cause: number of parts
  for (const uint32_t part : parts) {
    const AssignmentRecord* last = nullptr;
    for (const AssignmentRecord& assignment : record.assignments) {
      const bool given_up = assignment.state == AssignmentState::kGone || assignment.handed_over;
      const bool had = has_part(assignment, workflow, part) && given_up && assignment.streams;
      if (had && (last == nullptr || assignment.lost_from >= last->lost_from)) last = &assignment;
    }
    if (last == nullptr && once) continue;
    ++lost[last == nullptr ? std::pair(begin, std::string("no worker had started it"))
                           : std::pair(last->lost_from, how_lost(*last))];
  }
  for (const auto& [what, count] : lost)
    add_loss(workflow, what.second, count, what.first, std::max(what.first, until));
}

void JobBook::lose_gaps(uint16_t workflow, const std::vector<uint32_t>& parts, Duration until) {
  write_losses(workflow, parts, until);
  if (!spec[workflow].counted) return;
  uint64_t left = 0;
  for (const uint32_t part : parts) left += iterations_of(workflow, part);
  Duration from = until;
  for (const AssignmentRecord& assignment : record.assignments) {
    if (assignment.workflow == workflow && assignment.left > 0) from = std::min(from, assignment.lost_from);
  }
  add_loss(workflow, format_count(left, "iteration") + " that no remaining worker could run",
           static_cast<uint32_t>(parts.size()), from, until);
}

namespace {

// Two machines may disagree by this time about the clock of a workflow.
constexpr Duration kClocksDiffer = Duration::millis(500);

}  // namespace

uint64_t JobBook::unreported(const AssignmentRecord& assignment, Duration by) const {
  const auto numbers = applied.find(assignment.id);
  const auto told = iterated.find(assignment.id);
  const Duration silence = by - seconds(assignment.from + (numbers == applied.end() ? 0 : numbers->second));
  return plan::begun_within(told == iterated.end() ? 0 : told->second.pace,
                            plan::users_of_part(spec[assignment.workflow].vus, assignment.parts.of),
                            std::max(silence, Duration::zero()) + kClocksDiffer);
}

Duration JobBook::reported_until(const AssignmentRecord& assignment) const {
  const auto numbers = applied.find(assignment.id);
  const auto told = iterated.find(assignment.id);
  const bool has_any = numbers != applied.end() && numbers->second > 0;
  const Duration idle = has_any && told != iterated.end() ? told->second.idle : Duration::zero();
  return seconds(assignment.from + (has_any ? numbers->second : 0)) - idle;
}

// The end of a process that was killed says nothing about its time.
Duration JobBook::ran_until(Instant now, const AssignmentRecord& assignment) const {
  if (!assignment.end || lost_its_process(assignment)) return elapsed(now);
  return seconds(record.workflows[assignment.workflow].base_second) + assignment.end->ran;
}

plan::RowPoint JobBook::rows_by(const AssignmentRecord& assignment, Duration by) const {
  const Duration base = seconds(record.workflows[assignment.workflow].base_second);
  plan::RowPoint point = assignment.rows;
  const auto told = iterated.find(assignment.id);
  const auto numbers = applied.find(assignment.id);
  const bool has_told = told != iterated.end() && numbers != applied.end() && numbers->second > 0;
  if (has_told && told->second.taken > 0) {
    point.at = seconds(assignment.from + numbers->second) - base;
    point.rows = std::max(point.rows, told->second.taken);
  } else if (has_told && !spec[assignment.workflow].open_model) {
    point.rows += told->second.ended;  // a worker of an older version reports no rows: one part may have taken all
  }
  // The next assignment adds the arrivals that were due since.
  if (spec[assignment.workflow].open_model) return point;
  if (!has_told_all(assignment)) point.rows += unreported(assignment, by);
  point.at = std::max(point.at, by - base);
  return point;
}

plan::RowPoint JobBook::rows_before(Instant now, const AssignmentRecord& assignment) const {
  if (!spec[assignment.workflow].takes_rows) return {};
  std::optional<plan::RowPoint> most;
  for (const uint32_t part : parts_of(assignment.parts)) {
    const AssignmentRecord* last = nullptr;
    for (const AssignmentRecord& one : record.assignments) {
      const bool ceded = one.state == AssignmentState::kGone || one.handed_over;
      if (one.id != assignment.id && has_part(one, assignment.workflow, part) && one.streams && ceded) last = &one;
    }
    if (last == nullptr) continue;
    if (!most) most = last->rows;
    most = {std::max(most->rows, last->rows.rows), std::min(most->at, last->rows.at)};
  }
  const Duration ran = elapsed(now) - seconds(record.workflows[assignment.workflow].base_second);
  return most.value_or(plan::RowPoint{0, std::max(ran, Duration::zero())});
}

// Others begin no iteration that it may have begun; those of them that it did not report are lost.
void JobBook::lose_iterations(Instant now, AssignmentRecord& assignment) {
  if (!spec[assignment.workflow].counted) return;
  const plan::Iterated& told = iterated[assignment.id];
  const Duration ran = ran_until(now, assignment);
  uint64_t begun = std::max(told.begun, told.ended);
  if (!has_told_all(assignment)) {
    const uint64_t more = unreported(assignment, ran);
    begun = more < assignment.iterations ? begun + more * assignment.parts.count : assignment.iterations;
  }
  if (assignment.end && assignment.end->outcome == AssignmentOutcome::kCompleted) begun = assignment.iterations;
  begun = std::min(begun, assignment.iterations);
  assignment.left = assignment.iterations - begun;
  if (begun <= told.ended) return;
  add_loss(assignment.workflow,
           fmt::format("{} with {} that it may have started", how_lost(assignment),
                       format_count(begun - told.ended, "iteration")),
           assignment.parts.count, assignment.lost_from, std::max(ran, assignment.lost_from));
}

// A workflow that ends early, while the run goes on, is missing from then on.
void JobBook::lose_rest(Instant now, uint16_t workflow, const std::string& how) {
  const WorkflowRecord& one = record.workflows[workflow];
  if (!one.begun || one.parts == 0 || is_past(now, workflow) || spec[workflow].length == Duration::zero()) return;
  add_loss(workflow, how, one.parts, elapsed(now), clock_of(workflow) + spec[workflow].length - *zero);
}

// The ingest is a copy, and may be older than the record. Seconds that it lacks of ended assignments are still with
// their workers: the owner asks them, like the running ones. Seconds of assignments that are gone are lost.
void JobBook::follow_ingest(Instant now) {
  for (AssignmentRecord& assignment : record.assignments) {
    if (!assignment.streams || has_all_of(assignment)) continue;
    const Duration until = reported_until(assignment);
    if (assignment.state == AssignmentState::kEnded) {
      BW_PROBE("dispatch: an assignment has ended whose last seconds the ingest lacks");
      set(now, assignment, AssignmentState::kStopping);
      had_ended.insert(assignment.id);
    } else if (assignment.state == AssignmentState::kGone && until < assignment.lost_from) {
      BW_PROBE("dispatch: an assignment is gone whose last seconds the ingest lacks");
      // Of parts that no other assignment continued, the loss is not recorded yet; of iterations all of it is.
      const bool all = is_final(record.workflows[assignment.workflow].state) || spec[assignment.workflow].counted;
      const uint32_t written = all ? assignment.parts.count : succeeded(assignment);
      if (written > 0) add_loss(assignment.workflow, how_lost(assignment), written, until, assignment.lost_from);
      assignment.lost_from = until;
      changed = true;
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
  lose_rest(now, workflow, std::string(to_string(to)));
  become(workflow, to, why, out);
  stop_assignments(now, workflow, StopHow::kAtOnce, "its workflow has failed", out);
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
    events.erase(alike != events.end() ? alike : newer);
    ++record.events_dropped;
  }
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
