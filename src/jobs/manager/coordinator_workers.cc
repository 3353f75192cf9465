// The reports and measurements of a job's workers, and the orders of its clients.

#include <algorithm>
#include <utility>

#include "core/base/units.h"
#include "jobs/manager/cluster_view.h"
#include "jobs/manager/job_coordinator.h"

namespace bellwether::node {

using dispatch::AssignmentId;
using dispatch::JobEffects;
using dispatch::Refusal;
using dispatch::refusal;
using ingest::StreamId;
using runtime::task;

namespace {

constexpr Duration kMaxCancel = Duration::seconds(3);

}  // namespace

std::vector<AssignmentId> JobCoordinator::undispatched() const {
  std::vector<AssignmentId> out;
  for (const dispatch::AssignmentRecord& assignment : job_->record().assignments) {
    if (assignment.state == dispatch::AssignmentState::kOffered && !dispatched_.contains(assignment.id))
      out.push_back(assignment.id);
  }
  return out;
}

void JobCoordinator::worker_gone(const std::string& worker, uint64_t life, const std::string& why) {
  if (job_ == nullptr || !owned_ || job_->over()) return;
  step([&](Instant at, JobEffects& out) { job_->worker_gone(at, worker, life, why, out); });
}

void JobCoordinator::doubted(const std::string& worker, const std::string& why) {
  if (job_ == nullptr || !owned_ || job_->over()) return;
  step([&](Instant at, JobEffects& out) { job_->doubted(at, worker, why, out); });
}

void JobCoordinator::evict(const std::string& worker, AssignmentId assignment, const std::string& why) {
  if (job_ == nullptr || !owned_ || job_->over() || !handle_->held(parts_.runtime.boot_now())) return;
  const dispatch::AssignmentRecord* const known = job_->find(assignment);
  if (known == nullptr || known->worker != worker) return;
  step([&](Instant at, JobEffects& out) { job_->evicted(at, assignment, why, out); });
}

// Compares the assignments of a worker with the expected ones: messages may be lost, and so may assignments.
std::optional<dispatch::Noted::Permit> JobCoordinator::reported(const std::string& worker,
                                                                const dispatch::WorkerReport& report) {
  if (job_ == nullptr || !owned_ || job_->over()) return std::nullopt;
  std::map<AssignmentId, dispatch::AssignmentPhase> held;
  for (const auto& one : report.held) {
    if (one.job == id_) held[one.assignment] = one.phase;
  }
  std::vector<AssignmentId> lost;
  for (const dispatch::AssignmentRecord& assignment : job_->record().assignments) {
    const bool live = dispatch::is_live(assignment);
    if (assignment.life != report.life || assignment.worker != worker) continue;
    const auto here = held.find(assignment.id);
    if (!live) {
      if (here != held.end() && here->second != dispatch::AssignmentPhase::kEnded &&
          assignment.state != dispatch::AssignmentState::kEnded) {
        scope_.spawn(orders_.stop({assignment.id, dispatch::StopHow::kAtOnce, "it was reassigned"}));
      }
      continue;
    }
    if (assignment.state == dispatch::AssignmentState::kOffered || orders_.is_beginning(assignment.id)) continue;
    const bool missing = here == held.end();
    const bool idle = !missing && assignment.state == dispatch::AssignmentState::kRunning &&
                      here->second < dispatch::AssignmentPhase::kRunning;
    if (!missing && !idle) {
      missed_.erase(assignment.id);
      continue;
    }
    // Only a report that follows the answer to another one without it was made after the order: older ones may be late.
    const auto [first, is_new] = missed_.try_emplace(assignment.id, report.number);
    if (is_new || report.heard < first->second) continue;
    missed_.erase(first);
    if (missing) {
      lost.push_back(assignment.id);
      continue;
    }
    // An order to begin may still be on its way to a worker that has it. One that knows no permits reads no denial.
    job_->give_up(assignment.id);
    if (assignment.unfenced)
      scope_.spawn(orders_.stop({assignment.id, dispatch::StopHow::kAtOnce, "it was not started"}));
  }
  for (const AssignmentId id : lost) {
    step([&](Instant at, JobEffects& out) { job_->not_begun(at, id, "it no longer has it", out); });
  }
  if (held.empty() || !owned_ || !handle_->held(parts_.runtime.boot_now())) return std::nullopt;
  std::vector<AssignmentId> running;
  for (const auto& [id, phase] : held) {
    if (phase != dispatch::AssignmentPhase::kEnded) running.push_back(id);
  }
  auto permit = job_->permit(now(), worker, report.life, running, report.number, report.heard);
  if (permit) permit->fence = handle_->fence();
  return permit;
}

dispatch::Response JobCoordinator::end(const dispatch::EndMessage& message) {
  watchers_->live().ended(now(), message.assignment);
  if (!job_->over()) {
    step([&](Instant at, JobEffects& out) {
      if (message.until != 0) job_->handed_over(at, message.assignment, message.until, out);
      job_->ended(at, message.assignment, message.end, out);
    });
  }
  return dispatch::Noted{};
}

dispatch::Response JobCoordinator::more_time(const std::string& worker, const dispatch::ExtendMessage& message) {
  return step([&](Instant at, JobEffects& out) {
    return job_->more_time(at, message, parts_.cluster_view.is_suspect(worker), out);
  });
}

task<dispatch::Response> JobCoordinator::cancel(dispatch::Cancel message) {
  if (job_->over() || dispatch::is_final(job_->record().state)) {
    co_return refusal(Refusal::Kind::kConflict,
                      fmt::format("job '{}' has ended; its state is {}", id_, to_string(job_->record().state)));
  }
  std::set<uint16_t> which;
  for (const std::string& name : message.workflows) {
    const auto& spec = job_->spec();
    const auto at =
        std::find_if(spec.begin(), spec.end(), [&](const dispatch::WorkflowSpec& one) { return one.name == name; });
    if (at == spec.end())
      co_return refusal(Refusal::Kind::kInvalid, fmt::format("job '{}' has no workflow '{}'", id_, name));
    which.insert(static_cast<uint16_t>(at - spec.begin()));
  }
  dispatch::JobStop stop;
  const auto& spec = job_->spec();
  const bool endless =
      std::any_of(spec.begin(), spec.end(), [](const dispatch::WorkflowSpec& one) { return one.endless; });
  const bool planned = endless && which.empty() && message.how == dispatch::StopHow::kGraceful;
  stop.cause = planned ? dispatch::JobStop::Cause::kPlanned : dispatch::JobStop::Cause::kCancelled;
  stop.how = message.how;
  stop.by = message.by;
  stop.why = message.why.empty() ? "cancelled" : message.why;
  stop.number = message.number;
  step([&](Instant at, JobEffects& out) { job_->stop(at, stop, which, out); });
  // The workers get the order without waiting for that.
  const bool recorded = co_await is_recorded();
  if (!recorded) {
    co_return refusal(Refusal::Kind::kUnavailable,
                      fmt::format("job '{}' is being stopped, but no quorum has recorded the stop yet", id_));
  }
  say("job_cancel",
      fmt::format("'{}' cancels job '{}'{}", message.by, id_, message.why.empty() ? "" : ": " + message.why));
  co_return dispatch::Noted{};
}

// Whether the present state survives this manager.
task<bool> JobCoordinator::is_recorded() {
  const uint64_t revision = job_->record().revision;
  co_await kept_.wait(
      parts_.runtime, [&] { return written_ >= revision || !owned_; }, now() + kMaxCancel, scope_.cancellation());
  co_return written_ >= revision;
}

task<dispatch::Response> JobCoordinator::scale(dispatch::Scale message) {
  const Status scaled = step(
      [&](Instant at, JobEffects& out) { return job_->scale(at, message.workflow, message.vus, message.by, out); });
  if (!scaled) {
    const bool ended = scaled.error().code == Errc::kClosed;
    co_return refusal(ended ? Refusal::Kind::kConflict : Refusal::Kind::kInvalid, scaled.error().message);
  }
  const bool recorded = co_await is_recorded();
  if (!recorded) {
    co_return refusal(Refusal::Kind::kUnavailable,
                      fmt::format("job '{}': no quorum has recorded its new number of users", id_));
  }
  say("job_scale", fmt::format("'{}' scales job '{}' to {} virtual users", message.by, id_, message.vus));
  co_return dispatch::Noted{};
}

// --- measurements ----------------------------------------------------------------------------------------------------

void JobCoordinator::open_stream(const dispatch::AssignmentRecord& assignment) {
  const Status opened = ingest_->open(StreamId(assignment.id.value()), assignment.from);
  if (!opened) say("ingest", opened.error().message, true);
  if (job_->zero()) watchers_->live().set_zero(*job_->zero());
  watchers_->live().begins(now(), assignment.id);
}

dispatch::Response JobCoordinator::window(const std::string& worker, const dispatch::WindowMessage& message) {
  using Hearing = dispatch::JobKernel::Hearing;
  const Hearing hearing = job_->hearing(message.assignment, job_->find(message.assignment)->from + message.last - 1);
  // A worker discards its numbers on this answer, so a later owner must know, too, that nobody wants them.
  const bool settled = written_ >= job_->record().revision;
  if (hearing == Hearing::kExcess && settled) return dispatch::Applied{0, 0, true};
  if (hearing == Hearing::kWaits || hearing == Hearing::kExcess) {
    const auto known = ingest_->applied(StreamId(message.assignment.value()));
    return dispatch::Applied{known, 0, false};
  }
  if (hearing == Hearing::kUnknown) {
    return refusal(Refusal::Kind::kUnknown, fmt::format("job '{}' has no such stream of '{}'", id_, worker));
  }
  const StreamId stream(message.assignment.value());
  const uint64_t excess = ingest_->excess();
  const auto heard = ingest_->hear(now(), stream, message.first, message.last, message.window);
  if (!heard) return refusal(Refusal::Kind::kInvalid, heard.error().message);
  dispatch::Applied answer;
  answer.applied = ingest_->applied(stream);
  answer.durable = ingest_->durable(stream);
  answer.excess = *heard == ingest::RunIngest::Heard::kExcess && settled;
  if (answer.excess && !std::exchange(excess_told_, true) && !job_->over()) {
    const uint64_t rate = (ingest_->excess() - excess) / (message.last - message.first + 1);
    step([&](Instant at, JobEffects& out) {
      job_->note(at, "uncounted_load",
                 fmt::format("worker '{}' made load until its permit ended, of which no report arrived in time: {} per "
                             "second, in the time that counts as lost",
                             worker, format_count(rate, "request")),
                 out);
    });
  }
  answer.pressure = pressure();
  if (*heard != ingest::RunIngest::Heard::kCounted) return answer;
  say_pressure();
  if (!job_->over()) {
    job_->iterated(message.assignment, ingest_->iterated(stream));
    JobEffects out;
    job_->set_wall(now(), parts_.runtime.wall_now());
    job_->applied(now(), message.assignment, answer.applied, out);
    if (!out.empty()) after(out);
  }
  // The deadlines of the job are a matter of all its assignments; most windows change none of them.
  if (std::min(ingest_->next_deadline(), copy_due()) < nap_until_) poke();
  return answer;
}

// --- waiting reports -------------------------------------------------------------------------------------------------

std::size_t JobCoordinator::waiting_bytes() const {
  return ingest_ == nullptr ? 0 : ingest_->book().open_bytes() + ingest_->unsafe_bytes();
}

// The load of the fullest buffer. Uncopied seconds are summed up and take no more memory here: workers have to keep
// them, and resend them if this manager dies.
resilience::Backpressure JobCoordinator::pressure() const {
  if (ingest_ == nullptr) return resilience::Backpressure::kNone;
  const ingest::WindowIngest& book = ingest_->book();
  return std::max({resilience::backpressure_of(book.open_seconds(), book.settings().open_seconds_most),
                   resilience::backpressure_of(book.open_bytes(), book.open_bytes_most()),
                   resilience::backpressure_of(ingest_->unsafe_bytes(), settings_.unsafe_most.bytes(book.streams()))});
}

void JobCoordinator::say_pressure() {
  const resilience::Backpressure now = pressure();
  if (now == std::exchange(told_pressure_, now)) return;
  say("backpressure",
      fmt::format(
          "job '{}': the backpressure on workers is {}, because {} bytes of their reports wait to be counted or copied",
          id_, to_string(now), waiting_bytes()),
      now == resilience::Backpressure::kReject);
}

void JobCoordinator::live(const std::string& worker, Instant collected, uint64_t number,
                          const dispatch::LiveMessage::Assignment& told) {
  if (job_ == nullptr || !owned_ || job_->over()) return;
  const dispatch::AssignmentRecord* assignment = job_->find(told.assignment);
  if (assignment == nullptr || assignment->worker != worker || !assignment->streams ||
      !dispatch::is_live(*assignment) || assignment->end)
    return;
  if (watchers_->heard(collected, number, told)) poke();
}

}  // namespace bellwether::node
