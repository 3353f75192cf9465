// Clients that watch a job. Each asks a question, and gets the answer at once or when it has news: of the job and its
// totals, or of the windows of the live channel. One thread, that of its runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>

#include "cluster/net/message_router.h"
#include "core/base/time.h"
#include "core/runtime/runtime.h"
#include "jobs/dispatch/job_kernel.h"
#include "jobs/dispatch/messages.h"
#include "jobs/ingest/run_ingest.h"
#include "load/metrics/live_windows.h"

namespace bellwether::node {

// The live activity of one job's assignments, for screens: the last counters of each, and the sum of all in each tenth
// of a second (load/metrics/live_windows.h). No result depends on it, because it may be late or lost; results come from
// the ingest (jobs/ingest/run_ingest.h). A new owner begins with an empty board: its sums lack assignments that had
// ended before, and its windows start again.
//
// It reads no clock. A message of a known assignment allocates nothing. One thread.
class LiveBoard {
 public:
  // Second zero of the run, from which windows count. Has no effect after the first assignment.
  void set_zero(Instant zero) {
    if (!windows_) zero_ = zero;
  }
  // Its counters begin at zero. An assignment without this call began earlier.
  void begins(Instant now, dispatch::AssignmentId assignment);
  // Counters of message `number`, collected then (on this clock). Numbers grow within a life of a worker, and an
  // assignment stays with one life of one worker: so the highest number of each assignment is the newest. False: newer
  // counters were known, and only windows may have been amended, or the assignment has ended. Not bounded: REQUIRES an
  // assignment of the job.
  bool heard(Instant now, Instant collected, uint64_t number, const dispatch::LiveMessage::Assignment& told);
  // Its counters stay in the sums; it has no virtual users any more.
  void ended(Instant now, dispatch::AssignmentId assignment);
  // The job is over: its last windows are closed, and later calls change nothing.
  void finish(Instant now);

  dispatch::LiveSum sum(Instant now) const;
  // Changes with the sums.
  uint64_t version() const { return version_; }

  // Closes the windows that are over.
  void advance(Instant now) {
    if (windows_ && !finished_) windows_->advance(now);
  }
  Instant next_close() const { return windows_ ? windows_->next_close() : Instant::never(); }
  // Grows with each window that is closed or amended; zero before the first.
  uint64_t change() const { return windows_ ? windows_->change() : 0; }
  // Everything except the owner's identity: the windows after `change`, and the last counters.
  dispatch::LiveNews news(Instant now, uint64_t change) const;

 private:
  struct Told {
    std::optional<uint64_t> number;
    Instant at;
    dispatch::LiveMessage::Assignment what;
    bool over = false;
    metrics::LiveWindows::Source source = 0;
  };
  metrics::LiveWindows& windows(Instant now);
  // `sign`: 1 adds its counters to the sums, -1 takes them off.
  void count(const dispatch::LiveMessage::Assignment& one, int64_t sign);

  std::map<dispatch::AssignmentId, Told> told_;
  dispatch::LiveSum sum_;  // of all; without the age
  uint64_t version_ = 0;
  std::optional<Instant> zero_;
  std::optional<metrics::LiveWindows> windows_;  // after the first assignment
  bool finished_ = false;
};

class Watchers {
 public:
  struct Parts {
    runtime::Runtime& runtime;
    cluster::MessageRouter& router;
    const dispatch::JobKernel& job;
    const ingest::RunIngest& ingest;
    std::string owner;     // this manager
    uint64_t life = 0;     // of the ingest
    Duration pause;        // between two answers to one watcher
    std::size_t most = 0;  // maximum of watchers; others are asked to come back
  };
  // All parts must outlive it.
  explicit Watchers(Parts parts) : parts_(std::move(parts)) {}

  void watch(link::Connection& connection, wire::RequestId id, const dispatch::Watch& message);
  void watch(link::Connection& connection, wire::RequestId id, const dispatch::WatchLive& message);
  void forget(const link::Connection& connection);
  // News: watchers get it together with more of it after the pause, or now.
  void changed() {
    if (due_ == Instant::never()) due_ = parts_.runtime.now() + parts_.pause;
  }
  void changed_now() { due_ = parts_.runtime.now(); }
  // REQUIRES a running assignment of the job. True, once until answer(): some watchers wait for counters.
  bool heard(Instant collected, uint64_t number, const dispatch::LiveMessage::Assignment& told);
  LiveBoard& live() { return live_; }

  Instant next_deadline() const;
  void answer(Instant now);
  // All are sent to another manager.
  void send_away();

  // In the queue, from 1, and the reason of the wait; 0: the job does not wait.
  void set_position(uint32_t position, const std::string& why);
  // The job as clients see it: a waiting one shows the reason.
  dispatch::JobRecord shown_record() const;

 private:
  template <class Question>
  struct Waiting {
    link::Connection* connection;
    wire::RequestId id;
    Question question;
    Instant until;
    Instant live_at = Instant::never();  // from then on changed counters are news
    uint64_t live_version = 0;           // of the counters, when it asked
  };
  using Watcher = Waiting<dispatch::Watch>;
  using LiveWatcher = Waiting<dispatch::WatchLive>;

  bool has_news(const dispatch::Watch& question) const;
  bool has_news(const dispatch::WatchLive& question) const;
  bool has_counters(const Watcher& one) const { return one.live_version != live_.version(); }
  dispatch::Watched view(Instant now, const dispatch::Watch& question) const;
  dispatch::LiveNews view(Instant now, const dispatch::WatchLive& question) const;
  // It waits, unless too many do.
  template <class Question>
  void keep(std::list<Waiting<Question>>& waiting, Waiting<Question> one);
  template <class Question, class Due>
  void answer(std::list<Waiting<Question>>& waiting, Instant now, Due due);
  void respond(link::Connection& connection, wire::RequestId id, const dispatch::Response& response) const;

  Parts parts_;
  LiveBoard live_;
  std::list<Watcher> watchers_;
  std::list<LiveWatcher> live_watchers_;
  Instant due_ = Instant::never();
  bool counters_told_ = false;  // heard() has returned true since the last answer()
  uint32_t position_ = 0;
  std::string waits_for_;
};

}  // namespace bellwether::node
