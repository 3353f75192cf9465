// The state that a receiver reports to its senders with each acknowledgement while its buffer fills up, and how they
// obey:
//
//   NONE      below 70 %   send as before
//   THROTTLE  from 70 %    send later: a delay is added to the sender's own interval
//   BATCH     from 85 %    send only what is put together into one message, and that at longer intervals
//   REJECT    from 95 %    send nothing that the receiver can do without; it would be dropped there
//
// Messages that begin, end or stop work, and measured data, are sent in any case: their acknowledgements bound them.
// Kernels: no clock, no buffer.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/base/time.h"

namespace bellwether::resilience {

enum class Backpressure : unsigned char { kNone, kThrottle, kBatch, kReject };
inline constexpr std::size_t kBackpressures = 4;
std::string_view to_string(Backpressure level);  // "none", "throttle", "batch", "reject"

// Of a buffer with room for `most`. REQUIRES most > 0.
Backpressure backpressure_of(std::size_t used, std::size_t most);

struct PacerSettings {
  Duration throttle_delay = Duration::millis(100);
  Duration batch_delay = Duration::millis(500);
  // How long a report holds: under REJECT no message is sent that would be acknowledged, so the sender has to try again
  // by itself.
  Duration believed = Duration::seconds(5);
};

// One sender's view of one receiver.
class Pacer {
 public:
  enum class Kind : unsigned char {
    kNeeded,  // lifecycle, results
    kBatch,   // several reports in one message
    kSingle,
  };

  explicit Pacer(const PacerSettings& settings = {}) : settings_(settings) {}

  // An acknowledgement came.
  void heard(Instant now, Backpressure level);
  Backpressure level(Instant now) const;
  // The time until which the report holds, unless another comes before.
  Instant until() const { return believed_until_; }
  // Whether to send it at `now`. Otherwise the caller keeps it for a batch, or drops it under REJECT.
  bool may_send(Instant now, Kind kind) const;
  // The time from the last message to the next when nothing presses: the sender's own interval and the additional
  // delay.
  Duration interval(Instant now, Duration own) const;

 private:
  PacerSettings settings_;
  Backpressure level_ = Backpressure::kNone;
  Instant believed_until_;
};

}  // namespace bellwether::resilience
