// Structured concurrency: a Scope owns coroutines that run side by side. It must be joined before it ends, so nothing
// outlives the block that started it. Cancelling a scope cancels all its waits with its cancellation().
#pragma once

#include <cstddef>

#include "core/runtime/cancellation.h"
#include "core/runtime/run_queue.h"
#include "core/runtime/task.h"

namespace bellwether::runtime {

class Scope {
 public:
  // Cancelled when `parent` is.
  explicit Scope(Cancellation* parent = nullptr) : cancellation_(parent) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  // Destroys running coroutines (a killed simulated process); in ordinary code join() came first.
  ~Scope();

  // Takes the task over. It has already started.
  void spawn(task<void> child);
  void cancel() { cancellation_.cancel(); }
  Cancellation* cancellation() { return &cancellation_; }
  std::size_t running() const { return running_; }

  // co_await scope.join(): everything spawned so far, and by it, has ended. Does not cancel.
  class Join;
  Join join();

 private:
  struct Child;
  static task<void> watch(Scope* scope, Child* child, task<void> work);
  void reap();

  Cancellation cancellation_;
  Child* children_ = nullptr;
  Child* ended_ = nullptr;
  std::size_t running_ = 0;
  RunQueue::Entry* joiner_ = nullptr;
};

class [[nodiscard]] Scope::Join {
 public:
  explicit Join(Scope& scope) : scope_(scope) {}
  Join(const Join&) = delete;
  Join& operator=(const Join&) = delete;
  ~Join() {
    if (scope_.joiner_ == &entry_) scope_.joiner_ = nullptr;
  }
  bool await_ready() const { return scope_.running_ == 0; }
  void await_suspend(std::coroutine_handle<> waiting) {
    check(scope_.joiner_ == nullptr, "one joiner a scope");
    entry_.handle = waiting;
    scope_.joiner_ = &entry_;
  }
  void await_resume() { scope_.reap(); }

 private:
  Scope& scope_;
  RunQueue::Entry entry_;
};

inline Scope::Join Scope::join() { return Join(*this); }

}  // namespace bellwether::runtime
