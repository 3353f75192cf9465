// How good the network between two nodes is, from questions and their answers: 1 for round trips of no time without a
// loss, 0 for none that was answered.
#pragma once

#include <optional>

#include "base/time.h"

namespace bellwether::cluster {

// With round trips of that long and no loss, the quality is one half.
inline constexpr Duration kHalfQuality = Duration::millis(100);
// What the newest question counts in the mean.
inline constexpr double kNewest = 0.2;

class NetworkQuality {
 public:
  void answered(Duration round_trip);
  void lost();
  // Nothing until something was asked. (1 - loss) / (1 + round trip / kHalfQuality), of the means.
  std::optional<double> value() const;
  Duration round_trip() const { return Duration::from_seconds_f(round_trip_); }
  double loss() const { return loss_; }

 private:
  bool asked_ = false;
  bool heard_ = false;
  double loss_ = 0;
  double round_trip_ = 0;  // seconds
};

}  // namespace bellwether::cluster
