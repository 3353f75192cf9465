#include "core/resilience/backpressure.h"

#include "core/base/check.h"
#include "core/base/enum_names.h"

namespace bellwether::resilience {

std::string_view to_string(Backpressure level) {
  static constexpr EnumNames<Backpressure> kNames("none", "throttle", "batch", "reject");
  return kNames[level];
}

Backpressure backpressure_of(std::size_t used, std::size_t most) {
  check(most > 0, "a buffer has room for something");
  const double fill = static_cast<double>(used) / static_cast<double>(most);
  if (fill >= 0.95) return Backpressure::kReject;
  if (fill >= 0.85) return Backpressure::kBatch;
  return fill >= 0.70 ? Backpressure::kThrottle : Backpressure::kNone;
}

void Pacer::heard(Instant now, Backpressure level) {
  level_ = level;
  believed_until_ = now + settings_.believed;
}

Backpressure Pacer::level(Instant now) const { return now < believed_until_ ? level_ : Backpressure::kNone; }

bool Pacer::may_send(Instant now, Kind kind) const {
  switch (level(now)) {
    case Backpressure::kNone:
    case Backpressure::kThrottle: return true;
    case Backpressure::kBatch: return kind != Kind::kSingle;
    case Backpressure::kReject: return kind == Kind::kNeeded;
  }
  return true;
}

Duration Pacer::interval(Instant now, Duration own) const {
  switch (level(now)) {
    case Backpressure::kNone: return own;
    case Backpressure::kThrottle: return own + settings_.throttle_delay;
    case Backpressure::kBatch:
    case Backpressure::kReject: return own + settings_.batch_delay;
  }
  return own;
}

}  // namespace bellwether::resilience
