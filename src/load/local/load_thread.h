// One core's load: a thread with its own runtime and engine. It hands a window to the control thread each second and
// gets an empty one back; nothing else crosses between them during the load.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/handover.h"
#include "core/base/result.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "load/metrics/window.h"
#include "load/plan/plan.h"
#include "load/vuser/engine.h"

namespace bellwether::node {

class LoadGroup;

class LoadThread final : public vuser::WindowSink {
 public:
  struct Options {
    vuser::EngineAssignment assignment;
    std::optional<int> cpu;  // the processor to run on
    uint64_t seed = 0;
    Duration tally_every;                            // the interval of tally()'s figures; zero: never
    const vuser::ProgramLoader* programs = nullptr;  // must outlive the thread; nullptr for a plan without programs
    vuser::Instruments instruments;                  // these too
    vuser::Permit* permit = nullptr;                 // this too; nullptr: it needs none
    vuser::SpareUsers* spare = nullptr;              // the same
  };
  // All references must outlive the thread. The group receives its reports on the control thread.
  LoadThread(const plan::Plan& plan, Options options, runtime::EpollRuntime& control, LoadGroup& group);
  ~LoadThread() override;

  // Starts the thread; returns when its engine is prepared, or with the error that prevents it.
  Status prepare();
  // Lets it run, see vuser::Engine.
  void start(Instant start, vuser::Resume resume);
  // See vuser::Engine. From the control thread, after start().
  void stop();
  void kill();
  void hand_over(Duration at);
  void applied(uint64_t seconds);
  // See vuser::Engine. From the control thread, after prepare().
  void pause();
  void resume();
  void scale(uint16_t workflow, uint32_t vus);

  // On the control thread: the next full window, or nullptr; release() gives it back, cleared.
  metrics::Window* next_full() { return full_.pop(); }
  void release(metrics::Window* window);
  // For a second of next_full(): the thread ended in it.
  bool is_last(uint64_t second) const { return second == last_second_.load(std::memory_order_relaxed); }
  // Its work as of up to `tally_every` ago. From any thread; the figures may be of different moments, except those of
  // an ended thread.
  vuser::Tally tally() const;
  // The same for its headway: a loop that stands still makes none.
  vuser::Headway headway() const;
  // After thread_ended.
  Instant ended() const { return ended_; }
  Instant ended(uint16_t workflow) const { return engine_->ended(workflow); }
  std::vector<plan::Provided> provided(uint16_t workflow) const { return engine_->provided(workflow); }

 private:
  static constexpr std::size_t kWindows = 3;  // and one more when the last is handed over and none is free
  void main();
  runtime::task<void> drive();
  void send_orders();
  void obey();
  runtime::task<void> tell_tally(runtime::Cancellation* cancel);
  void publish_tally();
  void post_to_control(void (*call)(void*));
  metrics::Window* exchange(metrics::Window* full, bool last) override;
  void abort_run(std::string_view step) override;
  void note(std::string_view step, std::string_view text) override;
  void timed_out(uint16_t workflow) override;

  const plan::Plan& plan_;
  Options options_;
  runtime::EpollRuntime& control_;
  LoadGroup& group_;
  std::unique_ptr<runtime::EpollRuntime> runtime_;
  std::vector<std::unique_ptr<metrics::Window>> windows_;
  std::unique_ptr<vuser::Engine> engine_;
  Handover<metrics::Window, 4> full_;
  Handover<metrics::Window, 4> empty_;
  std::atomic<uint64_t> last_second_{UINT64_MAX};
  Duration cpu_counted_;
  std::string aborted_by_;  // written before the post that reports it
  struct SharedTally;
  std::unique_ptr<SharedTally> tally_;

  struct Gate;
  std::unique_ptr<Gate> gate_;
  Instant start_;
  vuser::Resume resume_;
  std::atomic<int64_t> hand_over_ns_{0};
  std::atomic<uint64_t> applied_{0};
  // The latest orders to the engine.
  struct Orders;
  std::unique_ptr<Orders> orders_;
  Instant ended_;
  std::thread thread_;
};

}  // namespace bellwether::node
