// The id of a member on the wire: a 64-bit hash of its name, so that an accusation takes eight bytes and not a name.
// Names are unique in a group. Two names with one hash (one chance in 10^11 at 10,000 members) are treated like two
// nodes with one name: the later one is refused.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/strong_id.h"

namespace bellwether::membership {

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

}  // namespace bellwether::membership
