// Windows of a tenth of a second, made of counters that many sources tell again and again: what was done in each
// window, by all of them together. For screens only. Whoever tells may tell late, twice, out of turn, or not at all:
// counters are sums since the begin of their source, so that what is lost is made up for by what comes next, in a later
// window. The same that was told makes the same windows, in whatever order it came.
//
// A window is closed when it is over for kTolerance, and only closed windows are shown. What comes later than that, and
// was collected at most kAgeMost ago, amends its window, which is then shown again with the next revision; there is
// never a second window of the same time. What is older is dropped, and counted.
//
// A part that lies between two that are known moves what was done from the window of the second to its own, so the sum
// over all windows is always what the sources told last, less what they had told when they were first heard.
//
// Pure: it reads no clock. Nothing is allocated but for a source that is new (about 4 KiB), and that memory is used
// again 6.4 s after the source has ended. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/time.h"

namespace bellwether::metrics {

// When another machine's letters were written, on the clock of this one. Both clocks are monotonic and count from
// wherever they like; a letter says when it was written, and comes some time after that. The least difference between
// the two over the last seconds is the offset of the clocks and the shortest way there was; what a letter took beyond
// that is its delay. So moments of several machines are comparable to within the shortest ways of their letters (well
// below a millisecond in a datacenter), whatever each letter met with, and no moment is later than its letter came.
//
// A clock that goes fast or slow is followed. One that was set forward, or lost time while its machine slept, is
// followed at once, or within two spans. For screens: no duration is ever measured with it. Pure, one thread.
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

// Sums since some begin; `vus` is what there is at the moment.
struct LiveCounts {
  uint64_t requests = 0;
  uint64_t failed = 0;
  uint64_t iterations = 0;
  uint64_t dropped = 0;
  int64_t vus = 0;
  bool operator==(const LiveCounts&) const = default;
};
// With counters that may wrap below zero on the way, and never are when all is added up.
LiveCounts operator+(const LiveCounts& a, const LiveCounts& b);
LiveCounts operator-(const LiveCounts& a, const LiveCounts& b);

struct LiveWindow {
  uint64_t number = 0;    // it begins so many lengths after the origin
  uint32_t revision = 0;  // one more each time it was amended
  uint32_t told = 0;      // sources that told something which was collected in it
  LiveCounts counts;      // what was done in it; `vus` at its end, of all sources
  bool operator==(const LiveWindow&) const = default;
};

class LiveWindows {
 public:
  static constexpr Duration kLength = Duration::millis(100);
  static constexpr Duration kTolerance = Duration::millis(50);
  static constexpr Duration kAgeMost = Duration::seconds(5);
  // So many closed windows are shown to who comes late; older ones are forgotten.
  static constexpr std::size_t kKept = 60;

  using Source = uint32_t;

  // Window 0 begins at `origin`. The first window is the one in which the first source was opened.
  explicit LiveWindows(Instant origin) : origin_(origin) {}

  // `from_zero`: its counters begin now. Else they began earlier, and what it tells first is in no window.
  Source open(Instant now, bool from_zero);
  // What the source had counted at `collected`, on this clock; later than `now` counts as now. Numbers tell in which
  // order a source said things. False: dropped, because it is too old, was superseded or told before, cannot be (a
  // counter fell), or the source has ended.
  bool take(Instant now, Source source, Instant collected, uint64_t number, const LiveCounts& counts);
  // It has no virtual users from now on, and nothing is taken of it any more. What it has done stays.
  void end(Instant now, Source source);
  // Closes what is over. True: something was closed. Times do not run backwards.
  bool advance(Instant now);
  // Nothing comes any more: whatever has something is closed, and the memory of the sources is given back. REQUIRES
  // that nothing but since(), total(), change() and too_old() is called from now on.
  void finish(Instant now);

  // When the next window closes; never before the first source.
  Instant next_close() const;
  // Grows with each window that is closed or amended.
  uint64_t change() const { return change_; }
  // Appends the closed windows that were closed or amended after `change` stood at this, in their order, each once.
  void since(uint64_t change, std::vector<LiveWindow>& out) const;
  // What all sources have told last, with what was in no window.
  const LiveCounts& total() const { return total_; }
  // Parts that were dropped for their age.
  uint64_t too_old() const { return too_old_; }

 private:
  static constexpr std::size_t kRing = 64;
  static_assert(kKept + 2 < kRing && kAgeMost.ns() / kLength.ns() < static_cast<int64_t>(kKept));

  struct Part {
    int64_t window = -1;  // -1: none
    uint64_t number = 0;
    LiveCounts counts;
  };
  struct State {
    Part newest;  // with window -1: nothing was told yet
    Part base;    // the newest of those that are in `parts` no more; with window -1: zero, if `from_zero`
    bool from_zero = false;
    bool over = false;
    std::array<Part, kRing> parts;
  };
  struct Slot {
    int64_t number = -1;
    uint32_t revision = 0;
    uint32_t told = 0;
    uint64_t change = 0;
    LiveCounts counts;  // `vus`: by how many there are more at its end than at its begin
  };

  int64_t window_of(Instant at) const;
  Slot& slot(int64_t window);
  // Of a source, or of none, the difference that it makes at `window` and takes back at `back`.
  void apply(int64_t window, int64_t back, const LiveCounts& difference, bool newly_told);
  bool take_newest(State& source, const Part& part);
  bool take_between(State& source, const Part& part);
  static void keep(State& source, const Part& part);

  Instant origin_;
  int64_t first_ = -1;  // -1: no source yet
  int64_t closed_ = 0;  // windows below it are closed
  uint64_t change_ = 0;
  uint64_t too_old_ = 0;
  LiveCounts total_;
  std::array<Slot, kRing> ring_;
  std::vector<State> sources_;
  std::vector<Source> ended_;  // that may be used again, the one that ended first in front
};

}  // namespace bellwether::metrics
