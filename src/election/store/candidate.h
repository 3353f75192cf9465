// Runs one candidate for one key: the Elector of the kernel, a store, and the clocks and timers of a runtime. It
// executes the kernel's effects in order and notifies a listener. One thread, that of its runtime.
#pragma once

#include <string>

#include "core/runtime/event.h"
#include "core/runtime/kernel_driver.h"
#include "core/runtime/scope.h"
#include "election/elector.h"
#include "election/store/lease_store.h"
#include "election/term_of_office.h"

namespace bellwether::lead {

// The events of a candidate. Its user calls Candidate::work_stopped() when the work has stopped.
class CandidateListener : public election::TermListener {
 public:
  virtual void on_leader_changed(const election::LeaseRecord& /*record*/, const std::string& /*evidence*/) {}
  // The store has failed a request, or its outcome is unknown.
  virtual void on_store_error(bool /*renewal*/, const std::string& /*why*/) {}
  virtual void on_fail_open(bool /*open*/, const std::string& /*why*/) {}
  virtual void on_floor(election::Epoch /*floor*/) {}
  virtual void on_note(bool /*warning*/, const std::string& /*text*/) {}
};

class Candidate final {
 public:
  // All must outlive it. `seed` must differ between candidates: it decides tokens.
  Candidate(runtime::Runtime& runtime, store::StoreKey& key, election::ElectorConfig config, uint64_t seed,
            CandidateListener& listener);
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;

  // Campaigns (or observes) until a request to stay out has given up everything, or until `cancel`, which drops
  // everything as it is: a running term ends at once, because no renewal follows.
  runtime::task<void> run(runtime::Cancellation* cancel);

  // A call before run() takes effect when run() begins; a call after it, never.
  void resign(election::Resign wish) { tell(std::move(wish)); }
  void work_stopped() { tell(election::WorkStopped{}); }
  // How sound the guarded work is.
  void good_evidence(election::EvidenceKind kind) { tell(election::GoodEvidence{kind}); }
  void bad_evidence(election::EvidenceKind kind, std::string why) { tell(election::BadEvidence{kind, std::move(why)}); }
  void extend() { tell(election::Extend{}); }
  void retime(const election::LeaseTiming& timing) { tell(election::Retime{timing}); }

  const election::Elector& elector() const { return elector_; }

 private:
  using Loop = runtime::KernelDriver<Candidate, election::Elector, election::Event, election::Effects>;
  friend Loop;

  void tell(election::Event event) {
    if (!stopped_) loop_.tell(std::move(event));
  }
  void carry_out(const election::Look&) { scope_->spawn(look()); }
  void carry_out(election::Act& wanted) { scope_->spawn(act(std::move(wanted.request))); }
  void carry_out(const election::Elected& won) { terms_.elected(won); }
  void carry_out(const election::Renewed& renewed) { terms_.renewed(renewed); }
  void carry_out(const election::Drain& drain) { listener_.on_drain(drain.cause); }
  void carry_out(const election::TermEnded& ended) { terms_.ended(ended); }
  void carry_out(const election::LeaderChanged& changed) {
    listener_.on_leader_changed(changed.record, changed.evidence);
  }
  void carry_out(const election::FailOpen& open) { listener_.on_fail_open(open.open, open.why); }
  void carry_out(const election::FloorRaised& floor) { listener_.on_floor(floor.floor); }
  void carry_out(const election::Note& note) { listener_.on_note(note.warning, note.text); }
  void carry_out(const election::Stopped&);
  runtime::task<void> look();
  runtime::task<void> act(election::WriteRequest request);
  runtime::task<void> watch();
  Instant deadline();
  void tell_of_refused_watch();

  runtime::Runtime& runtime_;
  store::StoreKey& key_;
  election::Elector elector_;
  CandidateListener& listener_;
  Loop loop_{runtime_, elector_, *this};
  bool stopped_ = false;
  runtime::Scope* scope_ = nullptr;
  election::OwnTerms terms_{elector_.config().key, elector_.config().claim.holder, listener_};
  std::string refused_;  // the watch, with the reason: reported once
};

}  // namespace bellwether::lead
