// What is kept of a run's seconds as they grow old: the last minute as it was, the hour before in stretches of ten
// seconds, the day before that in minutes, and one sum of everything older. So a run of any length is kept in a bounded
// number of stretches, and together they are always the whole run: windows merge without loss, only the resolution in
// time is given up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "metrics/window.h"

namespace bellwether::metrics {

enum class Tier : uint8_t { kHot, kWarm, kCold, kArchive };
inline constexpr std::size_t kTiers = 4;

// At most so many stretches of each are there at a time.
inline constexpr std::array<std::size_t, kTiers> kMostOfTier{70, 360, 1440, 1};

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
  // A second has been added, as a stretch of its own. What is to be folded now, in this order. REQUIRES rising seconds;
  // some may be missing.
  std::vector<Fold> add(uint64_t second);

 private:
  // Where the stretches of a tier begin; those of the next one end there.
  uint64_t end_ = 0;
  uint64_t hot_ = 0;
  uint64_t warm_ = 0;
  uint64_t cold_ = 0;
};

// Adds a later stretch of time to an earlier one. Unlike Window::merge, which puts the threads of one second together,
// gauges become the greater of both, and `covered` the sum. REQUIRES the same shape.
void append(Window& earlier, const Window& later);

}  // namespace bellwether::metrics
