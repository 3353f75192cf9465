// A deadline as a cancellation: waits with it end when the time comes, or when the caller cancels.
#pragma once

#include "core/base/time.h"
#include "core/runtime/cancellation.h"
#include "core/runtime/runtime.h"

namespace bellwether::runtime {

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
