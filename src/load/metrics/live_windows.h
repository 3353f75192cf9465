// Windows of a tenth of a second from the counters of many sources: the activity of all sources in each window. For
// screens only. A report may arrive late, twice, out of order, or not at all. Counters are sums since the begin of
// their source, so the next report makes up for a lost one, in a later window. The same reports make the same windows
// in any order.
//
// A window is closed kTolerance after its end, and only closed windows are shown. A later report that was collected at
// most kMaxAge ago amends its window, which is then shown again with the next revision. No time has two windows. Older
// reports are dropped, and counted.
//
// A report that lies between two known ones moves activity from the window of the second to its own. The sum over all
// windows is always the last report of each source less its first.
//
// Pure: it reads no clock. It allocates only for a new source (about 4 KiB), and uses that memory again 6.4 s after the
// source has ended. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/time.h"

namespace bellwether::metrics {

// The times of another machine's messages on this machine's clock. Both clocks are monotonic and count from any origin.
// A message carries its sending time and arrives later. The least difference over the last seconds is the offset of the
// clocks plus the shortest transit; the rest of a message's difference is its delay. So moments of several machines are
// comparable to within their shortest transits (well below a millisecond in a datacenter) at any delay, and no moment
// is later than the arrival of its message.
//
// A clock that goes fast or slow is followed. One that was set forward, or lost time while its machine slept, is
// followed at once, or within two spans. For screens: no duration is ever measured with it. Pure, one thread.
class ClockOffset {
 public:
  static constexpr Duration kSpan = Duration::seconds(2);

  // A message arrived at `now` with the other clock's sending time `written`. Returns that time on this clock. REQUIRES
  // times from zero to a hundred years, and calls in the order of `now`.
  Instant heard(Instant now, Instant written);

 private:
  Duration least_ = Duration::max();         // in this span
  Duration least_before_ = Duration::max();  // in the one before
  Instant began_;                            // this span
  bool heard_ = false;
};

// Sums since some begin; `vus` is the current number.
struct LiveCounts {
  uint64_t requests = 0;
  uint64_t failed = 0;
  uint64_t iterations = 0;
  uint64_t dropped = 0;
  int64_t vus = 0;
  bool operator==(const LiveCounts&) const = default;
};
// Counters may wrap below zero on the way, and never do in the whole sum.
LiveCounts operator+(const LiveCounts& a, const LiveCounts& b);
LiveCounts operator-(const LiveCounts& a, const LiveCounts& b);

struct LiveWindow {
  uint64_t number = 0;    // it begins this number of lengths after the origin
  uint32_t revision = 0;  // one more each time it was amended
  uint32_t told = 0;      // sources with a report that was collected in it
  LiveCounts counts;      // its activity; `vus` at its end, of all sources
  bool operator==(const LiveWindow&) const = default;
};

class LiveWindows {
 public:
  static constexpr Duration kLength = Duration::millis(100);
  static constexpr Duration kTolerance = Duration::millis(50);
  static constexpr Duration kMaxAge = Duration::seconds(5);
  // The closed windows that a late reader still gets; older ones are forgotten.
  static constexpr std::size_t kKept = 60;

  using Source = uint32_t;

  // Window 0 begins at `origin`. The first window is the one in which the first source was opened.
  explicit LiveWindows(Instant origin) : origin_(origin) {}

  // `from_zero`: its counters begin now. Else they began earlier, and its first report is in no window.
  Source open(Instant now, bool from_zero);
  // The counters of the source at `collected`, on this clock; later than `now` counts as now. `number` gives the order
  // of a source's reports. False: dropped, because it is too old, superseded, repeated or impossible (a counter fell),
  // or because the source has ended.
  bool take(Instant now, Source source, Instant collected, uint64_t number, const LiveCounts& counts);
  // It has no virtual users from now on, and its later reports are dropped. Its activity stays.
  void end(Instant now, Source source);
  // Closes the windows that are over. True: one was closed. Times do not run backwards.
  bool advance(Instant now);
  // No report follows: closes every window that has activity, and frees the memory of the sources. REQUIRES only calls
  // of since(), total(), change() and too_old() from now on.
  void finish(Instant now);

  // When the next window closes; never before the first source.
  Instant next_close() const;
  // Grows with each window that is closed or amended.
  uint64_t change() const { return change_; }
  // Appends the windows that were closed or amended after this value of `change`, in their order, each once.
  void since(uint64_t change, std::vector<LiveWindow>& out) const;
  // The last reports of all sources, with the part that is in no window.
  const LiveCounts& total() const { return total_; }
  // Parts that were dropped for their age.
  uint64_t too_old() const { return too_old_; }

 private:
  static constexpr std::size_t kRing = 64;
  static_assert(kKept + 2 < kRing && kMaxAge.ns() / kLength.ns() < static_cast<int64_t>(kKept));

  struct Part {
    int64_t window = -1;  // -1: none
    uint64_t number = 0;
    LiveCounts counts;
  };
  struct State {
    Part newest;  // window -1: no report yet
    Part base;    // the newest that is no longer in `parts`; with window -1: zero, if `from_zero`
    bool from_zero = false;
    bool over = false;
    std::array<Part, kRing> parts;
  };
  struct Slot {
    int64_t number = -1;
    uint32_t revision = 0;
    uint32_t told = 0;
    uint64_t change = 0;
    LiveCounts counts;  // `vus`: their number at its end less that at its begin
  };

  int64_t window_of(Instant at) const;
  Slot& slot(int64_t window);
  // Adds the difference of a source, or of none, at `window` and takes it back at `back`.
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
  std::vector<Source> ended_;  // that may be used again, the earliest end in front
};

}  // namespace bellwether::metrics
