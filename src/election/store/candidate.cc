#include "election/store/candidate.h"

#include <utility>

#include "core/base/units.h"

namespace bellwether::lead {

using namespace election;  // NOLINT(google-build-using-namespace): the words of the kernel are this file's subject

Candidate::Candidate(runtime::Runtime& runtime, store::StoreKey& key, ElectorConfig config, uint64_t seed,
                     CandidateListener& listener)
    : runtime_(runtime), key_(key), elector_(std::move(config), seed), listener_(listener) {}

runtime::task<void> Candidate::run(runtime::Cancellation* cancel) {
  runtime::Scope scope(cancel);
  scope_ = &scope;
  stopped_ = false;
  loop_.begin(Start{});
  scope.spawn(watch());
  if (!stopped_) co_await loop_.keep_time(Tick{}, scope.cancellation());
  scope.cancel();
  co_await scope.join();
  loop_.end();
  scope_ = nullptr;
  stopped_ = true;
  terms_.drop();
}

void Candidate::carry_out(const Stopped&) {
  stopped_ = true;
  scope_->cancel();
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
  listener_.on_note(true,
                    fmt::format("the store does not report changes, so this candidate sees them up to {} later: {}",
                                format_duration(elector_.config().timing.retry), why));
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
