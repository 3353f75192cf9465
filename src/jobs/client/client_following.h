// One job as a client follows it: on the client's thread it asks for news and calls the listener; any thread may wait
// for the end.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bellwether/client.h"
#include "bellwether/client_types.h"
#include "core/base/callback.h"
#include "core/resilience/request_limiter.h"
#include "core/runtime/runtime.h"
#include "jobs/client/job_follower.h"
#include "jobs/dispatch/messages.h"
#include "load/plan/load.h"
#include "load/report/run_report.h"

namespace bellwether::client::detail {

// The live channel as one client follows it: the next request, its time, and the news in an answer. It asks at most as
// often as the listener may be called. The manager merges the changes in between, so that a slow client sees each
// window once, in its newest form. Pure. One thread.
class LiveFollower {
 public:
  static constexpr double kCallsPerSecond = 20;
  static constexpr double kBurst = 5;

  explicit LiveFollower(std::string job) : job_(std::move(job)) {}

  dispatch::WatchLive question(Duration wait) const { return {job_, life_, change_, wait}; }
  // The time of the next request; not after `now`: at once.
  Instant ready(Instant now) { return calls_.ready(now); }
  // The news in an answer; nothing: it has none.
  std::optional<LiveNews> take(Instant now, const dispatch::LiveNews& news);
  // Nothing more comes.
  bool over() const { return over_; }

 private:
  std::string job_;
  uint64_t life_ = 0;
  uint64_t change_ = 0;
  uint64_t next_ = 0;  // the window after the last one for the listener
  bool over_ = false;
  resilience::TokenBucket calls_{kCallsPerSecond, kBurst};
};

// How long a client waits for a manager that has its job, and when it says so. Pure. One thread.
class Silence {
 public:
  static constexpr Duration kToldAfter = Duration::seconds(10);
  static constexpr Duration kAgain = Duration::seconds(60);

  // `wait`: beyond the planned end of the job.
  Silence(Instant now, Duration wait) : wait_(wait), heard_(now) {}

  // An answer about the job, and the time from now to its planned end. True: the client had reported the silence before
  // it.
  bool heard(Instant now, Duration left);
  // No answer. True: it is time to say so, at first or again.
  bool tells(Instant now);
  Duration lasted(Instant now) const { return now - heard_; }
  // Without an answer until then, the client waits no longer.
  Instant end() const { return heard_ + left_ + wait_; }

 private:
  Duration wait_;
  Duration left_;
  Instant heard_;
  std::optional<Instant> told_;
};

// The events of a job that a listener knows. A record drops events of its newer half when it is full. Pure. One thread.
class ToldEvents {
 public:
  // The number of the newest events of `record` that were in none before. An older record has none.
  std::size_t fresh(const dispatch::JobRecord& record);

 private:
  std::size_t all_ = 0;  // with those that were dropped
  std::vector<dispatch::JobEvent> told_;
};

// Called before the listener: the totals themselves, for the screens and the store of this product.
struct TotalsListener {
  Callback<void(const aggregate::Totals& totals)> on_totals;
  // Their inputs: a further second, or (`amends`) an amendment of a former one.
  Callback<void(const metrics::Window& second, Duration covered, bool amends)> on_second;
  // New totals: they replace everything before.
  Callback<void(const aggregate::Totals& totals)> on_whole;
};

class Following final {
 public:
  Following(std::string job, plan::Plan plan, Listener* listener, std::optional<TotalsListener> totals)
      : job_(std::move(job)), plan_(std::move(plan)), listener_(listener), totals_(totals) {}

  const std::string& job() const { return job_; }
  const plan::Plan& plan() const { return plan_; }

  // --- on the client's thread

  // Until the job has ended, or no manager that has it answered until `quorum_wait` after its planned end, or it is
  // stopped. `this` must outlive it.
  runtime::task<void> run(node::JobClient* client, runtime::Runtime* runtime, Duration quorum_wait,
                          runtime::Cancellation* cancel);
  // From now on no listener is called.
  void stop();
  void not_cancelled(const bellwether::Error& why);

  // --- on any thread

  // True once: the caller that gets true starts it.
  bool take_start() { return !started_.exchange(true); }
  // run() will not be called, or has ended.
  void end(Error why);

  enum class Until : uint8_t {
    kHeard,    // a manager has answered once
    kJudged,   // it has a result, or gave up
    kStopped,  // run() has ended, or never began
  };
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;
  bool wait(Until until, Deadline deadline) const;
  // Nothing: it goes on.
  std::optional<Outcome<Result>> outcome() const;
  // The last known state.
  JobState state() const;
  // REQUIRES a result.
  const report::RunReport& report() const { return *report_; }
  uint64_t failed_callbacks() const { return failed_.load(); }

 private:
  void on_second(const metrics::Window& second, Duration covered, bool amends);
  void on_whole();
  template <class Call>
  void tell(Call call);
  void tell_contact(bool answers, const bellwether::Error& why);
  void tell_news();
  void tell_workflows();
  bool wants_live();
  // The live channel, until the job is over.
  static runtime::task<void> follow_live(Following* self, node::JobClient* client, runtime::Runtime* runtime,
                                         runtime::Cancellation* cancel);
  Status status() const;
  // From now to the planned end of the job; zero before its begin, and for a job without such an end.
  Duration left() const;
  // The result, with the totals so far. `unconfirmed`: empty of a job that has ended.
  void conclude(WallTime now, std::string unconfirmed);
  void judge(Outcome<Result> outcome);

  const std::string job_;
  const plan::Plan plan_;
  Listener* const listener_;
  const std::optional<TotalsListener> totals_;
  std::atomic<bool> started_{false};
  std::atomic<uint64_t> failed_{0};

  // Of the client's thread.
  std::optional<node::JobFollower> follower_;
  runtime::Cancellation* stop_ = nullptr;  // of run()
  bool quiet_ = false;
  std::vector<Window> windows_;  // for the listener
  std::optional<uint64_t> told_revision_;
  uint32_t told_position_ = 0;
  std::string told_owner_;
  ToldEvents told_events_;
  std::vector<Loss> told_losses_;
  std::set<std::size_t> told_workflows_;
  std::optional<report::RunReport> report_;  // written before `outcome_`, and read after it

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool heard_ = false;
  bool stopped_ = false;
  JobState state_ = JobState::kSubmitted;
  std::optional<Outcome<Result>> outcome_;
};

// Interfaces for the commands of this product beside bellwether/client.h: scenarios that were read already, and the
// totals behind their screens and reports.
struct Inside {
  // Bytes of a data file that the managers have, after each chunk.
  using UploadListener = Callback<void(const std::string& path, uint64_t have, uint64_t size)>;
  // Both give a job that is not followed yet.
  static Outcome<Job> submit(Client& client, const plan::Bundled& bundled, const Submission& submission,
                             Listener* listener, std::optional<TotalsListener> totals, UploadListener uploads = {});
  static Outcome<Job> attach(Client& client, const std::string& job, Listener* listener,
                             std::optional<TotalsListener> totals);
  // From now on the listeners are called.
  static void follow(Job& job);
  static const plan::Plan& plan(const Job& job);
  // The name of the cluster that it asks.
  static const std::string& cluster(const Client& client);
  // REQUIRES that the job has given its result, and outlives the reference.
  static const report::RunReport& report(const Job& job);
};

}  // namespace bellwether::client::detail
