// task<T>: a coroutine that starts at once, runs to its first wait, and hands its result to the coroutine that awaits
// it.
//
// The holder of the task owns the coroutine: destroying an unfinished task destroys its frame, and with it all its
// waits (timers, streams and queue entries take themselves off). That is how a killed simulated process disappears. In
// ordinary code a task is awaited, or given to a Scope (scope.h), which awaits it.
//
// Completion goes through the run queue. Rules for the authors of coroutines: one co_await a statement; arguments named
// before the call when they are temporaries with a destructor; no capturing lambdas as coroutines. g++ 12 miscompiles
// other forms (decision 003), and a capturing lambda may die before its coroutine.
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/runtime/run_queue.h"

namespace bellwether::runtime {

// Memory for coroutine frames: free lists by size, one set for each thread. After warm-up a call of a coroutine costs
// about a nanosecond and no call of the allocator. A frame must be freed on the thread that made it.
class FramePool {
 public:
  static constexpr std::size_t kStep = 64;       // size classes: multiples of this
  static constexpr std::size_t kLargest = 4096;  // larger frames come from the heap

  static void* allocate(std::size_t size) {
    if (size > kLargest) [[unlikely]]
      return ::operator new(size);
    Node*& head = lists_[(size + kStep - 1) / kStep];
    if (head == nullptr) [[unlikely]]
      return refill((size + kStep - 1) / kStep);
    Node* node = head;
    head = node->next;
    return node;
  }
  static void release(void* memory, std::size_t size) noexcept {
    if (size > kLargest) [[unlikely]] {
      ::operator delete(memory);
      return;
    }
    Node*& head = lists_[(size + kStep - 1) / kStep];
    Node* node = static_cast<Node*>(memory);
    node->next = head;
    head = node;
  }

 private:
  struct Node {
    Node* next;
  };
  static void* refill(std::size_t size_class);
  static thread_local std::array<Node*, kLargest / kStep + 1> lists_;
};

template <class T = void>
class task;

namespace detail {

class PromiseBase {
 public:
  static void* operator new(std::size_t size) { return FramePool::allocate(size); }
  static void operator delete(void* memory, std::size_t size) noexcept { FramePool::release(memory, size); }

  std::suspend_never initial_suspend() noexcept { return {}; }
  struct FinalAwaiter {
    bool await_ready() noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> self) noexcept {
      if (RunQueue::Entry* waiter = self.promise().waiter_) RunQueue::local().push(*waiter);
    }
    void await_resume() noexcept {}
  };
  FinalAwaiter final_suspend() noexcept { return {}; }
  [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }

  RunQueue::Entry* waiter_ = nullptr;
};

template <class T>
class Promise : public PromiseBase {
 public:
  task<T> get_return_object();
  template <class U>
  void return_value(U&& value) {
    result_.emplace(std::forward<U>(value));
  }
  T take() {
    check(result_.has_value());
    return std::move(*result_);
  }

 private:
  std::optional<T> result_;
};

template <>
class Promise<void> : public PromiseBase {
 public:
  task<void> get_return_object();
  void return_void() {}
  void take() {}
};

}  // namespace detail

template <class T>
class [[nodiscard]] task {
 public:
  using promise_type = detail::Promise<T>;

  task() = default;
  explicit task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  task(task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  task& operator=(task&& other) noexcept {
    if (this != &other) {
      destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~task() { destroy(); }

  bool valid() const { return handle_ != nullptr; }
  bool done() const { return handle_ != nullptr && handle_.done(); }
  // The result of a finished task. REQUIRES done(); once only.
  T take() {
    check(done());
    return handle_.promise().take();
  }

  // Awaiting gives the result, once. One awaiter at a time.
  auto operator co_await() noexcept {
    struct Awaiter {
      std::coroutine_handle<promise_type> child;
      RunQueue::Entry entry;
      explicit Awaiter(std::coroutine_handle<promise_type> c) : child(c) {}
      ~Awaiter() {
        if (child && child.promise().waiter_ == &entry) child.promise().waiter_ = nullptr;
      }
      bool await_ready() const noexcept { return child.done(); }
      void await_suspend(std::coroutine_handle<> waiting) noexcept {
        entry.handle = waiting;
        child.promise().waiter_ = &entry;
      }
      T await_resume() { return child.promise().take(); }
    };
    check(handle_ != nullptr);
    return Awaiter(handle_);
  }

 private:
  void destroy() {
    if (handle_) std::exchange(handle_, nullptr).destroy();
  }
  std::coroutine_handle<promise_type> handle_;
};

namespace detail {
template <class T>
task<T> Promise<T>::get_return_object() {
  return task<T>(std::coroutine_handle<Promise>::from_promise(*this));
}
inline task<void> Promise<void>::get_return_object() {
  return task<void>(std::coroutine_handle<Promise>::from_promise(*this));
}
}  // namespace detail

}  // namespace bellwether::runtime
