// What coroutines wait for: an event, a condition, a deadline. One thread.
#pragma once

#include <coroutine>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/time.h"
#include "core/runtime/cancellation.h"
#include "core/runtime/run_queue.h"
#include "core/runtime/runtime.h"

namespace bellwether::runtime {

// It happens once, and one coroutine may wait for it.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Wakes the waiter, now or when it comes to wait.
  void set() {
    set_ = true;
    if (waiter_ != nullptr) RunQueue::local().push(*std::exchange(waiter_, nullptr));
  }
  void reset() { set_ = false; }
  bool is_set() const { return set_; }

  // co_await event.wait(): returns once it is set; does not reset it.
  class Wait;
  Wait wait();

 private:
  bool set_ = false;
  RunQueue::Entry* waiter_ = nullptr;
};

class [[nodiscard]] Event::Wait {
 public:
  explicit Wait(Event& event) : event_(event) {}
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;
  ~Wait() {
    if (event_.waiter_ == &entry_) event_.waiter_ = nullptr;
  }
  bool await_ready() const { return event_.set_; }
  void await_suspend(std::coroutine_handle<> waiting) {
    check(event_.waiter_ == nullptr, "one waiter an event");
    entry_.handle = waiting;
    event_.waiter_ = &entry_;
  }
  void await_resume() const {}

 private:
  Event& event_;
  RunQueue::Entry entry_;
};

inline Event::Wait Event::wait() { return Wait(*this); }

// A wait until a condition holds that other coroutines make true: the one that changes its inputs calls changed().
class Condition {
 public:
  Condition() = default;
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  // The waiters look again, soon.
  void changed() {
    for (Cancellation* const nap : std::exchange(naps_, {})) nap->cancel();
  }

  // Until `holds()`, which it calls now and after each changed(). False: the deadline has come, or it was cancelled
  // first. The waiter outlives the data that `holds` refers to.
  template <class Holds>
  task<bool> wait(Runtime& runtime, Holds holds, Instant deadline, Cancellation* cancel = nullptr) {
    while (!holds()) {
      if (runtime.read_clock() >= deadline || (cancel != nullptr && cancel->cancelled())) co_return false;
      Cancellation nap(cancel);
      const Napping napping(naps_, &nap);
      co_await runtime.sleep_until(deadline, &nap);
    }
    co_return true;
  }

 private:
  // A destroyed waiter is not woken any more.
  class Napping {
   public:
    Napping(std::vector<Cancellation*>& all, Cancellation* nap) : all_(all), nap_(nap) { all_.push_back(nap); }
    ~Napping() { std::erase(all_, nap_); }
    Napping(const Napping&) = delete;
    Napping& operator=(const Napping&) = delete;

   private:
    std::vector<Cancellation*>& all_;
    Cancellation* nap_;
  };

  std::vector<Cancellation*> naps_;
};

// A deadline as a cancellation: waits with it end when the time comes, or when the caller cancels.
class Until {
 public:
  Until(Runtime& runtime, Instant deadline, Cancellation* parent)
      : parent_(parent), cancellation_(parent), timer_(&Until::fire, this) {
    runtime.timers().arm(timer_, deadline);
  }
  Cancellation* cancellation() { return &cancellation_; }
  bool over() const { return cancellation_.cancelled(); }
  // After the end: whether it was the time that ended it.
  Errc why() const { return parent_ != nullptr && parent_->cancelled() ? Errc::kCancelled : Errc::kTimeout; }

 private:
  static void fire(void* self) { static_cast<Until*>(self)->cancellation_.cancel(); }
  Cancellation* parent_;
  Cancellation cancellation_;
  Timer timer_;
};

}  // namespace bellwether::runtime
