// The names and profiles of members, each kept once and handed out as a small number, so that a member table can be an
// array of plain records. A node has its own directory. In the simulator all nodes of a world share one, so that ten
// thousand views of ten thousand members fit into memory.
//
// Entries are counted: an entry without users is forgotten and its number used again. Not thread-safe.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/strong_id.h"

namespace bellwether::membership {

// The id of a member on the wire: a 64-bit hash of its name, so that an accusation takes eight bytes and not a name.
// Names are unique in a group. Two names with one hash (one chance in 10^11 at 10,000 members) are treated like two
// nodes with one name: the later one is refused.
using NodeId = StrongId<struct NodeTag, uint64_t>;

// FNV-1a, finished with the mixer of splitmix64 so that all bits are good. Never 0, which stands for "any node".
constexpr NodeId node_id(std::string_view name) {
  uint64_t h = 0xcbf29ce484222325;
  for (const char c : name) h = (h ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9;
  h = (h ^ (h >> 27)) * 0x94d049bb133111eb;
  h ^= h >> 31;
  return NodeId(h == 0 ? 1 : h);
}

// Half of the id: enough to distinguish accusers, and to find their names again in one's own table.
using AccuserMark = uint32_t;
constexpr AccuserMark mark_of(NodeId id) { return static_cast<AccuserMark>(id.value()); }

// The address of a member: an IP address with a port, a plain value. Host names are resolved before.
struct Endpoint {
  std::array<uint8_t, 16> ip{};  // network order; IPv4 as ::ffff:a.b.c.d (RFC 4291, 2.5.5.2)
  uint16_t port = 0;             // host order

  constexpr auto operator<=>(const Endpoint&) const = default;
  static Endpoint v4(std::array<uint8_t, 4> address, uint16_t port);
  bool is_v4() const;
};

// "10.0.0.1:7946", "[2001:db8::1]:7946" (RFC 5952).
std::string to_string(const Endpoint& endpoint);

using NodeIndex = uint32_t;
using ProfileIndex = uint32_t;

// A member's description of itself beside its name. `meta` is the application's, opaque, at most 255 bytes.
struct Profile {
  Endpoint endpoint;
  uint8_t role = 0;  // the kind of node, as the application numbers them
  std::string meta;
  bool operator==(const Profile&) const = default;
};

class Directory {
 public:
  std::optional<NodeIndex> find(NodeId id) const;
  // Counts one more holder of the name. Nothing when another name has the same id.
  std::optional<NodeIndex> hold(std::string_view name);
  void release(NodeIndex node);

  const std::string& name(NodeIndex node) const { return nodes_[node].name; }
  NodeId id(NodeIndex node) const { return nodes_[node].id; }
  // One more than the largest NodeIndex in use.
  std::size_t size() const { return nodes_.size(); }

  ProfileIndex hold_profile(const Profile& profile);
  void hold_profile(ProfileIndex profile) { ++profiles_[profile].holders; }
  void release_profile(ProfileIndex profile);
  const Profile& profile(ProfileIndex profile) const { return profiles_[profile].profile; }

 private:
  struct Node {
    std::string name;
    NodeId id;
    uint32_t holders = 0;
  };
  struct HeldProfile {
    Profile profile;
    uint32_t holders = 0;
  };
  static uint64_t hash(const Profile& profile);

  std::vector<Node> nodes_;
  std::vector<NodeIndex> free_nodes_;
  std::unordered_map<uint64_t, NodeIndex> by_id_;
  std::vector<HeldProfile> profiles_;
  std::vector<ProfileIndex> free_profiles_;
  std::unordered_multimap<uint64_t, ProfileIndex> by_hash_;
};

}  // namespace bellwether::membership
