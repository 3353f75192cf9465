// Messages to workers about a job's assignments, and their reports and measurements.

#include <algorithm>
#include <utility>

#include "core/base/units.h"
#include "jobs/manager/cluster_view.h"
#include "jobs/manager/job_coordinator.h"

namespace bellwether::node {

using dispatch::AssignmentId;
using dispatch::JobEffects;
using dispatch::OfferAnswer;
using dispatch::Refusal;
using dispatch::refusal;
using ingest::StreamId;
using runtime::task;

namespace {

constexpr Duration kOfferLimit = Duration::seconds(10);  // the worker prepares the scenario meanwhile
constexpr Duration kTellLimit = Duration::seconds(2);
constexpr Duration kTellAgain = Duration::millis(100);
constexpr Duration kFetchAgain = Duration::millis(200);
constexpr Duration kReadyEvery = Duration::seconds(10);
constexpr Duration kBeginFor = Duration::seconds(10);
constexpr Duration kStopFor = Duration::seconds(30);
constexpr Duration kRetireFor = Duration::minutes(2);
constexpr Duration kMaxCancel = Duration::seconds(3);

const Refusal* refusal_of(const Result<dispatch::Response>& answer) {
  return answer ? std::get_if<Refusal>(&*answer) : nullptr;
}
bool is_noted(const Result<dispatch::Response>& answer) {
  return answer && std::holds_alternative<dispatch::Noted>(*answer);
}

OfferAnswer meaning_of(const Result<dispatch::Response>& answer) {
  if (is_noted(answer)) return OfferAnswer::kReady;
  const Refusal* refusal = refusal_of(answer);
  if (refusal == nullptr) return OfferAnswer::kNotNow;
  if (refusal->kind == Refusal::Kind::kBroken) return OfferAnswer::kBroken;
  return refusal->kind == Refusal::Kind::kBusy ? OfferAnswer::kBusy : OfferAnswer::kNotNow;
}

}  // namespace

task<Result<dispatch::Response>> JobCoordinator::tell(std::string worker, dispatch::JobMessage message,
                                                      Duration timeout) {
  const auto at = parts_.cluster_view.find(worker);
  if (!at) co_return fail(Errc::kUnreachable, "the address of worker '{}' is unknown", worker);
  auto answer = co_await ask(parts_.links, *at, std::move(message), timeout, scope_.cancellation());
  co_return answer;
}

std::vector<AssignmentId> JobCoordinator::undispatched() const {
  std::vector<AssignmentId> out;
  for (const dispatch::AssignmentRecord& assignment : job_->record().assignments) {
    if (assignment.state == dispatch::AssignmentState::kOffered && !dispatched_.contains(assignment.id))
      out.push_back(assignment.id);
  }
  return out;
}

task<void> JobCoordinator::offer(JobCoordinator* self, AssignmentId id) {
  const dispatch::AssignmentRecord* assignment = self->job_->find(id);
  if (assignment == nullptr || assignment->state != dispatch::AssignmentState::kOffered || !self->owned_) co_return;
  const std::string worker = assignment->worker;
  dispatch::Offer message{self->job_->order(id, self->handle_->fence())};
  message.order.files = self->files_;
  const auto answer = co_await self->offer_until_answered(id, worker, message);
  if (self->closing_ || !self->owned_) co_return;
  self->step(
      [&](Instant at, JobEffects& out) { self->job_->offered(at, id, meaning_of(answer), words_of(answer), out); });
  if (is_noted(answer) && !self->files_.empty()) co_await self->keep_ready(id, worker, std::move(message));
}

task<Result<dispatch::Response>> JobCoordinator::offer_until_answered(AssignmentId id, std::string worker,
                                                                      dispatch::Offer message) {
  const Duration most = kOfferLimit + dispatch::reading_time(files_);
  bool given = false;
  while (true) {
    auto answer = co_await tell(worker, message, most);
    if (closing_ || !owned_) co_return answer;
    const Refusal* const refusal = refusal_of(answer);
    if (refusal != nullptr && refusal->kind == Refusal::Kind::kUnknown && !std::exchange(given, true)) {
      // It does not have the inputs of the plan.
      const dispatch::BundleMessage bundle{id_, message.order.bundle, bundle_};
      auto taken = co_await tell(worker, bundle, kOfferLimit);
      if (!is_noted(taken)) co_return taken;
      continue;
    }
    if (!answer || !std::holds_alternative<dispatch::FileState>(*answer)) co_return answer;
    const dispatch::AssignmentRecord* const assignment = job_->find(id);
    if (assignment == nullptr || assignment->state != dispatch::AssignmentState::kOffered) {
      co_return fail(Errc::kCancelled, "it is not offered any more");
    }
    step([&](Instant at, JobEffects&) { job_->preparing(at, id); });
    co_await parts_.runtime.sleep(kFetchAgain, scope_.cancellation());
  }
}

// An assignment that is ready waits for those whose workers still fetch: longer than a worker waits without a message.
task<void> JobCoordinator::keep_ready(AssignmentId id, std::string worker, dispatch::Offer message) {
  while (true) {
    co_await parts_.runtime.sleep(kReadyEvery, scope_.cancellation());
    if (closing_ || !owned_) co_return;
    const dispatch::AssignmentRecord* const assignment = job_->find(id);
    if (assignment == nullptr || assignment->state != dispatch::AssignmentState::kReady) co_return;
    step([&](Instant at, JobEffects&) { job_->preparing(at, id); });
    const auto answer = co_await tell(worker, message, kTellLimit);
    static_cast<void>(answer);  // its reports say whether it is still there
  }
}

template <class Make, class Take>
task<void> JobCoordinator::insist(Make make, Take take) {
  while (owned_ && !closing_) {
    std::optional<Said> said = make();
    if (!said) co_return;
    const auto answer = co_await tell(std::move(said->worker), std::move(said->message), kTellLimit);
    if (closing_ || !owned_ || take(answer)) co_return;
    co_await parts_.runtime.sleep(kTellAgain, scope_.cancellation());
  }
}

task<void> JobCoordinator::begin(JobCoordinator* self, dispatch::job_effect::Begin begin) {
  if (!self->beginning_.insert(begin.assignment).second) co_return;
  const Instant end = self->now() + kBeginFor;
  std::optional<std::string> refused;
  co_await self->insist(
      [&]() -> std::optional<Said> {
        const dispatch::AssignmentRecord* const assignment = self->job_->find(begin.assignment);
        if (assignment == nullptr || assignment->state != dispatch::AssignmentState::kRunning) return std::nullopt;
        return Said{assignment->worker, dispatch::BeginMessage{self->id_, self->handle_->fence(), begin.assignment,
                                                               self->now() - begin.clock, begin.resumes,
                                                               assignment->from, assignment->rows}};
      },
      [&](const Result<dispatch::Response>& answer) {
        if (refusal_of(answer) != nullptr) refused = words_of(answer);
        return is_noted(answer) || refused || self->now() >= end;
      });
  self->beginning_.erase(begin.assignment);
  if (self->closing_ || !self->owned_ || !refused) co_return;
  self->step([&](Instant at, JobEffects& out) { self->job_->not_begun(at, begin.assignment, *refused, out); });
}

task<void> JobCoordinator::stop(JobCoordinator* self, dispatch::job_effect::Stop stop) {
  const dispatch::AssignmentRecord* const assignment = self->job_->find(stop.assignment);
  if (assignment == nullptr) co_return;
  const std::string worker = assignment->worker;
  const Instant end = self->now() + kStopFor;
  co_await self->insist(
      [&]() -> std::optional<Said> {
        if (self->now() >= end) return std::nullopt;
        return Said{worker, dispatch::StopMessage{self->id_, self->handle_->fence(), stop.assignment, stop.how,
                                                  stop.why, stop.evict}};
      },
      [&](const Result<dispatch::Response>& answer) { return answer || self->parts_.cluster_view.is_gone(worker); });
}

// Until it knows the number of the record, even if that changes meanwhile.
task<void> JobCoordinator::scale(JobCoordinator* self, AssignmentId id) {
  if (!self->scaling_.insert(id).second) co_return;
  uint32_t vus = 0;
  const auto wanted = [&]() -> std::optional<uint32_t> {
    const dispatch::AssignmentRecord* const assignment = self->job_->find(id);
    if (assignment == nullptr || !dispatch::is_live(*assignment) ||
        assignment->state == dispatch::AssignmentState::kStopping)
      return {};
    return self->job_->record().workflows[assignment->workflow].vus;
  };
  co_await self->insist(
      [&]() -> std::optional<Said> {
        const std::optional<uint32_t> now = wanted();
        if (!now) return std::nullopt;
        vus = *now;
        return Said{self->job_->find(id)->worker, dispatch::ScaleMessage{self->id_, self->handle_->fence(), id, vus}};
      },
      [&](const Result<dispatch::Response>& answer) {
        return refusal_of(answer) != nullptr || (answer && wanted() == vus);
      });
  self->scaling_.erase(id);
}

// Until it has answered, or is not to take over any more.
task<void> JobCoordinator::take_over(JobCoordinator* self, dispatch::job_effect::TakeOver taking) {
  co_await self->insist(
      [&]() -> std::optional<Said> {
        const dispatch::AssignmentRecord* const assignment = self->job_->find(taking.assignment);
        if (assignment == nullptr) return std::nullopt;
        const bool runs = assignment->state == dispatch::AssignmentState::kRunning && !assignment->end;
        if (taking.go ? !runs : !self->job_->is_spare(*assignment)) return std::nullopt;
        return Said{assignment->worker, dispatch::TakeOverMessage{self->id_, self->handle_->fence(), taking.assignment,
                                                                  self->now() - taking.clock, assignment->from,
                                                                  !taking.go, assignment->rows}};
      },
      [&](const Result<dispatch::Response>& answer) {
        if (!answer) return false;
        self->step([&](Instant at, JobEffects& out) {
          if (is_noted(answer)) return self->job_->taken_over(at, taking.assignment, out);
          self->job_->not_begun(at, taking.assignment, words_of(answer), out);
        });
        return true;
      });
}

// Until it has answered, or is dead: its answer decides who runs its parts.
task<void> JobCoordinator::hand_over(JobCoordinator* self, AssignmentId id) {
  const dispatch::AssignmentRecord* const known = self->job_->find(id);
  const uint64_t until = known == nullptr ? 0 : known->until;
  co_await self->insist(
      [&]() -> std::optional<Said> {
        const dispatch::AssignmentRecord* const assignment = self->job_->find(id);
        if (assignment == nullptr || !dispatch::is_live(*assignment) || assignment->handed_over ||
            assignment->until != until)
          return {};
        return Said{assignment->worker, dispatch::HandOverMessage{self->id_, self->handle_->fence(), id, until}};
      },
      [&](const Result<dispatch::Response>& answer) {
        if (!answer) return false;
        self->step([&](Instant at, JobEffects& out) {
          if (is_noted(answer)) return self->job_->handed_over(at, id, until, out);
          self->job_->kept_on(at, id, words_of(answer), out);
        });
        return true;
      });
}

task<void> JobCoordinator::adopt(JobCoordinator* self, std::string worker) {
  std::string told;
  uint64_t life = 0;
  co_await self->insist(
      [&]() -> std::optional<Said> {
        const auto& assignments = self->job_->record().assignments;
        // The last one: its life is the newest. Of an ended one only its values for others and the clock of the run are
        // wanted, and not for long.
        const auto mine =
            std::find_if(assignments.rbegin(), assignments.rend(), [&](const dispatch::AssignmentRecord& assignment) {
              return assignment.worker == worker && (dispatch::is_live(assignment) || self->job_->asks(worker));
            });
        if (mine == assignments.rend()) return std::nullopt;
        life = mine->life;
        dispatch::AdoptMessage message{self->id_, self->handle_->fence(), {}};
        for (const dispatch::AssignmentRecord& assignment : assignments) {
          if (assignment.worker != worker || assignment.life != life) continue;
          message.streams.push_back({assignment.id, self->ingest_->applied(StreamId(assignment.id.value()))});
        }
        return Said{worker, std::move(message)};
      },
      [&](const Result<dispatch::Response>& answer) {
        const auto* adopted = answer ? std::get_if<dispatch::Adopted>(&*answer) : nullptr;
        const Refusal* refusal = refusal_of(answer);
        if (adopted != nullptr || (refusal != nullptr && refusal->kind == Refusal::Kind::kUnknown)) {
          const std::vector<dispatch::AssignmentSight> sights =
              adopted != nullptr ? adopted->assignments : std::vector<dispatch::AssignmentSight>();
          for (const dispatch::AssignmentSight& sight : sights) {
            const dispatch::AssignmentRecord* const known = self->job_->find(sight.assignment);
            if (sight.clock != Duration::zero() && known != nullptr && !self->job_->is_spare(*known)) {
              static_cast<void>(self->ingest_->open(StreamId(sight.assignment.value()), sight.from));
            }
          }
          self->step([&](Instant at, JobEffects& out) { self->job_->sighted(at, worker, life, sights, out); });
          return true;
        }
        if (refusal != nullptr && refusal->why != told) {
          told = refusal->why;
          self->say("not_adopted", fmt::format("worker '{}' does not list its assignments: {}", worker, told), true);
        }
        // What it may run moves when it holds no permit any more.
        if (self->parts_.cluster_view.is_gone(worker)) self->doubted(worker, "it is gone");
        return false;
      });
}

void JobCoordinator::retire_all() {
  std::set<std::string> told;
  for (const dispatch::AssignmentRecord& assignment : job_->record().assignments) {
    if (told.insert(assignment.worker).second) scope_.spawn(retire(this, assignment.worker));
  }
}

// A worker that does not receive it deletes the job by itself, later.
task<void> JobCoordinator::retire(JobCoordinator* self, std::string worker) {
  const Instant end = self->now() + kRetireFor;
  Duration pause = kTellAgain;
  while (!self->closing_ && self->now() < end && !self->parts_.cluster_view.is_gone(worker)) {
    const dispatch::RetireMessage message{self->id_, self->handle_->fence()};
    const auto answer = co_await self->tell(worker, message, kTellLimit);
    if (answer) co_return;
    co_await self->parts_.runtime.sleep(pause, self->scope_.cancellation());
    pause = std::min(pause * 2, Duration::seconds(5));
  }
}

// --- reports of workers ----------------------------------------------------------------------------------------------

void JobCoordinator::worker_gone(const std::string& worker, uint64_t life, const std::string& why) {
  if (job_ == nullptr || !owned_ || job_->over()) return;
  step([&](Instant at, JobEffects& out) { job_->worker_gone(at, worker, life, why, out); });
}

void JobCoordinator::doubted(const std::string& worker, const std::string& why) {
  if (job_ == nullptr || !owned_ || job_->over()) return;
  step([&](Instant at, JobEffects& out) { job_->doubted(at, worker, why, out); });
}

// Asks one witness of a silent worker, until it has answered or the worker is heard or gone.
task<void> JobCoordinator::deny(JobCoordinator* self, dispatch::job_effect::Deny deny, dispatch::Witness witness) {
  std::optional<Duration> rest;
  co_await self->insist(
      [&]() -> std::optional<Said> {
        if (!self->job_->is_silent(deny.silent)) return std::nullopt;
        return Said{witness.worker,
                    dispatch::DenyMessage{self->id_, self->handle_->fence(), witness.life, deny.silent, deny.last}};
      },
      [&](const Result<dispatch::Response>& answer) {
        if (const auto* denied = answer ? std::get_if<dispatch::Denied>(&*answer) : nullptr) rest = denied->rest;
        // Another process has its name: that one has ended, and gives permits no more.
        const Refusal* const refusal = refusal_of(answer);
        if (refusal != nullptr && refusal->kind == Refusal::Kind::kUnknown) rest = self->job_->rules().permit / 2;
        return rest.has_value();
      });
  if (!rest || self->closing_ || !self->owned_) co_return;
  self->step([&](Instant at, JobEffects& out) { self->job_->denied(at, deny.silent, witness, *rest, out); });
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
        scope_.spawn(stop(this, {assignment.id, dispatch::StopHow::kAtOnce, "it was reassigned"}));
      }
      continue;
    }
    if (assignment.state == dispatch::AssignmentState::kOffered || beginning_.contains(assignment.id)) continue;
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
    lost.push_back(assignment.id);
  }
  for (const AssignmentId id : lost) {
    step([&](Instant at, JobEffects& out) {
      job_->not_begun(at, id, held.contains(id) ? "it does not start it" : "it no longer has it", out);
    });
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

const std::string* JobCoordinator::holder(AssignmentId assignment) const {
  const dispatch::AssignmentRecord* const found = job_->find(assignment);
  return found == nullptr ? nullptr : &found->worker;
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
                   resilience::backpressure_of(book.open_bytes(), book.settings().open_bytes_most),
                   resilience::backpressure_of(ingest_->unsafe_bytes(), settings_.unsafe_bytes_most)});
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
