// The record of a key in a store, an observation of it, the requests to change it, and a table of many observed keys.
// Every store has the same interface: one register per key, which changes only if no other candidate changed it in
// between (compare-and-act). All rules of leadership are in the Elector; the stores only read and act.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/enum_names.h"
#include "core/base/prng.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "election/epoch.h"

namespace bellwether::election {

inline constexpr std::string_view kAnybody = "*";

// Times of the wall clock are for people. No decision compares them with the clock of another machine.
struct LeaseRecord {
  std::string holder;    // the name of the holder, for people and logs; empty: none
  std::string token;     // random, new for each term: proves that a record is ours
  Epoch epoch;           // of the present term, or of the last one if the key has no holder
  uint64_t renewal = 0;  // grows with each renewal of a term
  Duration lease;        // others wait until the record has not changed for so long
  WallTime acquired_at;
  WallTime renewed_at;
  std::string region;  // of the holder
  // In a held record: a request to hand over to this candidate (kAnybody: to any). In a free one: the only candidate
  // that may take the key for a while.
  std::string heir;
  std::string cause;  // of the last change of holder: "elected", "released", "transferred to b by ops", "stolen by ops"

  bool held() const { return !holder.empty(); }
  bool operator==(const LeaseRecord&) const = default;
};

// Names one state of a key in its store: two equal versions are the same record, in the same history of the store. A
// store that continues from an older copy of itself shows the old record under a new version. Otherwise an observer of
// the old record would believe that it had not changed since. Opaque.
using Version = std::string;

// The store's knowledge of the holder beyond its record.
enum class HolderSight : uint8_t {
  kUnknown,
  kAlive,
  kDead,  // proven: its process is gone, or the machine has started again since
};

// The place of a claim that waits its turn in the store (kQueue).
struct QueuePlace {
  bool joined = false;
  uint32_t ahead = 0;  // claims before ours; 0: ours is the first
};

struct Observation {
  bool present = false;  // the store has a record of this key; otherwise `record` is empty
  LeaseRecord record;
  Version version;  // of an absent record too
  HolderSight sight = HolderSight::kUnknown;
  bool foreign = false;  // written by a program without epochs; `record.epoch` is then the store's own knowledge
  // The store may have lost data that it held: it is new, emptied, or continues from an older copy of itself. Neither
  // absence nor a release proves anything then.
  bool may_have_lost_data = false;
  // The lowest epoch for the next term, if the store knows more than the record. A store that assigns epochs reports it
  // whenever the key is absent.
  Epoch floor;
  // Where the store itself ends leases: how long this one lasts unless renewed.
  std::optional<Duration> left;
  QueuePlace place;
  std::string evidence;  // in words: anything unusual
};

// A request to a store. Each is one compare-and-act: it happens only if the key is still in the state `expected`.
struct WriteRequest {
  enum class Kind : uint8_t { kTake, kRenew, kRelease, kAmend };
  Kind kind = Kind::kTake;
  std::string token;  // of the claim that acts; the record of a release has none
  Version expected;
  LeaseRecord record;  // as it is to be
};

// Its name, in lower case.
inline const char* to_string(WriteRequest::Kind kind) {
  static constexpr EnumNames<WriteRequest::Kind> kNames("take", "renew", "release", "amend");
  return kNames[kind];
}

struct WriteOutcome {
  bool applied = false;
  Observation after;  // the present state; if not applied, the state that prevented it
};

// How claims work in a kind of store.
enum class ClaimKind : uint8_t {
  kRegister,  // a candidate that sees the key free writes itself into it
  kQueue,     // claims stand in a queue in the store, which makes the first of them the holder
};

struct StoreTraits {
  ClaimKind claim = ClaimKind::kRegister;
  bool chooses_epoch = false;  // the store assigns epochs; otherwise the Elector counts
  Duration lease_min = Duration::millis(100);
};

// The proof that a record is ours: drawn anew for each term.

// 128 random bits in hexadecimal. Not a secret: it distinguishes claims and protects nothing.
std::string make_token(Prng& prng);

// Watches many keys at once, a few hundred bytes each: their holders, since when, and whether their records still
// change. Takes the listings of a store and returns the differences.
class WatchTable {
 public:
  struct Watched {
    std::string holder;  // empty: none
    Epoch epoch;
    Instant since;      // when this holder was first seen here
    Instant unchanged;  // since when the record has not changed, as seen here
    Duration lease;
    uint64_t version = 0;  // a hash of it
    uint64_t round = 0;    // the last listing that had the key
    // The remaining time of the lease for candidates; zero or less: they may take the key.
    Duration left(Instant now) const { return lease - (now - unchanged); }
  };
  struct Change {
    std::string key;
    std::string before;  // the holder
    std::string after;
    Epoch epoch;
    bool gone = false;  // the store does not show the key now
  };

  // One listing: begin_round(), see() for each key, end_round(). Changes come out in the order of see().
  void begin_round() { ++round_; }
  void see(Instant now, const std::string& key, const Observation& seen, std::vector<Change>& changes);
  // Forgets the keys that this listing did not show.
  void end_round(std::vector<Change>& changes);

  const Watched* find(const std::string& key) const;
  std::size_t size() const { return keys_.size(); }

 private:
  std::unordered_map<std::string, Watched> keys_;
  uint64_t round_ = 0;
};

}  // namespace bellwether::election
