// Clients that watch a job. Each asks a question, which is answered at once or when there is news: of the job and its
// totals, or of the windows of the live channel. One thread, that of its runtime.
#pragma once

#include <cstddef>
#include <list>
#include <string>

#include "cluster/net/switchboard.h"
#include "core/runtime/runtime.h"
#include "jobs/account/run_account.h"
#include "jobs/dispatch/job.h"
#include "jobs/dispatch/letters.h"
#include "jobs/manager/live_board.h"

namespace bellwether::node {

class Watchers {
 public:
  struct Parts {
    runtime::Runtime& runtime;
    cluster::Switchboard& switchboard;
    const dispatch::Job& job;
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
