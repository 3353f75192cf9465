// A thread for calls that may block (files), so that a slow disk never stalls the loop. One worker: the operations of a
// runtime keep their order.
#pragma once

#include <coroutine>
#include <memory>
#include <utility>

#include "core/base/callback.h"
#include "core/runtime/runtime.h"

namespace bellwether::runtime {

class BlockingPool {
 public:
  explicit BlockingPool(Runtime& runtime);
  // Waits for the operation that runs; waiting operations do not run, and their coroutines are not woken. REQUIRES that
  // the loop does not run any more.
  ~BlockingPool();

  // co_await pool.run(operation): runs `operation()` on the worker and returns its result. The operation must own its
  // data, for it goes on when the waiting coroutine is destroyed; its result is then thrown away.
  template <class Operation>
  auto run(Operation operation);

 private:
  // Lives until the loop has seen its end, and no coroutine waits for it.
  struct Job {
    Callback<void()> execute;
    RunQueue::Entry* waiter = nullptr;  // on the loop's thread only
    BlockingPool* pool = nullptr;
  };
  struct Worker;
  void submit(std::shared_ptr<Job> job);
  static void finished(void* job);

  Runtime& runtime_;
  std::unique_ptr<Worker> worker_;

  template <class Operation>
  class Run;
};

template <class Operation>
class [[nodiscard]] BlockingPool::Run {
 public:
  using Value = decltype(std::declval<Operation&>()());
  Run(BlockingPool& pool, Operation operation) : pool_(pool), job_(std::make_shared<Work>(std::move(operation))) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() { job_->waiter = nullptr; }
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> waiting) {
    entry_.handle = waiting;
    job_->waiter = &entry_;
    pool_.submit(job_);
  }
  Value await_resume() {
    check(job_->result.has_value());
    return std::move(*job_->result);
  }

 private:
  struct Work final : Job {
    explicit Work(Operation o) : operation(std::move(o)) { this->execute = callback_to<&Work::work>(*this); }
    void work() { result.emplace(operation()); }
    Operation operation;
    std::optional<Value> result;
  };
  BlockingPool& pool_;
  std::shared_ptr<Work> job_;
  RunQueue::Entry entry_;
};

template <class Operation>
auto BlockingPool::run(Operation operation) {
  return Run<Operation>(*this, std::move(operation));
}

}  // namespace bellwether::runtime
