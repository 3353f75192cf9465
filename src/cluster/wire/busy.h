// The body of an answer with the status kBusy: when to ask again, and why not now. Whoever has no time for that either
// sends none.
//
//   offset  bytes
//    0       4    milliseconds, big-endian, after which to ask again; 0: it does not say
//    4       n    why, as text, for people
#pragma once

#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/time.h"

namespace bellwether::wire {

struct Busy {
  Duration again_after;  // zero: it does not say
  std::string why;
};

inline constexpr Duration kAgainAfterMost = Duration::hours(1);
inline constexpr std::size_t kBusyTextMost = 256;

// `again_after` in whole milliseconds, rounded up; both parts are cut to their limits.
std::string encode_busy(Duration again_after, std::string_view why);
// Of any bytes: what is not there is zero or empty, what is too long is cut, and the text is fit for a terminal.
Busy decode_busy(Bytes body);

}  // namespace bellwether::wire
