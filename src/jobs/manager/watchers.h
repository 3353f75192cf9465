// Clients that watch a job. Each asks a question, which is answered at once or when there is news: of the job and its
// totals, or of the windows of the live channel. One thread, that of its runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>

#include "cluster/net/switchboard.h"
#include "core/base/time.h"
#include "core/runtime/runtime.h"
#include "jobs/account/run_account.h"
#include "jobs/dispatch/job_desk.h"
#include "jobs/dispatch/letters.h"
#include "load/metrics/live_windows.h"

namespace bellwether::node {

// What the shares of one job are doing at the moment, for screens: of each share what its worker has told last, and
// what all of them did in each tenth of a second (load/metrics/live_windows.h). Nothing is computed from it, for it may
// be late, and lost; what counts is the account (jobs/account/run_account.h). Another owner begins with nothing: shares
// that had ended before are missing from its sums, and its windows begin anew.
//
// It reads no clock. Nothing is allocated for a letter of a share that was heard before. One thread.
class LiveBoard {
 public:
  // Second zero of the run, from which windows are counted. Has no effect after the first share.
  void set_zero(Instant zero);
  // Its counters begin at zero. A share that was not announced here began earlier.
  void begins(Instant now, dispatch::ShareId share);
  // Of a letter with this number, collected then (on this clock). Numbers grow within a life of a worker, and a share
  // stays with one life of one worker: so the highest number of each share is the newest. False: something newer was
  // known, and only windows may have been amended, or the share has ended. Not bounded: REQUIRES a share that the job
  // has.
  bool heard(Instant now, Instant collected, uint64_t number, const dispatch::LiveLetter::Share& told);
  // What it has done stays in the sums; it has no virtual users any more.
  void ended(Instant now, dispatch::ShareId share);
  // The job is over: its last windows are closed, and what comes from now on changes nothing.
  void finish(Instant now);

  dispatch::LiveSum sum(Instant now) const;
  // Another one after each change of the sums.
  uint64_t version() const { return version_; }

  // Closes the windows that are over.
  void advance(Instant now);
  Instant next_close() const { return windows_ ? windows_->next_close() : Instant::never(); }
  // Grows with each window that is closed or amended; zero before the first.
  uint64_t change() const { return windows_ ? windows_->change() : 0; }
  // All but who tells it: the windows after `change`, and what was told last.
  dispatch::LiveNews news(Instant now, uint64_t change) const;

 private:
  struct Told {
    std::optional<uint64_t> number;
    Instant at;
    dispatch::LiveLetter::Share what;
    bool over = false;
    metrics::LiveWindows::Source source = 0;
  };
  metrics::LiveWindows& windows(Instant now);
  void add(const dispatch::LiveLetter::Share& one);
  void take_off(const dispatch::LiveLetter::Share& one);

  std::map<dispatch::ShareId, Told> told_;
  dispatch::LiveSum sum_;  // of all; without the age
  uint64_t version_ = 0;
  std::optional<Instant> zero_;
  std::optional<metrics::LiveWindows> windows_;  // once there is a share
  bool finished_ = false;
};

class Watchers {
 public:
  struct Parts {
    runtime::Runtime& runtime;
    cluster::Switchboard& switchboard;
    const dispatch::JobDesk& job;
    const account::RunAccount& account;
    std::string owner;     // this manager
    uint64_t life = 0;     // of the account
    Duration pause;        // between two answers to one watcher
    std::size_t most = 0;  // of them; others are told to come back
  };
  // All parts must outlive it.
  explicit Watchers(Parts parts) : parts_(std::move(parts)) {}

  void watch(link::Connection& connection, wire::RequestId id, const dispatch::Watch& letter);
  void watch(link::Connection& connection, wire::RequestId id, const dispatch::WatchLive& letter);
  void forget(const link::Connection& connection);
  // There is news, which they get together with what comes within the pause, or now.
  void changed();
  void changed_now() { due_ = parts_.runtime.now(); }
  // REQUIRES a share of the job that runs. True: there are watchers who wait for counters, which is said once until
  // answer().
  bool heard(Instant collected, uint64_t number, const dispatch::LiveLetter::Share& told);
  LiveBoard& live() { return live_; }

  Instant next_deadline() const;
  void answer(Instant now);
  // All are sent to another manager.
  void send_away();

  // In the queue, from 1, and why the job waits; 0: it does not.
  void set_position(uint32_t position, const std::string& why);
  // The job as clients see it: one that waits says for what.
  dispatch::JobSheet shown_sheet() const;

 private:
  template <class Question>
  struct Waiting {
    link::Connection* connection;
    wire::RequestId id;
    Question question;
    Instant until;
    Instant live_at = Instant::never();  // from then on counters that have changed are news
    uint64_t live_version = 0;           // of the counters, when it asked
  };
  using Watcher = Waiting<dispatch::Watch>;
  using LiveWatcher = Waiting<dispatch::WatchLive>;

  bool has_news(const dispatch::Watch& question) const;
  bool has_news(const dispatch::WatchLive& question) const;
  bool has_counters(const Watcher& one) const { return one.live_version != live_.version(); }
  dispatch::Watched view(Instant now, const dispatch::Watch& question) const;
  dispatch::LiveNews view(Instant now, const dispatch::WatchLive& question) const;
  // It waits, unless there are too many.
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
  bool counters_told_ = false;  // heard() has said so since the last answer()
  uint32_t position_ = 0;
  std::string waits_for_;
};

}  // namespace bellwether::node
