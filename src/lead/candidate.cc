#include "lead/candidate.h"

#include <utility>

#include "base/units.h"

namespace bellwether::lead {

using namespace election;  // NOLINT(google-build-using-namespace): the words of the kernel are this file's subject

Candidate::Candidate(runtime::Runtime& runtime, store::StoreKey& key, ElectorConfig config, uint64_t seed,
                     CandidateListener& listener)
    : runtime_(runtime), key_(key), elector_(std::move(config), seed), listener_(listener) {}

runtime::task<void> Candidate::run(runtime::Cancellation* cancel) {
  runtime::Scope scope(cancel);
  scope_ = &scope;
  stopped_ = false;
  inbox_.push_front(Start{});
  work_off();
  scope.spawn(watch());
  while (!stopped_ && !scope.cancellation()->cancelled()) {
    runtime::Cancellation nap(scope.cancellation());
    nap_ = &nap;
    const bool due = co_await runtime_.sleep_until_boot(elector_.wake(), &nap);
    nap_ = nullptr;
    if (due) tell(Tick{});
  }
  scope.cancel();
  co_await scope.join();
  scope_ = nullptr;
  stopped_ = true;
  inbox_.clear();
  if (term_end_ != nullptr) term_end_->move_to(Instant());
}

void Candidate::tell(Event event) {
  if (stopped_) return;
  inbox_.push_back(std::move(event));
  if (scope_ != nullptr) work_off();
}

// Events that listeners cause wait until the effects of the one before have been carried out.
void Candidate::work_off() {
  if (std::exchange(busy_, true)) return;
  while (!inbox_.empty()) {
    const Event next = std::move(inbox_.front());
    inbox_.pop_front();
    // The boot clock is read for each event: what the kernel decides must not be older than the event.
    const Instant now = runtime_.boot_now();
    Effects effects;
    elector_.step(now, next, effects);
    for (Effect& effect : effects) carry_out(std::move(effect));
  }
  busy_ = false;
  if (nap_ != nullptr) nap_->cancel();  // the time to wake at may be another one now
}

void Candidate::carry_out(Effect effect) {
  if (std::holds_alternative<Look>(effect)) {
    scope_->spawn(look());
  } else if (auto* wanted = std::get_if<Act>(&effect)) {
    scope_->spawn(act(std::move(wanted->request)));
  } else if (const auto* won = std::get_if<Elected>(&effect)) {
    term_end_ = std::make_shared<TermEnd>();
    term_end_->move_to(won->ends);
    const ElectorConfig& config = elector_.config();
    listener_.on_elected({config.key, config.claim.holder, won->epoch, won->since, term_end_});
  } else if (const auto* renewed = std::get_if<Renewed>(&effect)) {
    term_end_->move_to(renewed->ends);
    listener_.on_renewed(renewed->ends, renewed->took);
  } else if (const auto* drain = std::get_if<Drain>(&effect)) {
    listener_.on_drain(drain->cause);
  } else if (const auto* ended = std::get_if<TermEnded>(&effect)) {
    term_end_->move_to(Instant());
    listener_.on_term_ended(*ended);
  } else if (const auto* changed = std::get_if<LeaderChanged>(&effect)) {
    listener_.on_leader_changed(changed->record, changed->evidence);
  } else if (const auto* open = std::get_if<FailOpen>(&effect)) {
    listener_.on_fail_open(open->open, open->why);
  } else if (const auto* floor = std::get_if<FloorRaised>(&effect)) {
    listener_.on_floor(floor->floor);
  } else if (const auto* note = std::get_if<Note>(&effect)) {
    listener_.on_note(note->warning, note->text);
  } else if (std::holds_alternative<Stopped>(effect)) {
    stopped_ = true;
  }
}

Instant Candidate::deadline() { return runtime_.read_clock() + elector_.config().timing.store_timeout; }

runtime::task<void> Candidate::look() {
  auto seen = co_await key_.look(deadline(), scope_->cancellation());
  if (!seen) listener_.on_store_error(false, seen.error().message);
  if (seen) tell_of_refused_watch();
  tell(Looked{std::move(seen)});
}

void Candidate::tell_of_refused_watch() {
  std::string why = key_.watch_refused();
  if (why.empty() || why == refused_) return;
  listener_.on_note(true, "the store does not tell of changes, so they are seen " +
                              format_duration(elector_.config().timing.retry) + " later at worst: " + why);
  refused_ = std::move(why);
}

runtime::task<void> Candidate::act(WriteRequest request) {
  const bool renewal = request.kind == WriteRequest::Kind::kRenew;
  auto outcome = co_await key_.act(std::move(request), deadline(), scope_->cancellation());
  if (!outcome) listener_.on_store_error(renewal, outcome.error().message);
  tell(Acted{std::move(outcome)});
}

runtime::task<void> Candidate::watch() {
  while (true) {
    const bool changed = co_await key_.changed(scope_->cancellation());
    if (!changed) co_return;
    tell(StoreChanged{});
    // A store that reports every change, also our own, must not make this turn without end.
    const bool rested = co_await runtime_.sleep(Duration::millis(5), scope_->cancellation());
    if (!rested) co_return;
  }
}

}  // namespace bellwether::lead
