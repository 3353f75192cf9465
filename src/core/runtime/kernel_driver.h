// Runs a kernel: a pure state machine with step(now, event, effects) and wake(), the time of the next tick. Events are
// stepped in the order of their arrival. Events that effects cause wait until the effects of the previous event have
// been executed. One thread, that of the runtime.
#pragma once

#include <deque>
#include <utility>
#include <variant>

#include "core/runtime/runtime.h"

namespace bellwether::runtime {

enum class KernelClock : unsigned char { kSteady, kBoot };

// The owner has carry_out(effect) for each alternative of an effect: a missing one does not compile. It may have
// observe(now, event, effects), called between a step and its effects, and settled(), called when no event waits.
template <class Owner, class Kernel, class Event, class Effects, KernelClock kClock = KernelClock::kBoot>
class KernelDriver {
 public:
  // All must outlive it.
  KernelDriver(Runtime& runtime, Kernel& kernel, Owner& owner) : runtime_(runtime), kernel_(kernel), owner_(owner) {}
  KernelDriver(const KernelDriver&) = delete;
  KernelDriver& operator=(const KernelDriver&) = delete;

  bool running() const { return running_; }

  // Steps `first`, then the earlier events, and from here on each event at once.
  void begin(Event first) {
    inbox_.push_front(std::move(first));
    begin();
  }
  void begin() {
    running_ = true;
    work_off();
  }
  // Waits for begin() while it does not run.
  void tell(Event event) {
    inbox_.push_back(std::move(event));
    if (running_) work_off();
  }
  void end() {
    running_ = false;
    inbox_.clear();
  }

  // Steps `tick` whenever the kernel wants it, until cancelled.
  task<void> keep_time(Event tick, Cancellation* cancel) {
    while (running_ && !cancel->cancelled()) {
      Cancellation nap(cancel);
      nap_ = &nap;
      const bool due = co_await sleep(&nap);
      nap_ = nullptr;
      if (!due) continue;
      // Events that arrived while this thread was late are stepped first: no peer is blamed for our lateness.
      co_await runtime_.yield();
      if (running_ && !cancel->cancelled()) tell(tick);
    }
  }

 private:
  auto sleep(Cancellation* nap) {
    if constexpr (kClock == KernelClock::kBoot) {
      return runtime_.sleep_until_boot(kernel_.wake(), nap);
    } else {
      return runtime_.sleep_until(kernel_.wake(), nap);
    }
  }

  // Reads the clock for each event: a decision of the kernel must not be older than the event.
  Instant now() const { return kClock == KernelClock::kBoot ? runtime_.boot_now() : runtime_.read_clock(); }

  void work_off() {
    if (std::exchange(busy_, true)) return;
    while (running_ && !inbox_.empty()) {
      const Event next = std::move(inbox_.front());
      inbox_.pop_front();
      Effects effects;
      const Instant at = now();
      kernel_.step(at, next, effects);
      if constexpr (requires { owner_.observe(at, next, effects); }) owner_.observe(at, next, effects);
      for (auto& effect : effects) std::visit([this](auto& one) { owner_.carry_out(one); }, effect);
    }
    busy_ = false;
    if constexpr (requires { owner_.settled(); }) owner_.settled();
    if (nap_ != nullptr) nap_->cancel();  // the time to wake at may be another one now
  }

  Runtime& runtime_;
  Kernel& kernel_;
  Owner& owner_;
  std::deque<Event> inbox_;
  bool running_ = false;
  bool busy_ = false;
  Cancellation* nap_ = nullptr;
};

}  // namespace bellwether::runtime
