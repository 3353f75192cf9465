#include "lead/loops/leader_loop.h"

#include <algorithm>
#include <utility>

namespace bellwether::lead {

using election::TermOfOffice;

// The store as a loop uses it: asked at polls, and timed.
class LeaderLoop::PolledKey final : public store::StoreKey {
 public:
  PolledKey(runtime::Runtime& runtime, store::StoreKey& key, bool hears, LoopListener& listener)
      : runtime_(runtime), key_(key), hears_(hears), listener_(listener) {}

  runtime::task<Result<election::Observation>> look(Instant deadline, runtime::Cancellation* cancel) override {
    const Instant asked = runtime_.read_clock();
    auto seen = co_await key_.look(deadline, cancel);
    listener_.on_lock_wait(runtime_.read_clock() - asked);
    co_return seen;
  }
  runtime::task<Result<election::WriteOutcome>> act(election::WriteRequest request, Instant deadline,
                                                    runtime::Cancellation* cancel) override {
    const bool claim = request.kind == election::WriteRequest::Kind::kTake;
    const Instant asked = runtime_.read_clock();
    auto outcome = co_await key_.act(std::move(request), deadline, cancel);
    if (claim) listener_.on_lock_wait(runtime_.read_clock() - asked);
    co_return outcome;
  }
  // The store must not wake a loop that gives its lock back after each tick whenever another process does so: the
  // processes would tick one after the other without a rest. It looks at its polls only.
  runtime::task<bool> changed(runtime::Cancellation* cancel) override {
    if (!hears_) co_return false;
    const bool heard = co_await key_.changed(cancel);
    co_return heard;
  }
  int claim_descriptor() const override { return key_.claim_descriptor(); }

