// Messages to workers about a job's assignments, and their reports and measurements.

#include <algorithm>
#include <utility>

#include "core/base/units.h"
#include "jobs/manager/steward.h"
#include "jobs/manager/surroundings.h"

namespace bellwether::node {

using account::StreamId;
using dispatch::JobEffects;
using dispatch::OfferAnswer;
using dispatch::Refusal;
using dispatch::refusal;
using dispatch::ShareId;
using runtime::task;

namespace {

constexpr Duration kOfferLimit = Duration::seconds(10);  // the worker prepares the scenario meanwhile
constexpr Duration kTellLimit = Duration::seconds(2);
constexpr Duration kTellAgain = Duration::millis(100);
constexpr Duration kBeginFor = Duration::seconds(10);
constexpr Duration kStopFor = Duration::seconds(30);
constexpr Duration kRetireFor = Duration::minutes(2);
constexpr Duration kCancelMost = Duration::seconds(3);
// After the time at which a worker stops an isolated assignment by itself.
constexpr Duration kUnheardGrace = Duration::seconds(10);
// Reports in a row without an assignment that should exist, or should run.
constexpr uint32_t kMissedMost = 2;

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

task<Result<dispatch::Response>> Steward::tell(std::string worker, dispatch::Letter letter, Duration timeout) {
  const auto at = parts_.surroundings.find(worker);
  if (!at) co_return fail(Errc::kUnreachable, "nobody knows where worker '{}' is", worker);
  auto answer = co_await ask(parts_.links, *at, std::move(letter), timeout, scope_.cancellation());
  co_return answer;
}

std::vector<ShareId> Steward::undispatched() const {
  std::vector<ShareId> out;
  for (const dispatch::ShareSheet& share : job_->sheet().shares) {
    if (share.state == dispatch::ShareState::kOffered && !dispatched_.contains(share.id)) out.push_back(share.id);
  }
  return out;
}

task<void> Steward::offer(Steward* self, ShareId id) {
  const dispatch::ShareSheet* share = self->job_->find(id);
  if (share == nullptr || share->state != dispatch::ShareState::kOffered || !self->owned_) co_return;
  const std::string worker = share->worker;
  const dispatch::Offer letter{self->job_->order(id, self->handle_->fence())};
  auto answer = co_await self->tell(worker, letter, kOfferLimit);
  const Refusal* refusal = refusal_of(answer);
  if (refusal != nullptr && refusal->kind == Refusal::Kind::kUnknown && !self->closing_) {
    // It does not have the inputs of the plan.
    const dispatch::BundleLetter bundle{self->id_, letter.order.bundle, self->bundle_};
    auto given = co_await self->tell(worker, bundle, kOfferLimit);
    if (is_noted(given)) {
      auto again = co_await self->tell(worker, letter, kOfferLimit);
      answer = std::move(again);
    } else {
      answer = std::move(given);
    }
  }
  if (self->closing_ || !self->owned_) co_return;
  self->step(
      [&](Instant at, JobEffects& out) { self->job_->offered(at, id, meaning_of(answer), words_of(answer), out); });
}

template <class Make, class Take>
task<void> Steward::insist(Make make, Take take) {
  while (owned_ && !closing_) {
    std::optional<Said> said = make();
    if (!said) co_return;
    const auto answer = co_await tell(std::move(said->worker), std::move(said->letter), kTellLimit);
    if (closing_ || !owned_ || take(answer)) co_return;
    co_await parts_.runtime.sleep(kTellAgain, scope_.cancellation());
  }
}

task<void> Steward::begin(Steward* self, dispatch::job_effect::Begin begin) {
  if (!self->beginning_.insert(begin.share).second) co_return;
  const Instant end = self->now() + kBeginFor;
  std::optional<std::string> refused;
  co_await self->insist(
      [&]() -> std::optional<Said> {
        const dispatch::ShareSheet* const share = self->job_->find(begin.share);
        if (share == nullptr || share->state != dispatch::ShareState::kRunning) return std::nullopt;
        return Said{share->worker, dispatch::BeginLetter{self->id_, self->handle_->fence(), begin.share,
                                                         self->now() - begin.clock, begin.resumes, share->from}};
      },
      [&](const Result<dispatch::Response>& answer) {
        if (refusal_of(answer) != nullptr) refused = words_of(answer);
        return is_noted(answer) || refused || self->now() >= end;
      });
  self->beginning_.erase(begin.share);
  if (self->closing_ || !self->owned_ || !refused) co_return;
  self->step([&](Instant at, JobEffects& out) { self->job_->not_begun(at, begin.share, *refused, out); });
}

task<void> Steward::stop(Steward* self, dispatch::job_effect::Stop stop) {
  const dispatch::ShareSheet* const share = self->job_->find(stop.share);
  if (share == nullptr) co_return;
  const std::string worker = share->worker;
  const Instant end = self->now() + kStopFor;
  co_await self->insist(
      [&]() -> std::optional<Said> {
        if (self->now() >= end) return std::nullopt;
        return Said{worker, dispatch::StopLetter{self->id_, self->handle_->fence(), stop.share, stop.how, stop.why}};
      },
      [&](const Result<dispatch::Response>& answer) { return answer || self->parts_.surroundings.is_gone(worker); });
}

// Until it knows the number of the record, even if that changes meanwhile.
task<void> Steward::scale(Steward* self, ShareId id) {
  if (!self->scaling_.insert(id).second) co_return;
  uint32_t vus = 0;
  const auto wanted = [&]() -> std::optional<uint32_t> {
    const dispatch::ShareSheet* const share = self->job_->find(id);
    if (share == nullptr || !dispatch::is_live(*share) || share->state == dispatch::ShareState::kStopping) return {};
    return self->job_->sheet().workflows[share->workflow].vus;
  };
  co_await self->insist(
      [&]() -> std::optional<Said> {
        const std::optional<uint32_t> now = wanted();
        if (!now) return std::nullopt;
        vus = *now;
        return Said{self->job_->find(id)->worker, dispatch::ScaleLetter{self->id_, self->handle_->fence(), id, vus}};
      },
      [&](const Result<dispatch::Response>& answer) {
        return refusal_of(answer) != nullptr || (answer && wanted() == vus);
      });
  self->scaling_.erase(id);
}

// Until it has answered, or is not to take over any more.
task<void> Steward::take_over(Steward* self, dispatch::job_effect::TakeOver taking) {
  co_await self->insist(
      [&]() -> std::optional<Said> {
        const dispatch::ShareSheet* const share = self->job_->find(taking.share);
        if (share == nullptr || !self->job_->is_spare(*share)) return std::nullopt;
        return Said{share->worker, dispatch::TakeOverLetter{self->id_, self->handle_->fence(), taking.share,
                                                            self->now() - taking.clock, share->from}};
      },
      [&](const Result<dispatch::Response>& answer) {
        if (!answer) return false;
        self->step([&](Instant at, JobEffects& out) {
          if (is_noted(answer)) return self->job_->taken_over(at, taking.share, out);
          self->job_->not_begun(at, taking.share, words_of(answer), out);
        });
        return true;
      });
}

// Until it has answered, or is dead: its answer decides who runs its parts.
task<void> Steward::hand_over(Steward* self, ShareId id) {
  const dispatch::ShareSheet* const known = self->job_->find(id);
  const uint64_t until = known == nullptr ? 0 : known->until;
  co_await self->insist(
      [&]() -> std::optional<Said> {
        const dispatch::ShareSheet* const share = self->job_->find(id);
        if (share == nullptr || !dispatch::is_live(*share) || share->handed_over || share->until != until) return {};
        return Said{share->worker, dispatch::HandOverLetter{self->id_, self->handle_->fence(), id, until}};
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

task<void> Steward::adopt(Steward* self, std::string worker) {
  // A worker that stays silent until then died while no manager could see it. Before that it may be returning to the
  // cluster, and its load, which goes on meanwhile, must not run twice.
  const Instant unheard_at = self->now() + self->settings_.rules.isolation_limit + kUnheardGrace;
  std::string told;
  uint64_t life = 0;
  co_await self->insist(
      [&]() -> std::optional<Said> {
        const auto& shares = self->job_->sheet().shares;
        const auto mine = std::find_if(shares.begin(), shares.end(), [&](const dispatch::ShareSheet& share) {
          // Of an ended assignment only its values for others are wanted, and not for long.
          return share.worker == worker && (dispatch::is_live(share) || (share.end && self->job_->asks(worker)));
        });
        if (mine == shares.end()) return std::nullopt;
        life = mine->life;
        dispatch::AdoptLetter letter{self->id_, self->handle_->fence(), {}};
        for (const dispatch::ShareSheet& share : shares) {
          if (share.worker != worker || share.life != life) continue;
          letter.streams.push_back({share.id, self->account_->applied(StreamId(share.id.value()))});
        }
        return Said{worker, std::move(letter)};
      },
      [&](const Result<dispatch::Response>& answer) {
        const auto* adopted = answer ? std::get_if<dispatch::Adopted>(&*answer) : nullptr;
        const Refusal* refusal = refusal_of(answer);
        if (adopted != nullptr || (refusal != nullptr && refusal->kind == Refusal::Kind::kUnknown)) {
          const std::vector<dispatch::ShareSight> sights =
              adopted != nullptr ? adopted->shares : std::vector<dispatch::ShareSight>();
          for (const dispatch::ShareSight& sight : sights) {
            const dispatch::ShareSheet* const known = self->job_->find(sight.share);
            if (sight.clock != Duration::zero() && known != nullptr && !self->job_->is_spare(*known)) {
              static_cast<void>(self->account_->open(StreamId(sight.share.value()), sight.from));
            }
          }
          self->step([&](Instant at, JobEffects& out) { self->job_->sighted(at, worker, life, sights, out); });
          return true;
        }
        if (refusal != nullptr && refusal->why != told) {
          told = refusal->why;
          self->say("not_adopted", fmt::format("worker '{}' does not tell what it runs: {}", worker, told), true);
        }
        const bool unheard = !self->parts_.surroundings.find(worker) && self->now() >= unheard_at;
        if (!unheard && !self->parts_.surroundings.is_gone(worker)) return false;
        self->worker_gone(worker,
                          unheard ? "nobody has heard of it since the managers were away" : "it is not there any more");
        return true;
      });
}

void Steward::retire_all() {
  std::set<std::string> told;
  for (const dispatch::ShareSheet& share : job_->sheet().shares) {
    if (told.insert(share.worker).second) scope_.spawn(retire(this, share.worker));
  }
}

// A worker that does not receive it deletes the job by itself, later.
task<void> Steward::retire(Steward* self, std::string worker) {
  const Instant end = self->now() + kRetireFor;
  Duration pause = kTellAgain;
  while (!self->closing_ && self->now() < end && !self->parts_.surroundings.is_gone(worker)) {
    const dispatch::RetireLetter letter{self->id_, self->handle_->fence()};
    const auto answer = co_await self->tell(worker, letter, kTellLimit);
    if (answer) co_return;
    co_await self->parts_.runtime.sleep(pause, self->scope_.cancellation());
    pause = std::min(pause * 2, Duration::seconds(5));
  }
}

// --- reports of workers ----------------------------------------------------------------------------------------------

void Steward::worker_gone(const std::string& worker, const std::string& why) {
  if (job_ == nullptr || !owned_ || job_->over()) return;
  step([&](Instant at, JobEffects& out) { job_->worker_gone(at, worker, 0, why, out); });
}

void Steward::evict(const std::string& worker, ShareId share, const std::string& why) {
  if (job_ == nullptr || !owned_ || job_->over() || !handle_->held(parts_.runtime.boot_now())) return;
  const dispatch::ShareSheet* const known = job_->find(share);
  if (known == nullptr || known->worker != worker) return;
  step([&](Instant at, JobEffects& out) { job_->evicted(at, share, why, out); });
}

// Compares the assignments of a worker with the expected ones: messages may be lost, and so may assignments.
void Steward::reported(const std::string& worker, const dispatch::WorkerReport& report) {
  if (job_ == nullptr || !owned_ || job_->over()) return;
  std::map<ShareId, dispatch::SharePhase> held;
  for (const auto& one : report.held) {
    if (one.job == id_) held[one.share] = one.phase;
  }
  std::vector<ShareId> lost;
  for (const dispatch::ShareSheet& share : job_->sheet().shares) {
    const bool live = dispatch::is_live(share);
    if (share.worker != worker || share.life != report.life) continue;
    const auto here = held.find(share.id);
    if (!live) {
      if (here != held.end() && here->second != dispatch::SharePhase::kEnded &&
          share.state != dispatch::ShareState::kEnded) {
        scope_.spawn(stop(this, {share.id, dispatch::StopHow::kAtOnce, "it was given to somebody else"}));
      }
      continue;
    }
    if (share.state == dispatch::ShareState::kOffered || beginning_.contains(share.id)) continue;
    const bool missing = here == held.end();
    const bool idle =
        !missing && share.state == dispatch::ShareState::kRunning && here->second < dispatch::SharePhase::kRunning;
    if (!missing && !idle) {
      missed_.erase(share.id);
      continue;
    }
    if (++missed_[share.id] < kMissedMost) continue;
    missed_.erase(share.id);
    lost.push_back(share.id);
  }
  for (const ShareId id : lost) {
    step([&](Instant at, JobEffects& out) {
      job_->not_begun(at, id, held.contains(id) ? "it does not begin it" : "it does not have it any more", out);
    });
  }
}

const std::string* Steward::holder(ShareId share) const {
  const dispatch::ShareSheet* const found = job_->find(share);
  return found == nullptr ? nullptr : &found->worker;
}

dispatch::Response Steward::end(const dispatch::EndLetter& letter) {
  watchers_->live().ended(now(), letter.share);
  if (!job_->over()) {
    step([&](Instant at, JobEffects& out) {
      if (letter.until != 0) job_->handed_over(at, letter.share, letter.until, out);
      job_->ended(at, letter.share, letter.end, out);
    });
  }
  return dispatch::Noted{};
}

dispatch::Response Steward::more_time(const std::string& worker, const dispatch::ExtendLetter& letter) {
  return step([&](Instant at, JobEffects& out) {
    return job_->more_time(at, letter, parts_.surroundings.is_suspect(worker), out);
  });
}

task<dispatch::Response> Steward::cancel(dispatch::Cancel letter) {
  if (job_->over() || dispatch::is_final(job_->sheet().state)) {
    co_return refusal(Refusal::Kind::kConflict,
                      fmt::format("job '{}' has ended: it is {}", id_, to_string(job_->sheet().state)));
  }
  std::set<uint16_t> which;
  for (const std::string& name : letter.workflows) {
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
  const bool planned = endless && which.empty() && letter.how == dispatch::StopHow::kGraceful;
  stop.cause = planned ? dispatch::JobStop::Cause::kPlanned : dispatch::JobStop::Cause::kCancelled;
  stop.how = letter.how;
  stop.by = letter.by;
  stop.why = letter.why.empty() ? "cancelled" : letter.why;
  stop.number = letter.number;
  step([&](Instant at, JobEffects& out) { job_->stop(at, stop, which, out); });
  // The workers get the order without waiting for that.
  const bool recorded = co_await is_recorded();
  if (!recorded) {
    co_return refusal(Refusal::Kind::kUnavailable,
                      fmt::format("job '{}' is being stopped, and no quorum has heard of it yet", id_));
  }
  say("job_cancel",
      fmt::format("'{}' cancels job '{}'{}", letter.by, id_, letter.why.empty() ? "" : ": " + letter.why));
  co_return dispatch::Noted{};
}

// Whether the present state survives this manager.
task<bool> Steward::is_recorded() {
  const uint64_t revision = job_->sheet().revision;
  co_await kept_.wait(
      parts_.runtime, [&] { return written_ >= revision || !owned_; }, now() + kCancelMost, scope_.cancellation());
  co_return written_ >= revision;
}

task<dispatch::Response> Steward::scale(dispatch::Scale letter) {
  const Status scaled =
      step([&](Instant at, JobEffects& out) { return job_->scale(at, letter.workflow, letter.vus, letter.by, out); });
  if (!scaled) {
    const bool ended = scaled.error().code == Errc::kClosed;
    co_return refusal(ended ? Refusal::Kind::kConflict : Refusal::Kind::kInvalid, scaled.error().message);
  }
  const bool recorded = co_await is_recorded();
  if (!recorded) {
    co_return refusal(Refusal::Kind::kUnavailable,
                      fmt::format("job '{}': no quorum has heard of its new number of users", id_));
  }
  say("job_scale", fmt::format("'{}' gives job '{}' {} virtual users", letter.by, id_, letter.vus));
  co_return dispatch::Noted{};
}

// --- measurements ----------------------------------------------------------------------------------------------------

void Steward::open_stream(const dispatch::ShareSheet& share) {
  const Status opened = account_->open(StreamId(share.id.value()), share.from);
  if (!opened) say("account", opened.error().message, true);
  if (job_->zero()) watchers_->live().set_zero(*job_->zero());
  watchers_->live().begins(now(), share.id);
}

dispatch::Response Steward::window(const std::string& worker, const dispatch::WindowLetter& letter) {
  using Hearing = dispatch::JobDesk::Hearing;
  const Hearing hearing = job_->hearing(letter.share, job_->find(letter.share)->from + letter.last - 1);
  if (hearing == Hearing::kExcess) return dispatch::Applied{0, 0, true};
  if (hearing == Hearing::kWaits) {
    const auto known = account_->applied(StreamId(letter.share.value()));
    return dispatch::Applied{known, 0, false};
  }
  if (hearing == Hearing::kUnknown) {
    return refusal(Refusal::Kind::kUnknown, fmt::format("job '{}' knows no such stream of '{}'", id_, worker));
  }
  const StreamId stream(letter.share.value());
  const uint64_t excess = account_->excess();
  const auto heard = account_->hear(now(), stream, letter.first, letter.last, letter.window);
  if (!heard) return refusal(Refusal::Kind::kInvalid, heard.error().message);
  dispatch::Applied answer;
  answer.applied = account_->applied(stream);
  answer.durable = account_->durable(stream);
  answer.excess = *heard == account::RunAccount::Heard::kExcess;
  if (answer.excess && !std::exchange(excess_told_, true) && !job_->over()) {
    const uint64_t rate = (account_->excess() - excess) / (letter.last - letter.first + 1);
    step([&](Instant at, JobEffects& out) {
      job_->note(at, "extra_load",
                 fmt::format("worker '{}' went on for a while with what somebody else was given: {} a second were "
                             "sent, and are not counted",
                             worker, format_count(rate, "request")),
                 out);
    });
  }
  answer.pressure = pressure();
  if (*heard != account::RunAccount::Heard::kCounted) return answer;
  say_pressure();
  if (!job_->over()) {
    job_->iterated(letter.share, account_->iterated(stream));
    step([&](Instant at, JobEffects& out) { job_->applied(at, letter.share, answer.applied, out); });
  }
  if (account_->next_deadline() <= parts_.runtime.now()) poke();
  return answer;
}

// --- waiting reports -------------------------------------------------------------------------------------------------

std::size_t Steward::waiting_bytes() const {
  return account_ == nullptr ? 0 : account_->book().open_bytes() + account_->unsafe_bytes();
}

// The load of the fullest buffer. Uncopied seconds are summed up and take no more memory here: workers have to keep
// them, and resend them if this manager dies.
resilience::Backpressure Steward::pressure() const {
  if (account_ == nullptr) return resilience::Backpressure::kNone;
  const account::AccountBook& book = account_->book();
  return std::max({resilience::backpressure_of(book.open_seconds(), book.settings().open_seconds_most),
                   resilience::backpressure_of(book.open_bytes(), book.settings().open_bytes_most),
                   resilience::backpressure_of(account_->unsafe_bytes(), settings_.unsafe_bytes_most)});
}

void Steward::say_pressure() {
  const resilience::Backpressure now = pressure();
  if (now == std::exchange(told_pressure_, now)) return;
  say("backpressure",
      fmt::format("job '{}': workers are asked for {}, for {} bytes of what they told wait to be counted or copied",
                  id_, to_string(now), waiting_bytes()),
      now == resilience::Backpressure::kReject);
}

void Steward::live(const std::string& worker, Instant collected, uint64_t number,
                   const dispatch::LiveLetter::Share& told) {
  if (job_ == nullptr || !owned_ || job_->over()) return;
  const dispatch::ShareSheet* share = job_->find(told.share);
  if (share == nullptr || share->worker != worker || !share->streams || !dispatch::is_live(*share) || share->end)
    return;
  if (watchers_->heard(collected, number, told)) poke();
}

}  // namespace bellwether::node
