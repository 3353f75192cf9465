// One node's view of the group: a record for each member, a count for each state, and a digest of the view that two
// nodes compare in four bytes, or bucket by bucket.
//
// Records are plain and small (28 bytes), found by the directory's numbers. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "cluster/membership/directory.h"
#include "cluster/membership/packet.h"
#include "core/base/time.h"

namespace bellwether::membership {

// The round-trip time to one member as probes have seen it: mean and mean deviation, smoothed as in TCP (RFC 6298,
// gains 1/8 and 1/4), in whole microseconds so that a member record stays small.
struct RoundTrip {
  uint32_t mean_us = 0;  // 0: not measured yet
  uint32_t deviation_us = 0;

  void add(Duration sample) {
    const int64_t us = std::clamp<int64_t>(sample.us(), 1, 60'000'000);
    if (mean_us == 0) {
      mean_us = static_cast<uint32_t>(us);
      deviation_us = static_cast<uint32_t>(us / 2);
      return;
    }
    const int64_t error = us - int64_t{mean_us};
    deviation_us = static_cast<uint32_t>((3 * int64_t{deviation_us} + std::max(error, -error)) / 4);
    mean_us = static_cast<uint32_t>(std::max<int64_t>(1, (7 * int64_t{mean_us} + us) / 8));
  }
  // mean + 4 deviations within the bounds; the upper bound when nothing was measured.
  Duration timeout(Duration low, Duration high) const {
    if (mean_us == 0) return high;
    return std::clamp(Duration::micros(int64_t{mean_us} + 4 * int64_t{deviation_us}), low, high);
  }
};

enum class MemberState : uint8_t { kUnknown, kAlive, kSuspect, kDead, kLeft };
const char* to_string(MemberState state);
constexpr bool is_present(MemberState state) { return state == MemberState::kAlive || state == MemberState::kSuspect; }

struct Member {
  uint32_t incarnation = 0;
  uint32_t life = 0;
  ProfileIndex profile = 0;
  RoundTrip round_trip;
  MemberState state = MemberState::kUnknown;
};

class MemberTable {
 public:
  explicit MemberTable(Directory& directory) : directory_(directory) {}
  MemberTable(const MemberTable&) = delete;
  MemberTable& operator=(const MemberTable&) = delete;
  ~MemberTable();

  // The member with this id, if it is in the view.
  std::optional<NodeIndex> find(NodeId id) const;
  const Member& at(NodeIndex node) const { return members_[node]; }
  RoundTrip& round_trip(NodeIndex node) { return members_[node].round_trip; }
  bool has(NodeIndex node) const { return node < members_.size() && members_[node].state != MemberState::kUnknown; }

  // Enters a member that is not in the view yet. Nothing when its id belongs to another name.
  std::optional<NodeIndex> enter(std::string_view name, const Member& member, const Profile& profile);
  void set_state(NodeIndex node, MemberState state, uint32_t incarnation);
  void set_identity(NodeIndex node, uint32_t life, const Profile& profile);
  void forget(NodeIndex node);

  const Directory& directory() const { return directory_; }
  const std::string& name(NodeIndex node) const { return directory_.name(node); }
  NodeId id(NodeIndex node) const { return directory_.id(node); }
  const Profile& profile(NodeIndex node) const { return directory_.profile(members_[node].profile); }
  const Endpoint& endpoint(NodeIndex node) const { return profile(node).endpoint; }
  // Another present member with the same endpoint.
  std::optional<NodeIndex> with_endpoint_of(NodeIndex node) const;
  // The number of slots, for loops over all: for (NodeIndex i = 0; i < slots(); ++i) if (has(i)) …
  NodeIndex slots() const { return static_cast<NodeIndex>(members_.size()); }

  std::size_t count(MemberState state) const { return counts_[static_cast<std::size_t>(state)]; }
  std::size_t count(uint8_t role, bool suspect) const { return suspect ? suspects_[role] : alive_[role]; }
  // Members that are alive or suspect.
  std::size_t present() const { return count(MemberState::kAlive) + count(MemberState::kSuspect); }
  std::size_t size() const { return size_; }

  // Over the present members with their incarnations and lives; tombstones do not count, nor does suspicion.
  uint32_t digest() const { return static_cast<uint32_t>(root_ ^ root_ >> 32); }
  static uint32_t bucket_of(NodeId id) { return static_cast<uint32_t>(id.value() >> 56); }
  uint32_t bucket_digest(uint32_t bucket) const {
    return static_cast<uint32_t>(buckets_[bucket] ^ buckets_[bucket] >> 32);
  }

 private:
  void count_in(NodeIndex node, bool in);
  // The first in the order of by_endpoint_ that is not before this one.
  std::vector<NodeIndex>::const_iterator place_of(const Endpoint& endpoint, NodeIndex node) const;

  Directory& directory_;
  std::vector<Member> members_;
  std::vector<NodeIndex> by_endpoint_;  // by endpoint, then by index
  std::size_t size_ = 0;
  std::array<std::size_t, 5> counts_{};
  std::array<uint32_t, 256> alive_{};
  std::array<uint32_t, 256> suspects_{};
  std::array<uint64_t, kBuckets> buckets_{};
  uint64_t root_ = 0;
};

}  // namespace bellwether::membership
