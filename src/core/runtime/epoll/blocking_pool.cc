#include "core/runtime/epoll/blocking_pool.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "core/runtime/thread.h"

namespace bellwether::runtime {

struct BlockingPool::Worker {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job*> waiting;
  bool stopping = false;
  std::thread thread;
  // Submitted, and the loop has not heard of their end; on the loop's thread only.
  std::map<Job*, std::shared_ptr<Job>> open;
};

BlockingPool::BlockingPool(Runtime& runtime) : runtime_(runtime), worker_(std::make_unique<Worker>()) {}

// The thread is started at the first use: a load thread never needs one.
void BlockingPool::submit(std::shared_ptr<Job> job) {
  job->pool = this;
  {
    const std::lock_guard lock(worker_->mutex);
    worker_->waiting.push_back(job.get());
  }
  worker_->open.emplace(job.get(), std::move(job));
  if (worker_->thread.joinable()) {
    worker_->changed.notify_one();
    return;
  }
  const NoSignals no_signals;
  worker_->thread = std::thread([this] {
    set_up_thread("files", std::nullopt);
    while (true) {
      Job* next = nullptr;
      {
        std::unique_lock lock(worker_->mutex);
        worker_->changed.wait(lock, [this] { return worker_->stopping || !worker_->waiting.empty(); });
        if (worker_->stopping) return;
        next = worker_->waiting.front();
        worker_->waiting.pop_front();
      }
      next->execute();
      const bool told = post_patiently(runtime_, &BlockingPool::finished, next, [this] {
        const std::lock_guard lock(worker_->mutex);
        return worker_->stopping;
      });
      if (!told) return;
    }
  });
}

void BlockingPool::finished(void* context) {
  Job* job = static_cast<Job*>(context);
  if (job->waiter != nullptr) RunQueue::local().push(*std::exchange(job->waiter, nullptr));
  job->pool->worker_->open.erase(job);
}

BlockingPool::~BlockingPool() {
  {
    const std::lock_guard lock(worker_->mutex);
    worker_->stopping = true;
  }
  worker_->changed.notify_one();
  // Open operations may have no result. Their coroutines are not woken: they are about to be destroyed.
  if (worker_->thread.joinable()) worker_->thread.join();
}

}  // namespace bellwether::runtime
