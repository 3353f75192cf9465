// The losses of a job: what its record says about load that was not made, or not reported.

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/probe.h"
#include "core/base/units.h"
#include "jobs/dispatch/job_book.h"
#include "load/plan/schedule.h"

namespace bellwether::dispatch {
namespace {

// Two machines may disagree by this time about the clock of a workflow.
constexpr Duration kClocksDiffer = Duration::millis(500);
// An order to stop arrives within this time, unless something is wrong.
constexpr Duration kStopTakes = Duration::seconds(1);
constexpr double kNoLoad = 1e-9;  // of a ratio from which those of all parts were taken

std::string cause_of(std::string_view how, const WorkflowSpec& workflow) {
  return fmt::format("{}, workflow '{}'", how, workflow.name);
}

// The last one that ran this part and runs it no more; nullptr: none.
const AssignmentRecord* last_of(const JobBook& book, uint16_t workflow, uint32_t part) {
  const AssignmentRecord* last = nullptr;
  for (const AssignmentRecord& assignment : book.record.assignments) {
    const bool given_up = assignment.state == AssignmentState::kGone || assignment.handed_over;
    const bool had = has_part(assignment, workflow, part) && given_up && assignment.streams;
    if (had && (last == nullptr || assignment.lost_from >= last->lost_from)) last = &assignment;
  }
  return last;
}

// The most iterations that a part of an assignment may have begun in the seconds before `by` of the run that it did not
// report.
uint64_t unreported(const JobBook& book, const AssignmentRecord& assignment, Duration by) {
  const auto numbers = book.applied.find(assignment.id);
  const auto told = book.iterated.find(assignment.id);
  const Duration silence = by - seconds(assignment.from + (numbers == book.applied.end() ? 0 : numbers->second));
  return plan::begun_within(told == book.iterated.end() ? 0 : told->second.pace,
                            plan::users_of_part(book.spec[assignment.workflow].vus, assignment.parts.of),
                            std::max(silence, Duration::zero()) + kClocksDiffer);
}

}  // namespace

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

void JobBook::add_loss(uint16_t workflow, const std::string& how, uint32_t parts, Duration from, Duration to) {
  plan::Loss loss{from, to, static_cast<double>(parts) / std::max(record.workflows[workflow].parts, 1U),
                  cause_of(how, spec[workflow])};
  if (merged.empty() && record.losses.size() < kMaxLosses) {
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

void JobBook::write_losses(uint16_t workflow, const std::vector<uint32_t>& parts, Duration until, Duration after) {
  if (spec[workflow].counted) return;
  const bool once = spec[workflow].length == Duration::zero();
  const Duration begin = seconds(record.workflows[workflow].base_second);
  std::map<std::pair<Duration, std::string>, uint32_t> lost;  // from when, and the cause: number of parts
  for (const uint32_t part : parts) {
    const AssignmentRecord* const last = last_of(*this, workflow, part);
    if (last == nullptr && once) continue;
    ++lost[last == nullptr ? std::pair(std::max(begin, after), std::string("no worker had started it"))
                           : std::pair(std::max(last->lost_from, after), how_lost(*last))];
  }
  for (const auto& [what, count] : lost) {
    // What runs once is lost, not the time of it.
    if (once || what.first < until) add_loss(workflow, what.second, count, what.first, std::max(what.first, until));
  }
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
  if (!has_told_all(assignment)) point.rows += unreported(*this, assignment, by);
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
    const uint64_t more = unreported(*this, assignment, ran);
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

// A new owner writes it at once, so that no owner after it misses the loss, and moves it when it knows the clock.
void JobBook::lose_rest(Instant now, uint16_t workflow) {
  const WorkflowRecord& one = record.workflows[workflow];
  if (adopting) early_rests.push_back({now, workflow, {}});
  if (!one.begun || one.parts == 0 || spec[workflow].length == Duration::zero()) return;
  const Duration planned = planned_end(workflow);
  const Duration until = std::min(elapsed(now), planned);
  write_losses(workflow, gaps(workflow), until);
  if (until < planned) add_loss(workflow, std::string(to_string(one.state)), one.parts, until, planned);
  if (adopting) early_rests.back().from = until;
}

plan::Loss* JobBook::rest_of(uint16_t workflow) {
  const std::string cause = cause_of(to_string(record.workflows[workflow].state), spec[workflow]);
  plan::Loss* first = nullptr;
  for (plan::Loss& loss : record.losses) {
    const bool its = loss.cause == cause && loss.to == planned_end(workflow);
    if (its && (first == nullptr || loss.from < first->from)) first = &loss;
  }
  return first;
}

// What a full list has merged stays: only a rest is merged again, which is all of the load anyway.
void JobBook::move_rest(uint16_t workflow, Duration before, Duration from) {
  const WorkflowRecord& one = record.workflows[workflow];
  if (const plan::Loss* const rest = rest_of(workflow))
    record.losses.erase(record.losses.begin() + (rest - record.losses.data()));
  for (plan::Loss& loss : record.losses) {
    const bool its = loss.to == before && loss.cause.ends_with(cause_of({}, spec[workflow]));
    if (its) loss.to = std::clamp(from, loss.from, loss.to);
  }
  write_losses(workflow, gaps(workflow), from, before);
  const Duration planned = planned_end(workflow);
  if (from < planned) add_loss(workflow, std::string(to_string(one.state)), one.parts, from, planned);
}

void JobBook::fit_rest(const AssignmentRecord& assignment, Duration measured) {
  const uint16_t workflow = assignment.workflow;
  const WorkflowRecord& one = record.workflows[workflow];
  const bool ends_early = one.state == WorkflowState::kCancelled || one.state == WorkflowState::kFailed;
  const bool has_rest = ends_early && assignment.streams && !assignment.handed_over && !spec[workflow].counted;
  // A follower that was stopped before its time: the rest has its parts since the assignment before it was stopped.
  const bool ran = assignment.follows == AssignmentId() || measured > seconds(assignment.from);
  if (!has_rest || !ran || spec[workflow].length == Duration::zero()) return;
  const std::string how(to_string(one.state));
  const Duration planned = planned_end(workflow);
  measured = std::min(measured, planned);
  plan::Loss* const rest = rest_of(workflow);
  if (rest == nullptr) {
    // By the clock of the owner that ended it, nothing of it was left.
    if (measured + kStopTakes < planned) move_rest(workflow, planned, measured);
    return;
  }
  if (measured + kStopTakes < rest->from) return add_loss(workflow, how, assignment.parts.count, measured, rest->from);
  // What only ends its iterations makes less than the planned load.
  if (one.graceful || measured <= rest->from + kStopTakes) return;
  BW_PROBE("dispatch: an assignment was measured after its workflow had ended");
  const double ratio = static_cast<double>(assignment.parts.count) / std::max(one.parts, 1U);
  // Those that ended at about the same time are one loss.
  const auto like = std::ranges::find_if(record.losses, [&](const plan::Loss& loss) {
    const bool near = loss.from <= measured + kStopTakes && measured <= loss.from + kStopTakes;
    return near && loss.cause == rest->cause && loss.to == planned;
  });
  const bool is_new = like == record.losses.end();
  if (!is_new) like->ratio = std::min(like->ratio + ratio, 1.0);
  rest->ratio -= ratio;
  if (rest->ratio < kNoLoad) record.losses.erase(record.losses.begin() + (rest - record.losses.data()));
  if (is_new && measured < planned) add_loss(workflow, how, assignment.parts.count, measured, planned);
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

}  // namespace bellwether::dispatch
