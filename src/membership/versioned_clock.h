// Which version of whose state was seen last, so that what arrives late or twice is refused. A version is ordered first
// by the life of its owner (a number that grows with each of its starts) and then by the owner's count within that
// life, so that an owner which restarts and counts from 1 again is not taken for stale.
//
// Check and update are one operation; entities that nobody updates are forgotten. Bounded. Not thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <unordered_map>

#include "base/time.h"

namespace bellwether::membership {

struct StateVersion {
  uint32_t life = 0;
  uint64_t count = 0;
  constexpr auto operator<=>(const StateVersion&) const = default;
};

class VersionedClock {
 public:
  explicit VersionedClock(std::size_t limit) : limit_(limit) {}

  // True when `version` is newer than all seen of this entity; it is then the newest. Also false for a new entity when
  // the clock is full.
  bool accept(uint64_t entity, StateVersion version, Instant now);
  bool is_stale(uint64_t entity, StateVersion version) const;
  // The zero version for an entity never seen.
  StateVersion last(uint64_t entity) const;
  // Forgets an entity, or all that were last updated more than `age` ago.
  void forget(uint64_t entity) { entries_.erase(entity); }
  void forget_older_than(Duration age, Instant now);
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    StateVersion version;
    Instant updated;
  };
  std::size_t limit_;
  std::unordered_map<uint64_t, Entry> entries_;
};

}  // namespace bellwether::membership
