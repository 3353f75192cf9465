// Statuses of responses that a user lists: 404, 3xx, 200-399.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/bytes.h"

namespace bellwether::scenario {

// Both ends belong to it.
struct StatusRange {
  uint16_t low = 0;
  uint16_t high = 0;
  bool operator==(const StatusRange&) const = default;
};

constexpr uint64_t kMinStatus = 100;
constexpr uint64_t kMaxStatus = 999;
constexpr std::size_t kMaxStatusRanges = 100;  // of one request
constexpr std::string_view kStatusForms = "statuses from 100 to 999 and ranges of them: [200, 404, 3xx, 500-503]";

// Empty: it is none of the three forms, or outside of kMinStatus to kMaxStatus.
inline std::optional<StatusRange> parse_statuses(std::string_view text) {
  uint64_t low = 0;
  uint64_t high = 0;
  if (text.size() == 3 && ascii_lower(text[1]) == 'x' && ascii_lower(text[2]) == 'x') {
    low = parse_u64(text.substr(0, 1)).value_or(0) * 100;
    high = low + 99;
  } else {
    const std::size_t dash = std::min(text.find('-'), text.size());
    const auto first = parse_u64(text.substr(0, dash));
    const auto last = dash == text.size() ? first : parse_u64(text.substr(dash + 1));
    if (!first || !last) return std::nullopt;
    low = *first;
    high = *last;
  }
  if (low < kMinStatus || high > kMaxStatus || low > high) return std::nullopt;
  return StatusRange{static_cast<uint16_t>(low), static_cast<uint16_t>(high)};
}

inline bool has_status(std::span<const StatusRange> ranges, int status) {
  return std::ranges::any_of(ranges,
                             [status](const StatusRange& one) { return one.low <= status && status <= one.high; });
}

}  // namespace bellwether::scenario
