// Something that happens once and that one coroutine may wait for. One thread.
#pragma once

#include <coroutine>
#include <utility>

#include "core/base/check.h"
#include "core/runtime/run_queue.h"

namespace bellwether::runtime {

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

}  // namespace bellwether::runtime
