// Timers on the boot clock, which goes on while the machine sleeps: a heap, so that arming and disarming cost O(log n).
// The runtime asks for the next due time and passes the time in; this reads no clock. For leases and the like: a mere
// timeout of an operation belongs on the timer wheel (timer_wheel.h), which is cheaper.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/check.h"
#include "core/base/time.h"

namespace bellwether::runtime {

class BootTimers;

// A one-shot timer, embedded in its owner. Disarms itself when destroyed. Not movable.
class BootTimer {
 public:
  // `fire` runs on the loop, with the timer already disarmed. It may destroy timers, and arms none.
  using Fire = void (*)(void* context);
  BootTimer(Fire fire, void* context) : fire_(fire), context_(context) {}
  BootTimer(const BootTimer&) = delete;
  BootTimer& operator=(const BootTimer&) = delete;
  ~BootTimer() { disarm(); }

  bool armed() const { return timers_ != nullptr; }
  void disarm();

 private:
  friend class BootTimers;
  Fire fire_;
  void* context_;
  Instant deadline_;
  BootTimers* timers_ = nullptr;
  std::size_t place_ = 0;
};

class BootTimers {
 public:
  BootTimers() = default;
  BootTimers(const BootTimers&) = delete;
  BootTimers& operator=(const BootTimers&) = delete;
  ~BootTimers() { check(heap_.empty(), "timers end before their runtime"); }

  // Fires at the first advance() whose time is not before `deadline`. REQUIRES that it is not armed.
  void arm(BootTimer& timer, Instant deadline);
  // Fires everything due at `now`, in order of deadlines.
  void advance(Instant now);
  // never() when nothing is armed.
  Instant next_deadline() const { return heap_.empty() ? Instant::never() : heap_.front()->deadline_; }
  std::size_t size() const { return heap_.size(); }

 private:
  friend class BootTimer;
  void remove(BootTimer& timer);
  void put(BootTimer* timer, std::size_t place);
  void rise(BootTimer* timer, std::size_t place);
  void sink(BootTimer* timer, std::size_t place);

  std::vector<BootTimer*> heap_;  // the earliest in front; no timer is earlier than the one at (place - 1) / 2
};

inline void BootTimer::disarm() {
  if (timers_ != nullptr) timers_->remove(*this);
}

}  // namespace bellwether::runtime
