// The load of some parts of a plan in this process: a load thread for each part. The control thread merges their
// counts, second by second.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/base/result.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/event.h"
#include "core/runtime/thread.h"
#include "load/local/request_log.h"
#include "load/metrics/window.h"
#include "load/plan/plan.h"
#include "load/vuser/engine.h"

namespace bellwether::node {

class LoadGroup;

// One core's load: a thread with its own runtime and engine. It hands a window to the control thread each second and
// gets an empty one back; nothing else crosses between them during the load.
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
  bool is_last(uint64_t second) const { return second == last_second(); }
  // The greatest number until it has ended. From any thread.
  uint64_t last_second() const { return last_second_.load(std::memory_order_relaxed); }
  // Its work as of up to `tally_every` ago. From any thread; the figures may be of different moments, except those of
  // an ended thread.
  vuser::Tally tally() const;
  // The same for its headway: a loop that stands still makes none.
  vuser::Headway headway() const;
  // After thread_ended.
  Instant ended() const { return ended_; }
  Instant ended(uint16_t workflow) const { return engine_->ended(workflow); }
  bool served_all() const { return engine_->served_all(); }
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
  runtime::Handover<metrics::Window, 4> full_;
  runtime::Handover<metrics::Window, 4> empty_;
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

struct GroupOptions {
  std::vector<vuser::EngineAssignment> assignments{{}};  // a thread each; by default one with everything
  std::vector<int> pin;  // processors to pin them to, in turn; empty: the scheduler decides
  uint64_t seed = 0;     // of the whole run: each share draws its own from it. 0: from the operating system
  Duration tally_every;  // the interval of tally()'s figures; zero: never
  const vuser::ProgramLoader* programs = nullptr;  // must outlive the group; nullptr for a plan without programs
  RequestLog* request_log = nullptr;               // must outlive it too; nullptr: none
  const http1::ExchangeWatch* watch = nullptr;     // the same; called on all load threads
  vuser::Permit* permit = nullptr;                 // the same; nullptr: the load needs none
};

class LoadGroup {
 public:
  // Called on the control thread. May call stop() and kill().
  class Listener {
   public:
    virtual ~Listener() = default;
    // All counts of the threads in a second of the run; it is final. Every second comes in order, even an empty one.
    // `covered`: the part of it that the load has lived through, a whole second but at the ends. `window` is valid
    // during the call.
    virtual void second_over(const metrics::Window& window, Duration covered) = 0;
    // A step with `on_error: abort` failed. Once or more; the load goes on until it is stopped.
    virtual void aborted_by(const std::string& step) = 0;
    // A note of a step's program, such as the reason of a failure.
    virtual void noted(const std::string& text) = 0;
    // The timeout of a workflow was over before its end here; its rest ends now. Once for each workflow.
    virtual void timed_out(uint16_t workflow) = 0;
  };

  // All must outlive the group. REQUIRES at least one share.
  LoadGroup(runtime::EpollRuntime& control, const plan::Plan& plan, GroupOptions options, Listener& listener);
  ~LoadGroup();

  // Makes the threads and prepares them. Fails on any error that shows before the first request.
  Status prepare();
  // Runs to the end, see vuser::Engine, and has then reported the last second. Once, after prepare(). `base`: the
  // number of the first second after `start`.
  runtime::task<void> run(Instant start, vuser::Resume resume = {}, uint64_t base = 0);

  // Some thread still makes load. During the report of the last seconds none does.
  bool running() const { return running_ > 0; }
  // See vuser::Engine. Without effect unless running().
  void stop();
  void kill();
  void hand_over(Duration at);
  void applied(uint64_t seconds);
  // The same, before run() too.
  void pause();
  void resume();
  void scale(uint16_t workflow, uint32_t vus);
  // Reports the seconds that are over, even if a delayed thread has not reported its part. A later part counts for the
  // second in which the thread reports it. The last second of the run is reported at its end.
  void tell_what_is_over();

  vuser::Tally tally() const;
  vuser::Headway headway() const;
  // Running load loops: each of them must turn.
  uint32_t loops() const { return static_cast<uint32_t>(running_); }
  // The values that a workflow has provided; after run().
  std::vector<plan::Provided> provided(uint16_t workflow) const;
  // From the start to the end of the last thread; after run().
  Duration elapsed() const { return elapsed_; }
  // The same to the end of a workflow.
  Duration elapsed(uint16_t workflow) const;
  // After run(): whatever ended it, all arrivals had begun and ended.
  bool served_all() const {
    return std::ranges::all_of(threads_, [](const auto& thread) { return thread->served_all(); });
  }

 private:
  friend class LoadThread;
  void window_ready(LoadThread& thread);
  void aborted_by(const std::string& step) { listener_.aborted_by(step); }
  // Reports a note of all threads once.
  void noted(const std::string& text) {
    if (noted_.insert(text).second) listener_.noted(text);
  }
  void timed_out(uint16_t workflow) {
    if (timed_out_.insert(workflow).second) listener_.timed_out(workflow);
  }
  void thread_ended(LoadThread& thread);
  std::unique_ptr<metrics::Window> empty_window();
  void close_seconds(uint64_t complete_to);
  Duration covered(uint64_t second) const;
  void set_ran(metrics::Window& window);

  runtime::EpollRuntime& control_;
  const plan::Plan& plan_;
  GroupOptions options_;
  Listener& listener_;
  std::unique_ptr<vuser::SpareUsers> spare_users_;
  std::vector<std::unique_ptr<LoadThread>> threads_;
  std::map<const LoadThread*, uint64_t> delivered_;                    // the next second that each thread reports
  std::map<uint64_t, std::unique_ptr<metrics::Window>> open_seconds_;  // merged so far
  std::map<const LoadThread*, std::vector<Duration>> ran_;             // how long each ran each workflow so far
  std::vector<Duration> ran_most_;                                     // of each workflow, on any thread
  std::vector<Duration> ran_told_;                                     // of that, the part in reported seconds
  std::vector<std::unique_ptr<metrics::Window>> spare_;
  std::set<std::string> noted_;
  std::set<uint16_t> timed_out_;
  uint64_t next_second_ = 0;  // the next to report
  uint64_t base_ = 0;
  runtime::Event all_ended_;
  std::size_t running_ = 0;
  Instant start_;
  Duration resume_at_;
  Duration elapsed_;
};

}  // namespace bellwether::node
