// A request to end work. The code that may ask owns the Cancellation; every wait registers a callback with it.
// Cancellation is one-way and stays set. One thread.
#pragma once

#include "core/base/check.h"

namespace bellwether::runtime {

class Cancellation;

// Registered for as long as it lives. `call` runs once, inside Cancellation::cancel().
class CancelCallback {
 public:
  using Call = void (*)(void* context);
  // With no cancellation (nullptr) nothing happens. When it is already cancelled, `call` runs at once.
  CancelCallback(Cancellation* cancellation, Call call, void* context);
  CancelCallback(const CancelCallback&) = delete;
  CancelCallback& operator=(const CancelCallback&) = delete;
  ~CancelCallback() { unlink(); }

 private:
  friend class Cancellation;
  void unlink() {
    if (next_ == nullptr) return;
    prev_->next_ = next_;
    next_->prev_ = prev_;
    prev_ = next_ = nullptr;
  }
  CancelCallback() = default;
  Call call_ = nullptr;
  void* context_ = nullptr;
  CancelCallback* prev_ = nullptr;
  CancelCallback* next_ = nullptr;
};

class Cancellation {
 public:
  // Cancelled when `parent` is. `parent` must outlive this.
  explicit Cancellation(Cancellation* parent = nullptr)
      : from_parent_(
            parent, [](void* self) { static_cast<Cancellation*>(self)->cancel(); }, this) {}
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;
  ~Cancellation() {
    check(ends_.next_ == nullptr || ends_.next_ == &ends_, "callbacks end before their cancellation");
    ends_.next_ = nullptr;
  }

  bool cancelled() const { return cancelled_; }
  void cancel() {
    if (cancelled_) return;
    cancelled_ = true;
    while (ends_.next_ != nullptr && ends_.next_ != &ends_) {
      CancelCallback* first = ends_.next_;
      first->unlink();
      first->call_(first->context_);
    }
  }

 private:
  friend class CancelCallback;
  void add(CancelCallback& callback) {
    if (ends_.next_ == nullptr) ends_.prev_ = ends_.next_ = &ends_;
    callback.prev_ = ends_.prev_;
    callback.next_ = &ends_;
    ends_.prev_->next_ = &callback;
    ends_.prev_ = &callback;
  }
  bool cancelled_ = false;
  CancelCallback ends_;
  CancelCallback from_parent_;  // last: it may cancel this at once
};

inline CancelCallback::CancelCallback(Cancellation* cancellation, Call call, void* context)
    : call_(call), context_(context) {
  if (cancellation == nullptr) return;
  if (cancellation->cancelled()) {
    call_(context_);
  } else {
    cancellation->add(*this);
  }
}

}  // namespace bellwether::runtime
