// A deadline as a cancellation: what waits with it ends when the time comes, or when the caller cancels.
#pragma once

#include "base/time.h"
#include "runtime/cancellation.h"
#include "runtime/runtime.h"

namespace bellwether::store {

class Until {
 public:
  Until(runtime::Runtime& runtime, Instant deadline, runtime::Cancellation* parent)
      : parent_(parent), cancellation_(parent), timer_(&Until::fire, this) {
    runtime.timers().arm(timer_, deadline);
  }
  runtime::Cancellation* cancellation() { return &cancellation_; }
  bool over() const { return cancellation_.cancelled(); }
  // After the end: whether it was the time that ended it.
  Errc why() const { return parent_ != nullptr && parent_->cancelled() ? Errc::kCancelled : Errc::kTimeout; }

 private:
  static void fire(void* self) { static_cast<Until*>(self)->cancellation_.cancel(); }
  runtime::Cancellation* parent_;
  runtime::Cancellation cancellation_;
  runtime::Timer timer_;
};

}  // namespace bellwether::store
