#include "jobs/dispatch/job_time.h"

#include <algorithm>
#include <set>

#include "core/base/probe.h"
#include "core/base/units.h"
#include "jobs/dispatch/messages.h"

namespace bellwether::dispatch {
namespace {

std::string percent(double part) { return fmt::format("{} % done", static_cast<int>(part * 100)); }

}  // namespace

Duration JobTime::time_of(const AssignmentRecord& assignment) const {
  const WorkflowSpec& spec = spec_[assignment.workflow];
  if (spec.length == Duration::zero()) return Duration::hours(24) + assignment.extended;
  return spec.length + spec.graceful_stop + rules_.overtime + assignment.extended;
}

Duration JobTime::limit_of(const AssignmentRecord& assignment) const {
  const WorkflowSpec& spec = spec_[assignment.workflow];
  const Duration ending = spec.graceful_stop + rules_.kill_grace + rules_.result_limit;
  switch (assignment.state) {
    case AssignmentState::kOffered: return rules_.offer_limit;
    case AssignmentState::kReady: return rules_.dispatch_limit;
    case AssignmentState::kStopping: return ending;
    case AssignmentState::kRunning:
      if (assignment.handed_over) return rules_.hand_over_lead + Duration::seconds(2) + ending;
      if (spec.on_overtime != plan::OnOvertime::kKill) return kLongestSpan;
      return time_of(assignment) + rules_.extensions.grace + ending;
    case AssignmentState::kEnded:
    case AssignmentState::kGone: break;
  }
  return Duration::hours(24);
}

MoreTime JobTime::more_time(Instant now, const ExtendMessage& message, bool suspect, JobEffects& out) {
  MoreTime answer;
  AssignmentRecord* assignment = book_.find(message.assignment);
  if (!book_.owned || assignment == nullptr || assignment->state != AssignmentState::kRunning) {
    answer.why = "the assignment is not running";
    return answer;
  }
  // By the clock of its worker, which ends its time.
  const auto [at, first] =
      trackers_.try_emplace(message.assignment, now + message.left, assignment->extensions, rules_.extensions);
  const resilience::ExtensionAnswer said = at->second.ask(now, message.request, suspect);
  answer.granted = said.granted;
  answer.remaining = said.remaining;
  answer.warning = said.warning;
  answer.over = said.deadline <= now;
  const std::string whose = fmt::format("worker '{}', workflow '{}', {}", assignment->worker,
                                        spec_[assignment->workflow].name, percent(message.request.progress));
  if (said.ok()) {
    ++assignment->extensions;
    assignment->extended += said.granted;
    book_.add_event(
        now, "assignment_extended",
        fmt::format("{}: {} more, for a {}", whose, format_duration(said.granted), to_string(message.request.reason)));
  } else {
    answer.why = to_string(said.denial);
    if (answer.over) book_.add_event(now, "assignment_not_extended", fmt::format("{}: {}", whose, answer.why));
  }
  book_.flush(out);
  return answer;
}

// When its worker has stopped asking; never if its worker then ends it.
Instant JobTime::overdue_at(const AssignmentRecord& assignment) const {
  const auto since = book_.since.find(assignment.id);
  const bool ends = spec_[assignment.workflow].on_overtime == plan::OnOvertime::kKill;
  if (ends || assignment.state != AssignmentState::kRunning || since == book_.since.end() ||
      overdue_.contains(assignment.id)) {
    return Instant::never();
  }
  return since->second + time_of(assignment) + rules_.extensions.grace;
}

Instant JobTime::timeout_at() const {
  const bool ends = book_.concluding || (record_.stop && record_.stop->how == StopHow::kAtOnce && record_.stop->all);
  // The clock of an owner that adopts is not certain yet.
  return book_.zero && !book_.adopting && rules_.timeout && !ends ? *book_.zero + *rules_.timeout : Instant::never();
}

Instant JobTime::timeout_at(uint16_t workflow) const {
  const WorkflowRecord& one = record_.workflows[workflow];
  const bool goes_on = one.begun && !is_final(one.state) && !book_.concluding && !book_.is_stopped(workflow);
  if (!book_.zero || book_.adopting || !goes_on || !spec_[workflow].timeout) return Instant::never();
  return book_.clock_of(workflow) + *spec_[workflow].timeout + rules_.kill_grace;
}

void JobTime::time_out(Instant now, uint16_t workflow, JobEffects& out) {
  const std::optional<Duration>& timeout = spec_[workflow].timeout;
  if (is_final(record_.workflows[workflow].state) || !timeout) return;
  const std::string why = plan::timeout_text(*timeout);
  book_.add_event(now, "workflow_timed_out", fmt::format("workflow '{}': {}", spec_[workflow].name, why));
  book_.become(workflow, WorkflowState::kTimedOut, why, out);
  book_.stop_assignments(now, workflow, StopHow::kAtOnce, "its workflow reached its timeout", out);
  // The unmeasured time until now is lost; the time after it would not have run.
  if (const auto left = book_.gaps(workflow); !left.empty()) book_.lose_gaps(workflow, left, book_.elapsed(now));
}

void JobTime::look_for_overdue(Instant now) {
  for (const AssignmentRecord& assignment : record_.assignments) {
    if (overdue_at(assignment) > now) continue;
    overdue_.insert(assignment.id);
    const WorkflowSpec& spec = spec_[assignment.workflow];
    const bool paused = spec.on_overtime == plan::OnOvertime::kPause;
    book_.add_event(now, "assignment_overtime",
                    fmt::format("worker '{}', workflow '{}' has reached its time limit and {}", assignment.worker,
                                spec.name, paused ? "starts no new iterations" : "continues"));
  }
}

// When only paused assignments of a job are left, they end.
void JobTime::end_paused(Instant now, JobEffects& out) {
  std::vector<uint16_t> paused;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (is_final(record_.workflows[w].state)) continue;
    const auto goes_on = [&](const AssignmentRecord& assignment) {
      return assignment.workflow == w && is_live(assignment) && !overdue_.contains(assignment.id);
    };
    if (spec_[w].on_overtime != plan::OnOvertime::kPause || !book_.has_live(w)) return;
    if (std::any_of(record_.assignments.begin(), record_.assignments.end(), goes_on)) return;
    paused.push_back(w);
  }
  for (const uint16_t w : paused) {
    book_.fail_workflow(now, w, WorkflowState::kTimedOut, "exceeded its time limit and was paused", out);
  }
}

