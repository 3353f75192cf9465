// When a key may be taken, judged by a contender from what it has seen itself. Its own monotonic time is all it trusts:
// a record is dead when it has not changed for its lease as measured here, so that no step of any wall clock, of the
// store or of the holder, ends a lease early. (The rule of the Kubernetes electors, with the drift of clocks added.)
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "election/lease_record.h"
#include "election/lease_timing.h"

namespace bellwether::election {

struct ClaimSettings {
  std::string holder;          // our own name: an heir is named by it
  std::string region;          // empty: regions do not matter
  Duration cross_region_wait;  // how much longer a contender of another region than the holder's waits
  bool trust_empty = false;    // a store that may have lost its data is believed to be new
};

struct Verdict {
  enum class Kind : uint8_t {
    kOurs,      // the record carries our token
    kHeld,      // somebody else's, or perhaps somebody else's: free at `free_at` unless it changes before
    kFree,      // may be taken, by acting on the version seen
    kInQueue,   // our claim waits in the store's queue
    kLostData,  // as kHeld: the store has forgotten what we know of it, and is not believed until `free_at`
  };
  Kind kind = Kind::kHeld;
  Instant free_at;
  std::string why;
};

class ClaimRule {
 public:
  ClaimRule(ClaimSettings settings, const LeaseTiming& timing, bool store_chooses_epoch)
      : settings_(std::move(settings)), timing_(timing), chooses_epoch_(store_chooses_epoch) {}

  // What `seen`, which arrived at `now`, means for a contender with this token. `floor`: the highest epoch ever seen.
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
  std::optional<Instant> dead_since_;  // since when the holder of this record is known to be dead
  Duration longest_lease_;             // of all records seen
};

}  // namespace bellwether::election
