// One candidate for one key, at work: the Elector of the kernel, a store, and the clocks and timers of a runtime. It
// carries the kernel's effects out in their order and tells a listener what matters. One thread, that of its runtime.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "election/elector.h"
#include "election/term_of_office.h"
#include "lead/evidence_taker.h"
#include "runtime/event.h"
#include "runtime/runtime.h"
#include "runtime/scope.h"
#include "store/lease_store.h"

namespace bellwether::lead {

// What happens to a candidate. Calls come one after the other, never from within another; they must not wait, since
// renewals wait for them. They may call the candidate.
class CandidateListener {
 public:
  virtual ~CandidateListener() = default;
  // The work may begin. `term` stays as it is; term.valid_for(now) is to be asked before each act.
  virtual void on_elected(const election::TermOfOffice& term) = 0;
  virtual void on_renewed(Instant /*ends*/, Duration /*took*/) {}
  // Stop the work in good order and call work_stopped(); the term goes on meanwhile.
  virtual void on_drain(const std::string& cause) = 0;
  // The term is over. If `ended.work_runs`, its last act must come before `ended.stop_by` (boot clock), and
  // work_stopped() must follow.
  virtual void on_term_ended(const election::TermEnded& ended) = 0;
  virtual void on_leader_changed(const election::LeaseRecord& /*record*/, const std::string& /*evidence*/) {}
  // The store did not do what it was asked, or it is not known whether it did.
  virtual void on_store_error(bool /*renewal*/, const std::string& /*why*/) {}
  virtual void on_fail_open(bool /*open*/, const std::string& /*why*/) {}
  virtual void on_floor(election::Epoch /*floor*/) {}
  virtual void on_note(bool /*warning*/, const std::string& /*text*/) {}
};

class Candidate final : public EvidenceTaker {
 public:
  // All must outlive it. `seed` must differ between candidates: it decides tokens.
  Candidate(runtime::Runtime& runtime, store::StoreKey& key, election::ElectorConfig config, uint64_t seed,
            CandidateListener& listener);
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;

  // Campaigns (or observes) until it was told to stay out and has given up everything, or until `cancel`, which drops
  // everything as it is: a term that runs ends at once, for nobody renews it.
  runtime::task<void> run(runtime::Cancellation* cancel);

  // What is told before run() counts when it begins; what is told after it, not at all.
  void resign(election::Resign wish) { tell(std::move(wish)); }
  void work_stopped() { tell(election::WorkStopped{}); }
  void good_evidence(election::EvidenceKind kind) override { tell(election::GoodEvidence{kind}); }
  void bad_evidence(election::EvidenceKind kind, std::string why) override {
    tell(election::BadEvidence{kind, std::move(why)});
  }
  void extend() { tell(election::Extend{}); }
  void retime(const election::LeaseTiming& timing) { tell(election::Retime{timing}); }

  const election::Elector& elector() const { return elector_; }

 private:
  void tell(election::Event event);
  void work_off();
  void carry_out(election::Effect effect);
  runtime::task<void> look();
  runtime::task<void> act(election::WriteRequest request);
  runtime::task<void> watch();
  Instant deadline();
  void tell_of_refused_watch();

  runtime::Runtime& runtime_;
  store::StoreKey& key_;
  election::Elector elector_;
  CandidateListener& listener_;
  std::deque<election::Event> inbox_;
  bool busy_ = false;
  bool stopped_ = false;
  runtime::Scope* scope_ = nullptr;
  runtime::Cancellation* nap_ = nullptr;  // ends the wait for wake()
  std::shared_ptr<election::TermEnd> term_end_;
  std::string refused_;  // the watch, and for what reason: told once
};

}  // namespace bellwether::lead
