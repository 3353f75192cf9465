#include "cluster/vote/network_quality.h"

#include <algorithm>
#include <utility>

namespace bellwether::cluster {

void NetworkQuality::answered(Duration round_trip) {
  const double seconds = std::max(round_trip.seconds_f(), 0.0);
  round_trip_ = std::exchange(heard_, true) ? round_trip_ + kNewest * (seconds - round_trip_) : seconds;
  loss_ = std::exchange(asked_, true) ? loss_ * (1 - kNewest) : 0;
}

void NetworkQuality::lost() { loss_ = std::exchange(asked_, true) ? loss_ + kNewest * (1 - loss_) : 1; }

std::optional<double> NetworkQuality::value() const {
  if (!asked_) return std::nullopt;
  return (1 - loss_) / (1 + round_trip_ / kHalfQuality.seconds_f());
}

}  // namespace bellwether::cluster
