// Watches many keys at once, a few hundred bytes each: their holders, since when, and whether their records still
// change. Takes the listings of a store and returns the differences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/time.h"
#include "election/lease_record.h"

namespace bellwether::election {

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
