// The retention of a run's seconds: the newest stay as they are, the hour before them in intervals of ten seconds, the
// day before that in minutes, and one sum of everything older. A run of any length takes a bounded number of intervals,
// and together they are the whole run: merging loses only resolution in time. The store of runs and the ingest of a
// job both use it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "load/metrics/window.h"

namespace bellwether::metrics {

enum class Tier : uint8_t { kHot, kWarm, kCold, kArchive };
inline constexpr std::size_t kTiers = 4;

// The last seconds that stay unchanged: at least this number, and less than ten more.
inline constexpr uint64_t kHotWindows = 60;  // of whole windows, which are large
inline constexpr uint64_t kHotPoints = 990;  // of a few figures each

// The most intervals of each tier at a time.
constexpr std::array<std::size_t, kTiers> most_of_tiers(uint64_t hot) { return {hot + 10, 360, 1440, 1}; }
constexpr std::size_t most_of_all(uint64_t hot) { return hot + 10 + 360 + 1440 + 1; }

// Everything from the second `first` to before `end` becomes one interval.
struct Fold {
  Tier into = Tier::kWarm;
  uint64_t first = 0;
  uint64_t end = 0;
  bool operator==(const Fold&) const = default;
};

// Decides which intervals are folded at which time; the caller, which keeps them, folds them.
class Retention {
 public:
  // The caller already keeps everything before `begin`, in any intervals; it stays so until it goes into the archive.
  explicit Retention(uint64_t hot = kHotWindows, uint64_t begin = 0)
      : hot_seconds_(hot), begin_(begin), end_(begin), hot_(begin), warm_(begin), cold_(begin) {}

  // A second was added, as one interval. Returns the folds that are due, in order. REQUIRES rising seconds; some may be
  // missing.
  std::vector<Fold> add(uint64_t second);

  // The same for a caller that keeps little and looks at all of it: without the folds. Seconds of the past change
  // nothing. True: some intervals have changed.
  bool reach(uint64_t second);
  // The first second of the interval that has this second.
  uint64_t interval_of(uint64_t second) const;
  // From here on each second is one interval.
  uint64_t hot_begin() const { return hot_; }
  // The begin of the intervals of ten seconds, and of those of a minute: one interval has everything older.
  uint64_t warm_begin() const { return warm_; }
  uint64_t cold_begin() const { return cold_; }

 private:
  uint64_t hot_seconds_;
  uint64_t begin_;
  // The begin of the intervals of a tier, and the end of the next one's.
  uint64_t end_;
  uint64_t hot_;
  uint64_t warm_;
  uint64_t cold_;
};

// Adds a later interval of time to an earlier one. Unlike Window::merge, which merges the threads of one second, gauges
// become the greater of both, and `covered` and `ran` the sums. REQUIRES the same shape.
void append(Window& earlier, const Window& later);

}  // namespace bellwether::metrics
