// Waiting until something holds that others make true: whoever changes what it is about says so. One thread.
#pragma once

#include <utility>
#include <vector>

#include "core/runtime/runtime.h"

namespace bellwether::runtime {

class Condition {
 public:
  Condition() = default;
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  // Whoever waits looks again, soon.
  void changed() {
    for (Cancellation* const nap : std::exchange(naps_, {})) nap->cancel();
  }

  // Until `holds()`, which is asked now and after each changed(). False: the deadline has come, or it was cancelled
  // first. The waiter outlives what `holds` refers to.
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
  // A waiter that is destroyed where it waits is woken no more.
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

}  // namespace bellwether::runtime
