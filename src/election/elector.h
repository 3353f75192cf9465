// One candidate for one key: a state machine that campaigns, renews in time, notices a loss, and hands over in order.
// It works with any store and reads no clock: each step takes the time of the boot clock, freshly read, and returns
// effects.
//
// Its guarantees, if its driver executes effects in order and clocks keep within the drift:
//   - a term ends, by this machine's clock, before any other candidate that follows the same rules may begin one;
//   - validity counts from before the renewal was sent, so a late answer never lengthens a term;
//   - the elector releases the key only after the work has stopped, and takes it again only after that;
//   - an error of the store never makes a candidate the leader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/prng.h"
#include "election/elector_events.h"
#include "election/lease_record.h"
#include "election/lease_timing.h"

namespace bellwether::election {

// The settings of a ClaimRule.
struct ClaimSettings {
  std::string holder;          // our own name: an heir is named by it
  std::string region;          // empty: regions do not matter
  Duration cross_region_wait;  // how much longer a candidate of another region than the holder's waits
  bool trust_empty = false;    // a store that may have lost its data is believed to be new
};

struct Verdict {
  enum class Kind : uint8_t {
    kOurs,      // the record carries our token
    kHeld,      // another holder's, or perhaps: free at `free_at` unless it changes before
    kFree,      // may be taken, by acting on the version seen
    kInQueue,   // our claim waits in the store's queue
    kLostData,  // as kHeld: the store has forgotten a record that we know, and is not believed until `free_at`
  };
  Kind kind = Kind::kHeld;
  Instant free_at;
  std::string why;
};

// Decides when a candidate may take a key. It measures time only with this machine's boot clock. A record that has not
// changed for its lease is dead. A holder whose process is proven dead (HolderSight::kDead) is dead at once. No step of
// a wall clock, of the store or of the holder ends a lease early. The rule for unchanged records is that of the leader
// election of Kubernetes, with the drift of clocks added.
class ClaimRule {
 public:
  ClaimRule(ClaimSettings settings, const LeaseTiming& timing, bool store_chooses_epoch)
      : settings_(std::move(settings)), timing_(timing), chooses_epoch_(store_chooses_epoch) {}

  // The meaning of `seen`, which arrived at `now`, for a candidate with this token. `floor`: the highest epoch ever
  // seen.
  Verdict assess(Instant now, const Observation& seen, const std::string& token, Epoch floor);
  // Since when the record has been as it was seen last.
  Instant unchanged_since() const { return since_; }
  void set_timing(const LeaseTiming& timing) { timing_ = timing; }

 private:
  Verdict assess_doubtful(Instant now, const Observation& seen, Epoch floor) const;
  Verdict assess_free(Instant now, const LeaseRecord& record) const;
  Duration unknown_lease() const;

  ClaimSettings settings_;
  LeaseTiming timing_;
  bool chooses_epoch_;
  bool seen_any_ = false;
  Version version_;
  Instant since_;
  std::optional<Instant> dead_since_;  // since then the holder of this record is proven dead
  Duration longest_lease_;             // of all records seen
};

struct ElectorConfig {
  std::string key;
  ClaimSettings claim;
  LeaseTiming timing;
  StoreTraits traits;
  bool campaign = true;    // otherwise only observe
  bool yields = true;      // after giving the key up unasked, let others go first for one lease
  bool fail_open = false;  // permit acting without proof when no other live holder is seen
  std::optional<BackoffSettings> backoff;
  std::optional<FlapSettings> flap;
  Duration stable_for;  // so long after an election, requests to transfer are refused unless forced
  Evidence evidence;    // with the required kinds
  Epoch floor;          // the highest epoch known from an earlier life
};

class Elector {
 public:
  enum class State : uint8_t {
    kIdle,       // before Start, and after staying out
    kFollowing,  // another candidate holds the key, or none does
    kTaking,     // a claim is on its way
    kLeading,
    kDraining,   // leading, while the work stops in order
    kStopping,   // the term has ended before the work has
    kReleasing,  // the release is on its way
  };

  // `seed` decides tokens and jitter; it must differ between candidates.
  Elector(ElectorConfig config, uint64_t seed);

  void step(Instant now, const Event& event, Effects& effects);
  // When to send Tick at the latest; never() while only an answer can bring anything about.
  Instant wake() const { return !in_flight_ ? wake_ : holds() ? ends_ : Instant::never(); }

