// A loop that must run in one process at a time: the class of every elected control loop, those of users (`bellwether
// loops run`) and those of this product, such as its job reconciler and its lease cleanup.
//
// Each poll tries the lock. On success one tick runs, with the lock renewed meanwhile when the sheet says so. Then
//   - release mode `explicit` gives the lock back, and any process may have the next tick;
//   - release mode `ttl_hold` keeps it: the same process extends its lease at each of its polls and ticks again under
//     the same epoch. Another one takes over when the lease has run out, at most TTL + poll after the last extension.
//
// A tick never outlives its term: when the lease is lost, or ends without renewals (renew_every 0), the tick is
// cancelled. A failed tick is only counted. An error of the store at a poll means no tick.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/callback.h"
#include "core/runtime/event.h"
#include "core/runtime/runtime.h"
#include "core/runtime/scope.h"
#include "election/store/candidate.h"
#include "election/store/lease_store.h"
#include "lead/policy/policy.h"

namespace bellwether::lead {

// The work of a loop: one tick. Must end soon after `cancel`, and must not act once term.valid_for(now) is over; by
// `kill_at` (boot clock) nothing of it may be left. `term.epoch` is the fence for all its changes.
using LoopTick =
    Callback<runtime::task<Status>(election::TermOfOffice term, Instant kill_at, runtime::Cancellation* cancel)>;

// Receives the events of a loop. As with CandidateListener: one call after the other, none may wait.
class LoopListener {
 public:
  virtual ~LoopListener() = default;
  virtual void on_elected(const election::TermOfOffice& /*term*/) {}
  virtual void on_renewed(Instant /*ends*/, Duration /*took*/) {}
  // The times of the running tick have moved.
  virtual void on_deadlines_moved(Instant /*term_ends*/, Instant /*kill_at*/) {}
  virtual void on_term_ended(const election::TermEnded& /*ended*/) {}
  virtual void on_leader_changed(const election::LeaseRecord& /*record*/, const std::string& /*evidence*/) {}
  virtual void on_store_error(bool /*renewal*/, const std::string& /*why*/) {}
  virtual void on_floor(election::Epoch /*floor*/) {}
  virtual void on_note(bool /*warning*/, const std::string& /*text*/) {}
  // How long the store took to say whether the lock may be had.
  virtual void on_lock_wait(Duration /*took*/) {}
  virtual void on_tick_ended(election::Epoch /*epoch*/, const Status& /*how*/, Duration /*took*/) {}
};

struct LoopSettings {
  LoopPolicy policy;
  LoopTiming timing;
  election::StoreTraits traits;
  std::string holder;  // our name
  bool trust_empty = false;
  election::Epoch floor;  // the highest epoch known from an earlier life
};

class LeaderLoop final : private CandidateListener {
 public:
  // All must outlive it. `seed` must differ between processes.
  LeaderLoop(runtime::Runtime& runtime, store::StoreKey& key, LoopSettings settings, uint64_t seed, LoopTick work,
             LoopListener& listener);
  LeaderLoop(const LeaderLoop&) = delete;
  LeaderLoop& operator=(const LeaderLoop&) = delete;
  ~LeaderLoop() override;

  // Until stop() has been carried out. `cancel` drops everything as it is, as a crash would.
  runtime::task<void> run(runtime::Cancellation* cancel);
  // Cancels the running tick, gives the lock back, and ends run().
  void stop(const std::string& cause);

  const LoopSettings& settings() const { return settings_; }
  Duration last_failover() const { return candidate_.elector().last_failover(); }
  uint64_t ticks() const { return ticks_; }

 private:
  class PolledKey;
  void on_elected(const election::TermOfOffice& term) override;
  void on_renewed(Instant ends, Duration took) override;
  void on_drain(const std::string& cause) override;
  void on_term_ended(const election::TermEnded& ended) override;
  void on_leader_changed(const election::LeaseRecord& record, const std::string& evidence) override;
  void on_store_error(bool renewal, const std::string& why) override;
  void on_floor(election::Epoch floor) override { listener_.on_floor(floor); }
  void on_note(bool warning, const std::string& text) override { listener_.on_note(warning, text); }

  runtime::task<void> serve(election::TermOfOffice term);
  runtime::task<void> tick(election::TermOfOffice term);
  runtime::task<bool> hold_until_poll(Instant poll);
  runtime::task<bool> extend();
  void leave(bool tick_too);
  void stand_after(Duration spent);
  Duration jittered(Duration span);

  runtime::Runtime& runtime_;
  LoopSettings settings_;
  LoopTick work_;
  LoopListener& listener_;
  std::unique_ptr<PolledKey> key_;
  Candidate candidate_;
  runtime::Scope* scope_ = nullptr;

  bool serving_ = false;   // serve() runs, and says when the work has stopped
  bool leaving_ = false;   // no further tick in this term
  bool stopping_ = false;  // no further term
  Instant extended_at_;    // when the last extension was confirmed
  Instant kill_at_;        // for the work in this term
  bool confirmed_ = false;
  runtime::Event answered_;                        // an extension was, or never will be
  runtime::Cancellation* waiting_ = nullptr;       // ends the wait for the next poll
  runtime::Cancellation* tick_running_ = nullptr;  // ends the tick
  uint64_t ticks_ = 0;
};

}  // namespace bellwether::lead
