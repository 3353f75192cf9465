// The one descriptor that wakes a loop at the earliest deadline of its boot timers, even if the machine slept in
// between.
#pragma once

#include <cstdint>
#include <memory>

#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/timers.h"

namespace bellwether::runtime {

class BootClock final : public EventSource {
 public:
  // `timers` outlives it. Fails when the process is out of descriptors.
  static Result<std::unique_ptr<BootClock>> create(BootTimers& timers);
  ~BootClock() override;

  // CLOCK_BOOTTIME, read now: for code that acts without a runtime too, such as the guardian of a command.
  static Instant now();
  int descriptor() const { return fd_; }
  // Before each wait of the loop: makes sure that it ends at the next deadline. Costs nothing when that is no earlier
  // than before; the loop is then woken once for nothing.
  void prepare_wait();
  void on_events(uint32_t epoll_events) override;

 private:
  BootClock(BootTimers& timers, int fd) : timers_(timers), fd_(fd) {}
  BootTimers& timers_;
  int fd_;
  Instant set_to_ = Instant::never();
};

}  // namespace bellwether::runtime
