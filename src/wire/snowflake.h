// Ids that are unique without asking anybody, and sort by when they were made: a time, the node, and a count within the
// millisecond (the layout that Twitter's Snowflake made known).
//
// A clock that steps back makes the generator go on from the highest time that it has used; a millisecond that is used
// up borrows from the next one. So a generator never repeats itself. After a restart it must be given a time that is
// not before what it used before: the wall clock, or what was kept on disk.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace bellwether::wire {

// Layout, from the top: 1 bit 0, 41 bits of milliseconds since 2024-01-01T00:00:00Z (until 2093), 12 bits of the node,
// 10 bits of the count.
using SnowflakeId = uint64_t;

class Snowflake {
 public:
  static constexpr uint32_t kNodes = 4096;
  static constexpr uint32_t kPerMilli = 1024;

  // `node`: less than 4096; two nodes that make ids at the same time need different ones. Of a node's name:
  // node_part(). `not_before`: the highest time that an earlier start may have used.
  Snowflake(uint32_t node, WallTime not_before);

  // Always greater than the last one.
  SnowflakeId next(WallTime now);
  // How far the ids are ahead of the clock: from steps back, and from more than 1,024 a millisecond.
  Duration ahead_of(WallTime now) const;

  static WallTime made_at(SnowflakeId id);
  static uint32_t made_by(SnowflakeId id);

 private:
  uint64_t node_;
  int64_t last_ms_;
  uint32_t count_ = 0;
};

// A node part out of a name, for clusters that assign none: two of n nodes share one with probability n²/8192, in which
// case their ids may collide only if both make one with the same count in the same millisecond.
uint32_t node_part(std::string_view node);

}  // namespace bellwether::wire
