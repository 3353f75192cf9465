// Waiting until something holds that others make true: whoever changes what it is about says so. One thread.
#pragma once

#include <utility>

#include "runtime/runtime.h"

namespace bellwether::runtime {

class Condition {
 public:
  Condition() = default;
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  // Whoever waits looks again, soon.
  void changed() {
    if (nap_ != nullptr) nap_->cancel();
  }

  // Until `holds()`, which is asked now and after each changed(). False: the deadline has come, or it was cancelled
  // first. One waiter at a time, who outlives what `holds` refers to.
  template <class Holds>
  task<bool> wait(Runtime& runtime, Holds holds, Instant deadline, Cancellation* cancel = nullptr) {
    while (!holds()) {
      if (runtime.read_clock() >= deadline || (cancel != nullptr && cancel->cancelled())) co_return false;
      Cancellation nap(cancel);
      const Napping napping(nap_, &nap);
      co_await runtime.sleep_until(deadline, &nap);
    }
    co_return true;
  }

 private:
  // A waiter that is destroyed where it waits is woken no more.
  class Napping {
   public:
    Napping(Cancellation*& at, Cancellation* nap) : at_(at) { at_ = nap; }
    ~Napping() { at_ = nullptr; }
    Napping(const Napping&) = delete;
    Napping& operator=(const Napping&) = delete;

   private:
    Cancellation*& at_;
  };

  Cancellation* nap_ = nullptr;
};

}  // namespace bellwether::runtime
