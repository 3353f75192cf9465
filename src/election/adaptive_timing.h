// A lease that follows the store: longer when renewals take longer, shorter again when they have been quick for a
// while. It grows at once, since a lease that is too short loses the key, and shrinks slowly, since one that is too
// long only costs time after a crash. All its other times keep their proportions (LeaseTiming::of), so that the safety
// margin of three renewals in a lease is never less.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "core/base/time.h"
#include "election/lease_timing.h"

namespace bellwether::election {

struct AdaptiveSettings {
  Duration lease_min = Duration::seconds(5);
  Duration lease_max = Duration::seconds(60);
  int latencies = 30;       // the lease is so many times the slowest renewal of late
  std::size_t window = 64;  // renewals that are remembered
};

class AdaptiveTiming {
 public:
  // REQUIRES 0 < lease_min <= lease_max. Begins with `first`, brought within the bounds.
  AdaptiveTiming(AdaptiveSettings settings, Duration first);

  // A renewal was confirmed after `took`, or has failed. Gives other times when they are to change from now on.
  std::optional<LeaseTiming> renewed(Duration took);
  std::optional<LeaseTiming> failed();

  const LeaseTiming& timing() const { return timing_; }

 private:
  std::optional<LeaseTiming> change_to(Duration lease);
  Duration bounded(Duration lease) const;

  AdaptiveSettings settings_;
  LeaseTiming timing_;
  std::deque<Duration> took_;
  std::size_t since_change_ = 0;
};

}  // namespace bellwether::election
