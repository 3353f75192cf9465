// The one thing that winning an election gives, whatever the mechanism: who holds which key, under which epoch, and for
// how long it still does. Nobody keeps a boolean "I lead": a process that was paused would wake up with it. What a
// holder asks before each guarded act is valid_for(now).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "core/base/time.h"
#include "election/epoch.h"

namespace bellwether::election {

// The end of one term, moved on by renewals and cut short by a loss. Written by the thread that renews, read by any.
// Times are of the boot clock, which goes on while the machine sleeps.
class TermEnd {
 public:
  // How long from `now`; zero or less: over. One load.
  Duration valid_for(Instant now) const { return Duration::nanos(ends_ns_.load(std::memory_order_acquire) - now.ns()); }
  Instant ends_at() const { return Instant::from_ns(ends_ns_.load(std::memory_order_acquire)); }
  void move_to(Instant end) { ends_ns_.store(end.ns(), std::memory_order_release); }

 private:
  std::atomic<int64_t> ends_ns_{0};
};

struct TermOfOffice {
  std::string key;
  std::string holder;
  Epoch epoch;  // the fencing token: hand it on with every act
  Instant since;
  std::shared_ptr<const TermEnd> end;

  Duration valid_for(Instant now) const { return end ? end->valid_for(now) : Duration::zero(); }
};

}  // namespace bellwether::election
