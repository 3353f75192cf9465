// How long to wait between the end of a connection on which a server tells of changes and the next one: not at all
// after a long good life, longer and longer while it fails, and long where this is not to be had (kUnsupported), which
// will not change soon.
#pragma once

#include <algorithm>

#include "core/base/prng.h"
#include "core/base/result.h"
#include "core/base/time.h"

namespace bellwether::store {

// What an operator must hear of the end of a connection: that the server, or this process, will not have another one.
inline std::string refusal_in(const Status& ended) {
  const bool refused = !ended && (ended.error().code == Errc::kUnsupported || ended.error().code == Errc::kExhausted);
  return refused ? ended.error().message : std::string();
}

class Pauses {
 public:
  static constexpr Duration kLeast = Duration::millis(250);
  static constexpr Duration kMost = Duration::seconds(8);
  static constexpr Duration kUnsupported = Duration::seconds(60);
  static constexpr Duration kGoodLife = Duration::seconds(10);

  // After a connection that lived so long and ended so.
  Duration next(Duration lived, const Status& ended, Prng& prng) {
    if (lived >= kGoodLife) {
      pause_ = kLeast;
      if (ended) return Duration::zero();
    }
    const Duration longest = !ended && ended.error().code == Errc::kUnsupported ? kUnsupported : pause_;
    pause_ = std::min(pause_ * 2, kMost);
    // Those whom one server has told of its end do not all come back at the same time.
    return Duration::nanos(prng.between(longest.ns() / 2, longest.ns()));
  }

 private:
  Duration pause_ = kLeast;
};

}  // namespace bellwether::store