 private:
  runtime::Runtime& runtime_;
  store::StoreKey& key_;
  bool hears_;
  LoopListener& listener_;
};

namespace {

election::ElectorConfig elector_of(const LoopSettings& settings) {
  election::ElectorConfig config;
  config.key = settings.policy.lock_key;
  config.claim.holder = settings.holder;
  config.claim.trust_empty = settings.trust_empty;
  config.timing = settings.timing.waiting;
  config.traits = settings.traits;
  config.yields = false;  // the next poll may have it again
  config.floor = settings.floor;
  return config;
}

bool holds(const LoopSettings& settings) { return settings.policy.release_mode == ReleaseMode::kTtlHold; }

}  // namespace

LeaderLoop::LeaderLoop(runtime::Runtime& runtime, store::StoreKey& key, LoopSettings settings, uint64_t seed,
                       LoopTick work, LoopListener& listener)
    : runtime_(runtime),
      settings_(std::move(settings)),
      work_(work),
      listener_(listener),
      key_(std::make_unique<PolledKey>(runtime, key, holds(settings_), listener)),
      candidate_(runtime, *key_, elector_of(settings_), seed, *this) {}

LeaderLoop::~LeaderLoop() = default;

runtime::task<void> LeaderLoop::run(runtime::Cancellation* cancel) {
  runtime::Scope scope(cancel);
  scope_ = &scope;
  stopping_ = false;
  co_await candidate_.run(scope.cancellation());
  scope.cancel();
  answered_.set();
  co_await scope.join();
  scope_ = nullptr;
}

void LeaderLoop::stop(const std::string& cause) {
  stopping_ = true;
  leave(true);
  candidate_.resign({.cause = cause, .heir = {}, .stay_out = true});
}

Duration LeaderLoop::jittered(Duration span) {
  const auto low = static_cast<int64_t>(static_cast<double>(span.ns()) * (1 - settings_.timing.waiting.jitter));
  return runtime_.prng().between(Duration::nanos(low), span);
}

// --- events of the candidate -----------------------------------------------------------------------------------------

void LeaderLoop::on_elected(const TermOfOffice& term) {
  serving_ = true;
  leaving_ = stopping_;
  extended_at_ = runtime_.now();
  kill_at_ = term.end->ends_at() + candidate_.elector().stop_grace();
  listener_.on_elected(term);
  candidate_.retime(settings_.timing.leading);
  scope_->spawn(serve(term));
}

void LeaderLoop::on_renewed(Instant ends, Duration took) {
  extended_at_ = runtime_.now();
  // A stop order ends the extension by renewals.
  if (!stopping_) {
    kill_at_ = ends + candidate_.elector().stop_grace();
    listener_.on_deadlines_moved(ends, kill_at_);
  }
  confirmed_ = true;
  answered_.set();
  listener_.on_renewed(ends, took);
}

// Asked to hand over: the running tick may come to its end, within the term.
void LeaderLoop::on_drain(const std::string&) { leave(stopping_); }

void LeaderLoop::on_term_ended(const election::TermEnded& ended) {
  listener_.on_term_ended(ended);
  if (!ended.work_runs) return;
  kill_at_ = std::min(kill_at_, ended.stop_by);
  listener_.on_deadlines_moved(std::min(runtime_.boot_now(), kill_at_), kill_at_);
  leave(true);
  if (!serving_) candidate_.work_stopped();
}

void LeaderLoop::on_leader_changed(const election::LeaseRecord& record, const std::string& evidence) {
  if (record.held() && !serving_) candidate_.retime(settings_.timing.waiting);
  listener_.on_leader_changed(record, evidence);
}

void LeaderLoop::on_store_error(bool renewal, const std::string& why) {
  if (renewal) answered_.set();
  listener_.on_store_error(renewal, why);
}

void LeaderLoop::leave(bool tick_too) {
  leaving_ = true;
  answered_.set();
  if (waiting_ != nullptr) waiting_->cancel();
  if (tick_too && tick_running_ != nullptr) tick_running_->cancel();
}

// --- a term ----------------------------------------------------------------------------------------------------------

runtime::task<void> LeaderLoop::serve(TermOfOffice term) {
  Instant started = runtime_.now();
  while (!leaving_) {
    started = runtime_.now();
    co_await tick(term);
    if (leaving_ || !holds(settings_)) break;
    const bool again = co_await hold_until_poll(started + jittered(settings_.policy.poll_interval));
    if (!again) break;
  }
  serving_ = false;
  stand_after(runtime_.now() - started);
  candidate_.work_stopped();
}

// The next poll counts from the start of the last tick, not from its end.
void LeaderLoop::stand_after(Duration spent) {
  election::LeaseTiming timing = settings_.timing.waiting;
  timing.retry = std::max(timing.retry - spent, timing.retry / 8);
  candidate_.retime(timing);
}

runtime::task<void> LeaderLoop::tick(TermOfOffice term) {
  runtime::Cancellation cancel(scope_->cancellation());
  tick_running_ = &cancel;
  const Instant began = runtime_.now();
  const election::Epoch epoch = term.epoch;
  const Instant kill_at = kill_at_;
  ++ticks_;
  const Status how = co_await work_(std::move(term), kill_at, &cancel);
  tick_running_ = nullptr;
  listener_.on_tick_ended(epoch, how, runtime_.read_clock() - began);
}

// True at a poll whose extension of the lease was confirmed; false when the key is to be given up, or is lost.
runtime::task<bool> LeaderLoop::hold_until_poll(Instant poll) {
  while (!leaving_) {
    runtime::Cancellation cancel(scope_->cancellation());
    waiting_ = &cancel;
    const Instant latest = extended_at_ + settings_.timing.extend_within;
    co_await runtime_.sleep_until(std::min(poll, latest), &cancel);
    waiting_ = nullptr;
    if (leaving_ || scope_->cancellation()->cancelled()) co_return false;
    const bool due = runtime_.now() >= poll;
    const bool extended = co_await extend();
    if (leaving_) co_return false;
    if (due && extended) co_return true;
    if (due) poll = runtime_.now() + jittered(settings_.policy.poll_interval);
    if (!extended) {
      // The candidate repeats the renewal by itself; the next confirmation counts.
      extended_at_ = runtime_.now();
    }
  }
  co_return false;
}

runtime::task<bool> LeaderLoop::extend() {
  const Instant asked = runtime_.read_clock();
  confirmed_ = false;
  answered_.reset();
  candidate_.extend();
  co_await answered_.wait();
  if (confirmed_) listener_.on_lock_wait(runtime_.read_clock() - asked);
  co_return confirmed_ && !leaving_;
}

}  // namespace bellwether::lead
