// When another machine's letters were written, on the clock of this one. Both clocks are monotonic and count from
// wherever they like; a letter says when it was written, and comes some time after that. The least difference between
// the two over the last seconds is the offset of the clocks and the shortest way there was; what a letter took beyond
// that is its delay. So moments of several machines are comparable to within the shortest ways of their letters (well
// below a millisecond in a datacenter), whatever each letter met with, and no moment is later than its letter came.
//
// A clock that goes fast or slow is followed. One that was set forward, or lost time while its machine slept, is
// followed at once, or within two spans. For screens: no duration is ever measured with it. Pure, one thread.
#pragma once

#include <cstdint>

#include "core/base/time.h"

namespace bellwether::metrics {

class ClockOffset {
 public:
  static constexpr Duration kSpan = Duration::seconds(2);

  // A letter that came at `now` was written when the other clock stood at `written`. When that was on this clock.
  // REQUIRES times of which neither is below zero or above a hundred years, and calls in the order of `now`.
  Instant heard(Instant now, Instant written);

 private:
  Duration least_ = Duration::max();         // in this span
  Duration least_before_ = Duration::max();  // in the one before
  Instant began_;                            // this span
  bool heard_ = false;
};

}  // namespace bellwether::metrics
