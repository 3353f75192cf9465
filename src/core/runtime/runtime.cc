#include "core/runtime/runtime.h"

#include <ctime>

namespace bellwether::runtime {

Instant Runtime::read_monotonic() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return Instant::from_ns(t.tv_sec * 1'000'000'000 + t.tv_nsec);
}

namespace {

constexpr Duration kNoDescriptorPause = Duration::millis(50);

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

task<std::unique_ptr<Stream>> accept_next(Runtime& runtime, Listener& listener, Cancellation* cancel) {
  while (cancel == nullptr || !cancel->cancelled()) {
    auto stream = co_await listener.accept(cancel);
    if (stream) co_return std::move(*stream);
    if (stream.error().code != Errc::kCancelled) co_await runtime.sleep(kNoDescriptorPause, cancel);
  }
  co_return nullptr;
}

task<Errc> write_all(Stream& stream, Bytes bytes) {
  while (!bytes.empty()) {
    const Io io = stream.try_write(bytes);
    if (io.kind == Io::Kind::kDone) {
      bytes = bytes.subspan(io.count);
      continue;
    }
    if (io.kind != Io::Kind::kWouldBlock) co_return io.kind == Io::Kind::kError ? io.error : Errc::kClosed;
    const Errc waited = co_await stream.writable();
    if (waited != Errc::kOk) co_return waited;
  }
  co_return Errc::kOk;
}

}  // namespace bellwether::runtime