  State state() const { return state_; }
  bool holds() const { return state_ == State::kLeading || state_ == State::kDraining; }
  const std::string& token() const { return token_; }
  Epoch epoch() const { return term_.epoch; }
  Instant term_ends() const { return ends_; }
  // How long after term_ends() the last act of the work may come.
  Duration stop_grace() const { return term_timing_.stop_grace; }
  // From when on others may take the key, unless it is renewed: later than any act of the work.
  Instant lease_ends() const { return lease_ends_; }
  // Until when the holder of the last observation counts as holding the key, unless a later look shows a renewal. While
  // this candidate holds: lease_ends(). The beginning of time if the last observation shows no holder.
  Instant holder_until() const;
  // The time of the store's last answer; the beginning of time before the first.
  Instant seen_at() const { return seen_at_; }
  // The last seen record and its verdict; for status screens.
  const Observation& seen() const { return seen_; }
  const Verdict& verdict() const { return verdict_; }
  Epoch floor() const { return floor_; }
  // How long the record had not changed before the last observed change of holder. After a crash this includes the
  // lease of the dead holder. If the key passed from one live holder to the next, it had a holder all the time.
  Duration last_failover() const { return last_failover_; }
  const ElectorConfig& config() const { return config_; }

 private:
  void on_tick(Instant now, Effects& out);
  void on_looked(Instant now, const Result<Observation>& seen, Effects& out);
  void on_acted(Instant now, const Result<WriteOutcome>& outcome, Effects& out);
  void on_resign(Instant now, const Resign& wish, Effects& out);

  // elector.cc: watching, standing, taking
  void look(Effects& out);
  void observe(Instant now, const Observation& seen, Effects& out);
  void consider(Instant now, Effects& out);
  void consider_vacancy(Instant now, Effects& out);
  void adopt(Instant now, Effects& out);
  void take(Instant now, Effects& out);
  void took(Instant now, const Result<WriteOutcome>& outcome, Effects& out);
  void set_open(bool open, std::string why, Effects& out);
  void raise_floor(Epoch seen, Effects& out);

  // elector_term.cc: from the election until the release of the key
  void elected(Instant now, Effects& out);
  void renew(Instant now, Effects& out);
  void renewed(Instant now, const Result<WriteOutcome>& outcome, Effects& out);
  void still_ours(Instant now, const Observation& after, Effects& out);
  void drain(Instant now, const Resign& wish, bool renewing, Effects& out);
  void end_term(Instant now, EndReason reason, std::string why, Effects& out);
  void work_stopped(Instant now, Effects& out);
  void release(Instant now, Effects& out);
  void released(Instant now, const Result<WriteOutcome>& outcome, Effects& out);
  void follow(Instant now, Duration wait, Effects& out);
  void count_from_sent();
  bool kept_shorter(const LeaseRecord& kept) const;
  void schedule_term();

  void act(Instant now, WriteRequest::Kind kind, LeaseRecord record, Effects& out);
  Duration jittered(Duration span);
  static void note(bool warning, std::string text, Effects& out);
  void hindered(std::string why, Effects& out);

  ElectorConfig config_;
  Prng prng_;
  ClaimRule rule_;
  Damping damping_;

  State state_ = State::kIdle;
  Instant wake_ = Instant::never();

  // The request in flight.
  bool in_flight_ = false;
  bool look_again_ = false;  // the store reported a change meanwhile
  Instant sent_;
  LeaseTiming sent_timing_;  // the times that were sent with it; the settings may have changed since

  // The last observation.
  bool seen_any_ = false;
  Instant seen_at_;
  bool must_look_ = false;  // an act of our own may have outdated the observation
  Observation seen_;
  Verdict verdict_;
  Duration last_failover_;
  Epoch floor_;
  bool open_ = false;
  std::string last_trouble_;             // noted once, not at each poll
  std::string hindrance_;                // of our claims to the present vacancy, noted once
  std::optional<Instant> vacancy_from_;  // from when we stand for the present vacancy

  // Our claim and term.
  std::string token_;
  LeaseRecord term_;  // as the store has it
  Version version_;
  Instant since_;
  Instant ends_;
  Instant lease_ends_;
  LeaseTiming term_timing_;  // of the record that others see; the next renewal may bring other times
  Instant next_renewal_;
  bool renewing_ = true;
  std::optional<Resign> wish_;
  bool may_release_ = false;    // the record may still be ours although the term is over
  bool release_waits_ = false;  // until the request in flight has its answer
  int release_tries_ = 0;
  Instant stay_back_until_;  // after giving the key up others go first
};

}  // namespace bellwether::election
