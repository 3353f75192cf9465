// Timers of one thread: on the monotonic clock a wheel, and on the boot clock, which goes on while the machine sleeps,
// a heap. The runtime asks for the next due time and passes the time in; nothing here reads a clock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/check.h"
#include "core/base/time.h"

namespace bellwether::runtime {

class TimerWheel;

// A one-shot timer, embedded in its owner. Disarms itself when destroyed. Not movable.
class Timer {
 public:
  // `fire` runs on the loop, with the timer already disarmed, and may arm it again or destroy it.
  using Fire = void (*)(void* context);
  Timer(Fire fire, void* context) : fire_(fire), context_(context) {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() { disarm(); }

  bool armed() const { return wheel_ != nullptr; }
  Instant deadline() const { return deadline_; }
  void disarm();

 private:
  friend class TimerWheel;
  Fire fire_;
  void* context_;
  Instant deadline_;
  TimerWheel* wheel_ = nullptr;
  Timer* prev_ = nullptr;
  Timer* next_ = nullptr;
  uint8_t level_ = 0;
  uint8_t slot_ = 0;
};

// A hierarchical wheel (Varghese and Lauck, 1987) with 64 slots a level. Arming and disarming cost a few nanoseconds
// with any number of timers, which suits timeouts that nearly never fire. Deadlines stay exact, because the lowest
// level is searched, not rounded.
class TimerWheel {
 public:
  explicit TimerWheel(Instant start = Instant());
  ~TimerWheel();
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  // Fires at the first advance() whose time is not before `deadline`. An armed timer is moved.
  void arm(Timer& timer, Instant deadline);

  // Fires everything due at `now`, in order of deadline down to 16 µs, and returns the number. Timers armed by a
  // callback run in the next call. `now` never goes back.
  std::size_t advance(Instant now);

  // When advance() next has work; never() when nothing is armed. It may be earlier than the earliest deadline (when
  // timers must move down a level), never later.
  Instant next_deadline() const;

  std::size_t size() const { return size_; }

 private:
  friend class Timer;
  static constexpr int kTickBits = 14;  // a slot of the lowest level spans 2^14 ns = 16 µs
  static constexpr int kSlotBits = 6;
  static constexpr int kSlots = 1 << kSlotBits;
  static constexpr int kLevels = 9;  // 2^(14 + 9·6) ns: all of Instant

  static uint64_t tick_of(Instant t) { return static_cast<uint64_t>(t.ns()) >> kTickBits; }
  void place(Timer& timer);
  void remove(Timer& timer);
  void collect(uint64_t last_tick, Instant now, Timer*& tail);
  bool next_slot(int& level, uint64_t& start_tick) const;

  std::array<std::array<Timer*, kSlots>, kLevels> slots_{};  // heads of doubly linked lists
  std::array<uint64_t, kLevels> occupied_{};                 // bit s: slot s is not empty
  Timer* due_ = nullptr;                                     // collected by advance(), not yet fired
  uint64_t tick_;                                            // everything before this tick has been looked at
  std::size_t size_ = 0;
};

inline void Timer::disarm() {
  if (wheel_ != nullptr) wheel_->remove(*this);
}

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

// A heap, so that arming and disarming cost O(log n). For leases and the like: a mere timeout of an operation belongs
// on the TimerWheel, which is cheaper.
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
