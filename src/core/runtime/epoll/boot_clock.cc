#include "core/runtime/epoll/boot_clock.h"

#include <cerrno>
#include <ctime>
#include <sys/timerfd.h>
#include <unistd.h>

namespace bellwether::runtime {

Result<std::unique_ptr<BootClock>> BootClock::create(BootTimers& timers) {
  const int fd = ::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  if (fd < 0) return fail_errno(errno, "creating the event loop's timer");
  return std::unique_ptr<BootClock>(new BootClock(timers, fd));
}

BootClock::~BootClock() { ::close(fd_); }

Instant BootClock::now() {
  timespec t{};
  clock_gettime(CLOCK_BOOTTIME, &t);
  return Instant::from_ns(t.tv_sec * 1'000'000'000 + t.tv_nsec);
}

void BootClock::prepare_wait() {
  const Instant next = timers_.next_deadline();
  if (next >= set_to_) return;
  // A time of zero would switch the timer off, and the clock began at zero.
  const int64_t ns = next.ns() > 0 ? next.ns() : 1;
  itimerspec when{};
  when.it_value = {ns / 1'000'000'000, ns % 1'000'000'000};
  check(::timerfd_settime(fd_, TFD_TIMER_ABSTIME, &when, nullptr) == 0, "a timer can be set to any time");
  set_to_ = next;
}

void BootClock::on_events(uint32_t) {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = ::read(fd_, &count, sizeof count);
  set_to_ = Instant::never();
  timers_.advance(now());
}

}  // namespace bellwether::runtime
