// Compressed message bodies: the inflated size in four bytes, big-endian, then a zlib stream (RFC 1950).
//
// The decoder checks the announced size before it inflates anything, and the body must then have exactly this size: so
// a bomb costs only the look at four bytes.
#pragma once

#include <cstddef>
#include <vector>

#include "cluster/wire/refusal.h"
#include "core/base/bytes.h"

namespace bellwether::wire {

// In bytes. Any thread may call these functions.
struct InflateLimits {
  std::size_t compressed = 1024 * 1024;
  std::size_t inflated = 50 * 1024 * 1024;
  std::size_t ratio = 100;  // inflated to compressed
};

// Appends the compressed form to `out`, and returns true, if it is smaller than `body` and will pass `limits`; else
// `out` is as it was.
bool deflate_body(Bytes body, const InflateLimits& limits, std::vector<std::byte>& out);

// Replaces `out` by the inflated body: kNone. A body that is not longer than its size (kTruncated), exceeds
// `compressed` (kOversized), or announces more than `inflated` or `ratio` allow (kBomb), leaves `out` as it was. One
// that is no stream of the announced size (kGarbage) leaves it empty.
Refusal inflate_body(Bytes compressed, const InflateLimits& limits, std::vector<std::byte>& out);

}  // namespace bellwether::wire