// --- the teardown of a stopped job -----------------------------------------------------------------------------------

// For the record.
std::string JobTeardown::what_runs() const {
  std::set<std::string> workers;
  std::size_t assignments = 0;
  for (const AssignmentRecord& assignment : record_.assignments) {
    if (!is_live(assignment)) continue;
    ++assignments;
    workers.insert(assignment.worker);
  }
  return assignments == 0 ? std::string()
                          : fmt::format("; {} on {}", format_count(assignments, "assignment"),
                                        format_count(workers.size(), "worker"));
}

std::string JobTeardown::by_whom(const std::string& by) {
  return by.empty() ? std::string() : fmt::format(", by '{}'", by);
}

bool JobTeardown::take_stop(Instant now, const JobStop& stop) {
  if (!record_.stop) {
    record_.stop = stop;
    // A teardown that runs already stops like everything else.
    bool tears_down = false;
    for (uint16_t w = 0; w < spec_.size(); ++w) tears_down |= spec_[w].is_teardown && record_.workflows[w].begun;
    record_.stop->all = tears_down || stop.cause == JobStop::Cause::kTimeout;
    book_.add_event(now, "stopping", stop.why + by_whom(stop.by) + what_runs());
    return true;
  }
  JobStop& known = *record_.stop;
  const bool at_once = stop.how == StopHow::kAtOnce;
  const bool second = at_once && (known.how != StopHow::kAtOnce || stop.number != known.number ||
                                  stop.cause == JobStop::Cause::kTimeout);
  if (known.how == StopHow::kAtOnce && (known.all || !second)) return false;
  known.how = stop.how;
  if (second && !known.all) {
    known.all = true;
    if (awaits()) book_.add_event(now, "teardown_stopped", stop.why + by_whom(stop.by) + what_runs());
  }
  return true;
}

bool JobTeardown::was_stopped(uint16_t workflow) const {
  return std::any_of(record_.assignments.begin(), record_.assignments.end(), [&](const AssignmentRecord& assignment) {
    return assignment.workflow == workflow && assignment.end && assignment.end->outcome == AssignmentOutcome::kStopped;
  });
}

bool JobTeardown::awaits() const {
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (spec_[w].is_teardown && !is_final(record_.workflows[w].state)) return true;
  }
  return false;
}

bool JobTeardown::may_begin() const {
  if (!record_.stop || record_.stop->all) return false;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (!spec_[w].is_teardown && (!is_final(record_.workflows[w].state) || book_.has_live(w))) return false;
  }
  return true;
}

void JobTeardown::look(Instant now, JobEffects& out) {
  if (!awaits()) return;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    const std::vector<uint16_t>& needs = spec_[w].depends;
    const bool waits = record_.workflows[w].state == WorkflowState::kPending && !book_.zero;
    const bool ended = std::all_of(needs.begin(), needs.end(),
                                   [this](uint16_t need) { return is_final(record_.workflows[need].state); });
    if (!spec_[w].is_teardown || !waits || !ended) continue;
    book_.become(w, WorkflowState::kSkipped, "no workflow that needs this teardown had started", out);
  }
  if (!may_begin() || !awaits()) return;
  if (!since_) {
    // Another owner may have been here before.
    since_ = book_.adopted ? std::min(book_.end_of_last(), now) : now;
    const bool told = std::any_of(record_.events.begin(), record_.events.end(),
                                  [](const JobEvent& one) { return one.kind == "teardown_follows"; });
    if (!told) book_.add_event(now, "teardown_follows", "the stopped workflows have ended; the teardown follows");
  }
  if (now < end()) return;
  BW_PROBE("dispatch: a teardown takes longer than a job that is stopped may");
  const std::string why =
      fmt::format("a stopped job waits at most {} for its teardown", format_duration(rules_.teardown_limit));
  record_.stop->all = true;
  book_.add_event(now, "teardown_stopped", why + what_runs());
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (is_final(record_.workflows[w].state)) continue;
    book_.become(w, WorkflowState::kTimedOut, why, out);
    book_.stop_assignments(now, w, StopHow::kAtOnce, why, out);
  }
}

}  // namespace bellwether::dispatch
