// What is kept of a run's seconds as they grow old: the last ones as they were, the hour before in stretches of ten
// seconds, the day before that in minutes, and one sum of everything older. So a run of any length is kept in a bounded
// number of stretches, and together they are always the whole run: what is put together loses only its resolution in
// time. Whoever keeps something of each second asks here, the store of runs and the account of a job alike.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "load/metrics/window.h"

namespace bellwether::metrics {

enum class Tier : uint8_t { kHot, kWarm, kCold, kArchive };
inline constexpr std::size_t kTiers = 4;

// How many of the last seconds stay as they were: at least so many, and less than ten more.
inline constexpr uint64_t kHotWindows = 60;  // of whole windows, which are large
inline constexpr uint64_t kHotPoints = 990;  // of a few figures each

// At most so many stretches of the tiers are there at a time.
constexpr std::array<std::size_t, kTiers> most_of_tiers(uint64_t hot) { return {hot + 10, 360, 1440, 1}; }
constexpr std::size_t most_of_all(uint64_t hot) { return hot + 10 + 360 + 1440 + 1; }

// Everything from the second `first` to before `end` becomes one stretch.
struct Fold {
  Tier into = Tier::kWarm;
  uint64_t first = 0;
  uint64_t end = 0;
  bool operator==(const Fold&) const = default;
};

// Decides what is folded when; whoever keeps the stretches does it.
class Retention {
 public:
  // What lies before `begin` is kept already, in whatever stretches, and stays so until it goes into the archive.
  explicit Retention(uint64_t hot = kHotWindows, uint64_t begin = 0)
      : hot_seconds_(hot), begin_(begin), end_(begin), hot_(begin), warm_(begin), cold_(begin) {}

  // A second has been added, as a stretch of its own. What is to be folded now, in this order. REQUIRES rising seconds;
  // some may be missing.
  std::vector<Fold> add(uint64_t second);

  // For who keeps what is small, and looks at all of it: the same without saying what is folded. Seconds of the past
  // change nothing. True: some stretches are others now.
  bool reach(uint64_t second);
  // The first second of the stretch in which a second is kept.
  uint64_t stretch_of(uint64_t second) const;
  // From here on each second is a stretch of its own.
  uint64_t hot_begin() const { return hot_; }
  // Where the stretches of ten seconds begin, and those of a minute: what is older than those is one.
  uint64_t warm_begin() const { return warm_; }
  uint64_t cold_begin() const { return cold_; }

 private:
  uint64_t hot_seconds_;
  uint64_t begin_;
  // Where the stretches of a tier begin; those of the next one end there.
  uint64_t end_;
  uint64_t hot_;
  uint64_t warm_;
  uint64_t cold_;
};

// Adds a later stretch of time to an earlier one. Unlike Window::merge, which puts the threads of one second together,
// gauges become the greater of both, and `covered` the sum. REQUIRES the same shape.
void append(Window& earlier, const Window& later);

}  // namespace bellwether::metrics
