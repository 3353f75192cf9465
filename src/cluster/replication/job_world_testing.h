// Nodes that own jobs, for tests: each with a runtime on a separate thread, so that one can be stopped at any moment
// while the others go on; and the world that keeps the registers for them, which is a quorum of peers with real disks
// in this process (quorum_world_testing.h), or an external etcd.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "cluster/replication/job_store.h"
#include "core/base/check.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/event.h"
#include "core/runtime/scope.h"

namespace bellwether::jobs {

class Node {
 public:
  Node() {
    std::promise<void> begun;
    thread_ = std::thread([this, &begun] { live(begun); });
    begun.get_future().wait();
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() {
    act([this] { end_.set(); });
    thread_.join();
  }

  runtime::EpollRuntime& runtime() { return *runtime_; }
  JobStore* store = nullptr;

  // Begins, on the node's thread, the task that `make()` gives.
  template <class Make>
  auto begin(Make make) {
    using Task = decltype(make());
    using Value = std::decay_t<decltype(std::declval<Task>().take())>;
    auto done = std::make_shared<std::promise<Value>>();
    auto future = done->get_future();
    post([this, make = std::move(make), done]() mutable { scope_->spawn(carry<Value>(make(), done)); });
    return future;
  }
  template <class Make>
  auto run(Make make) {
    return begin(std::move(make)).get();
  }
  // Does something on the node's thread.
  template <class Act>
  void act(Act act) {
    std::promise<void> done;
    post([&] {
      act();
      done.set_value();
    });
    done.get_future().wait();
  }
  // Its thread stands still, as a process does that is stopped.
  void pause() {
    post([this] { resumed_.acquire(); });
  }
  void resume() { resumed_.release(); }

 private:
  template <class Call>
  void post(Call call) {
    struct Posted {
      Call call;
    };
    auto* message = new Posted{std::move(call)};
    const bool posted = runtime_->post(
        [](void* context) {
          const std::unique_ptr<Posted> mine(static_cast<Posted*>(context));
          mine->call();
        },
        message);
    check(posted, "the mailbox of a node in tests has room");
  }
  template <class Value>
  static runtime::task<void> carry(runtime::task<Value> work, std::shared_ptr<std::promise<Value>> done) {
    Value value = co_await std::move(work);
    done->set_value(std::move(value));
  }
  void live(std::promise<void>& begun) {
    runtime_ = std::move(*runtime::EpollRuntime::create({}));
    scope_.emplace();
    begun.set_value();
    runtime_->run(last(this));
    scope_.reset();
    runtime_.reset();
  }
  static runtime::task<int> last(Node* self) {
    co_await self->end_.wait();
    co_await self->scope_->join();
    co_return 0;
  }

  std::unique_ptr<runtime::EpollRuntime> runtime_;
  std::optional<runtime::Scope> scope_;
  runtime::Event end_;
  std::binary_semaphore resumed_{0};
  std::thread thread_;
};

inline runtime::task<int> closed(JobStore* store) {
  co_await store->close(Duration::seconds(3));
  co_return 0;
}

// A handle on a node, with the events that it received.
class Owner final : private JobHandle::Listener {
 public:
  static constexpr Duration kPatience = Duration::seconds(25);

  Owner(Node& node, const std::string& key) : node_(node) {
    node_.act([&] {
      auto opened = node_.store->open(key, *this);
      check(opened.has_value(), "tests open good keys");
      handle_ = std::move(*opened);
    });
  }
  ~Owner() override { end(); }
  void end() {
    node_.act([&] { handle_.reset(); });
  }

  std::future<Result<TakenJob>> begin_take(Duration within = kPatience, runtime::Cancellation* cancel = nullptr) {
    return node_.begin([this, within, cancel] { return handle_->take(soon(within), cancel); });
  }
  Result<TakenJob> take(Duration within = kPatience) { return begin_take(within).get(); }
  std::future<Written> begin_write(const std::string& value, Duration within = kPatience) {
    return node_.begin([this, value, within] { return handle_->write(value, soon(within), nullptr); });
  }
  Written write(const std::string& value, Duration within = kPatience) { return begin_write(value, within).get(); }
  Result<std::optional<std::string>> read(Duration within = kPatience) {
    return node_.run([this, within] { return handle_->read(soon(within), nullptr); });
  }
  Status give_back(Duration within = kPatience) {
    return node_.run([this, within] { return handle_->give_back(soon(within), nullptr); });
  }
  Written retire(Duration within = kPatience) {
    return node_.run([this, within] { return handle_->retire(soon(within), nullptr); });
  }
  bool held() {
    bool held = false;
    node_.act([&] { held = handle_->held(node_.runtime().boot_now()); });
    return held;
  }
  Instant held_until() {
    Instant until;
    node_.act([&] { until = handle_->held_until(); });
    return until;
  }
  Instant boot_now() {
    Instant now;
    node_.act([&] { now = node_.runtime().boot_now(); });
    return now;
  }
  // The report that the job was lost, as soon as it comes.
  LostJob loss() {
    std::unique_lock lock(mutex_);
    const bool told = told_.wait_for(lock, std::chrono::seconds(60), [this] { return !losses_.empty(); });
    return told ? losses_.front() : LostJob{{}, {}, "it was never told"};
  }
  std::size_t losses() {
    const std::lock_guard lock(mutex_);
    return losses_.size();
  }

 private:
  void on_lost(const LostJob& lost) override {
    const std::lock_guard lock(mutex_);
    losses_.push_back(lost);
    told_.notify_all();
  }
  Instant soon(Duration within) { return node_.runtime().read_clock() + within; }

  Node& node_;
  std::unique_ptr<JobHandle> handle_;
  std::mutex mutex_;
  std::condition_variable told_;
  std::vector<LostJob> losses_;
};

class World {
 public:
  virtual ~World() = default;
  // The nodes that own jobs: 0 and 1.
  virtual Node& node(std::size_t which) = 0;
  // A second process under the name of a node, which does not know of the first one.
  virtual std::unique_ptr<Node> second_life(std::size_t which) = 0;
  // Messages to that name reach the first one again.
  virtual void reach_first_life(std::size_t which) = 0;
  virtual void end_second_life(std::unique_ptr<Node> node) = 0;
  // "minority-down", "majority-down" of the replicas, "all-up", "restart-in-turn", "restart-all". False: it cannot be
  // done here.
  virtual bool obey(const std::string& what) = 0;
};

struct JobConformanceSettings {
  std::string url;  // of an etcd; empty: a quorum of peers in this process
  // As in election/store/conformance_testing.h.
  bool (*control)(const std::string& command) = nullptr;
};
JobConformanceSettings& job_conformance_settings();

}  // namespace bellwether::jobs
