#include "core/runtime/runtime.h"

#include <ctime>

namespace bellwether::runtime {

Instant Runtime::read_monotonic() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return Instant::from_ns(t.tv_sec * 1'000'000'000 + t.tv_nsec);
}

namespace {

class BootSleep {
 public:
  BootSleep(BootTimers& timers, Instant deadline, Cancellation* cancel)
      : timers_(timers),
        deadline_(deadline),
        timer_(&BootSleep::wake, this),
        on_cancel_(cancel, &BootSleep::cancelled, this) {}
  BootSleep(const BootSleep&) = delete;
  BootSleep& operator=(const BootSleep&) = delete;
  bool await_ready() const { return cancelled_; }
  void await_suspend(std::coroutine_handle<> waiting) {
    entry_.handle = waiting;
    timers_.arm(timer_, deadline_);
  }
  bool await_resume() const { return !cancelled_; }

 private:
  static void wake(void* self) {
    auto& entry = static_cast<BootSleep*>(self)->entry_;
    if (entry.handle && !entry.queued()) RunQueue::local().push(entry);
  }
  static void cancelled(void* self) {
    auto* sleep = static_cast<BootSleep*>(self);
    sleep->cancelled_ = true;
    sleep->timer_.disarm();
    wake(self);
  }
  BootTimers& timers_;
  Instant deadline_;
  bool cancelled_ = false;
  RunQueue::Entry entry_;
  BootTimer timer_;
  CancelCallback on_cancel_;  // last: it may call cancelled() at once
};

}  // namespace

task<bool> Runtime::sleep_until_boot(Instant deadline, Cancellation* cancel) {
  if (cancel != nullptr && cancel->cancelled()) co_return false;
  if (deadline <= boot_now()) co_return true;
  BootSleep sleep(boot_timers_, deadline, cancel);
  const bool slept = co_await sleep;
  co_return slept;
}

}  // namespace bellwether::runtime
