#include "core/runtime/epoll/blocking_pool.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

#include "core/runtime/thread.h"

namespace bellwether::runtime {

struct BlockingPool::Worker {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job*> waiting;
  bool stopping = false;
  std::thread thread;
  std::set<Job*> open;  // submitted, and the loop has not heard of their end; on the loop's thread only
};

BlockingPool::BlockingPool(Runtime& runtime) : runtime_(runtime), worker_(std::make_unique<Worker>()) {}

// The thread is started at the first use: a load thread never needs one.
void BlockingPool::submit(Job* job) {
  job->pool = this;
  worker_->open.insert(job);
  {
    const std::lock_guard lock(worker_->mutex);
    worker_->waiting.push_back(job);
  }
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
  job->pool->worker_->open.erase(job);
  job->finished = true;
  if (job->abandoned) {
    delete job;
  } else if (job->waiter != nullptr) {
    RunQueue::local().push(*std::exchange(job->waiter, nullptr));
  }
}

BlockingPool::~BlockingPool() {
  {
    const std::lock_guard lock(worker_->mutex);
    worker_->stopping = true;
  }
  worker_->changed.notify_one();
  if (worker_->thread.joinable()) worker_->thread.join();
  for (Job* job : worker_->open) {
    job->finished = true;  // there may be no result: nobody is woken, who waits is about to be destroyed
    if (job->abandoned) delete job;
  }
}

}  // namespace bellwether::runtime
