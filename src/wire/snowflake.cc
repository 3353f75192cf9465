#include "wire/snowflake.h"

#include <algorithm>

#include "base/check.h"
#include "wire/identity.h"

namespace bellwether::wire {
namespace {

constexpr int64_t kEpochMs = 1'704'067'200'000;  // 2024-01-01T00:00:00Z
constexpr unsigned kCountBits = 10;
constexpr unsigned kNodeBits = 12;
constexpr int64_t kMsMax = (int64_t{1} << 41U) - 1;

int64_t millis(WallTime time) { return std::clamp<int64_t>(time.unix_ns / 1'000'000 - kEpochMs, 0, kMsMax); }

}  // namespace

Snowflake::Snowflake(uint32_t node, WallTime not_before) : node_(node), last_ms_(millis(not_before)) {
  check(node < kNodes, "the node part has 12 bits");
}

SnowflakeId Snowflake::next(WallTime now) {
  const int64_t now_ms = millis(now);
  if (now_ms > last_ms_) {
    last_ms_ = now_ms;
    count_ = 0;
  } else if (++count_ == kPerMilli) {
    ++last_ms_;
    count_ = 0;
  }
  check(last_ms_ <= kMsMax, "the ids of this layout end in 2093");
  return static_cast<uint64_t>(last_ms_) << (kNodeBits + kCountBits) | node_ << kCountBits | count_;
}

Duration Snowflake::ahead_of(WallTime now) const {
  return Duration::millis(std::max<int64_t>(last_ms_ - millis(now), 0));
}

WallTime Snowflake::made_at(SnowflakeId id) {
  return {(static_cast<int64_t>(id >> (kNodeBits + kCountBits)) + kEpochMs) * 1'000'000};
}

uint32_t Snowflake::made_by(SnowflakeId id) {
  return static_cast<uint32_t>(id >> kCountBits) & (Snowflake::kNodes - 1);
}

uint32_t node_part(std::string_view node) { return static_cast<uint32_t>(node_hash(node) % Snowflake::kNodes); }

}  // namespace bellwether::wire
