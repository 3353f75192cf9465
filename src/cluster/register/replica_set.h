// The nodes that keep registers and blobs. The set changes by one node at a time, while owners write. Each change has
// two steps, each one number higher: while it is under way, majorities of both the old and the new nodes decide (the
// joint consensus of Ongaro, "Consensus: Bridging Theory and Practice", 2014, section 4.3); then those of the new ones.
// The register kSetKey holds the newest set.
//
// A replica answers nobody whose set is older than its own. The second step waits until
//   1. a majority of the old nodes knows the first one, so that nobody decides with the old nodes alone any more;
//   2. a majority of the new nodes has read, since it knows the first step, the records of a majority of the old ones
//      that know it too, so that every majority of the new nodes has what was ever decided.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "election/quorum/configuration.h"

namespace bellwether::registers {

inline constexpr std::size_t kMaxReplicas = quorum::kMaxMembers;  // of both lists together
inline constexpr const char* kSetKey = "@replicas";

struct ReplicaSet {
  uint64_t number = 0;             // 0: as the settings of the nodes name it
  std::vector<std::string> names;  // ascending
  std::vector<std::string> next;   // ascending; not empty while a change is under way

  bool joint() const { return !next.empty(); }
  bool has(const std::string& name) const;
  // Of `names` and `next`, ascending, each once.
  std::vector<std::string> all() const;
  // Whether a majority of `names`, and of `next` when a change is under way, is `in`(name).
  template <class In>
  bool agreed(In in) const {
    return most(names, in) && (next.empty() || most(next, in));
  }
  template <class In>
  static bool most(const std::vector<std::string>& names, In in) {
    std::size_t count = 0;
    for (const std::string& name : names) count += in(name) ? 1 : 0;
    return count >= names.size() / 2 + 1;
  }
  bool operator==(const ReplicaSet&) const = default;
};

// A change that somebody wants: of one node, or of one node for another. Both empty: none.
struct SetWish {
  std::string add;
  std::string remove;
  bool operator==(const SetWish&) const = default;
};
// REQUIRES !set.joint().
bool is_fulfilled(const SetWish& wish, const ReplicaSet& set);

// The first step of a change. kInvalid: a change is under way, or nothing is wanted; kExists: the node to add is in the
// set; kNotFound: the one to remove is not; kRefused: it is the last one; kTooLarge.
Result<ReplicaSet> begin_change(const ReplicaSet& from, const SetWish& wish);
// The second one. REQUIRES from.joint().
ReplicaSet end_change(const ReplicaSet& from);

}  // namespace bellwether::registers
