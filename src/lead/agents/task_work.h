// Runs the tasks of a queue during a term of office. It takes the queue over under the term's epoch. Then it runs the
// command for one task after the other, each under a guardian (lead/run/guardian.h) that ends it before another process
// can lead. It settles each task with the queue, whose fence decides which result counts. One thread, that of its
// runtime.
//
// The command sees BELLWETHER_TASK (the name), BELLWETHER_TASK_NUMBER, BELLWETHER_TASK_ATTEMPT and
// BELLWETHER_TASK_PAYLOAD beside BELLWETHER_KEY, BELLWETHER_HOLDER and BELLWETHER_EPOCH. Exit code 0 is success.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/journal/journal.h"
#include "core/runtime/cancellation.h"
#include "core/runtime/runtime.h"
#include "core/runtime/scope.h"
#include "election/store/lease_store.h"
#include "lead/agents/fleet_files.h"
#include "lead/run/guarded_command.h"

namespace bellwether::lead {

struct TaskWorkSettings {
  std::string agent;   // our name, in the queue and in the lease
  std::string leader;  // the same, made unique among all processes that may lead
  std::string key;     // that we lead
  std::vector<std::string> command;
  std::size_t parallel = 1;  // tasks at a time
  uint32_t tries_most = 5;   // then a task is put aside as failed
  Duration retry_after;      // from the end of an attempt that failed to the next
  Duration poll;             // between looks at a queue that has nothing to do
  bool until_done = false;   // be over when nothing is left to do
};

class TaskWork {
 public:
  // Why serve() has ended by itself, and need not be called again.
  struct Over {
    std::optional<Error> trouble;  // the command cannot be started at all; else:
    std::size_t failed = 0;        // with until_done: no task waits or runs, and this many have failed
  };

  // All must outlive it. `key`: a claim on it that is a descriptor is held until nothing of the work is left.
  TaskWork(runtime::Runtime& runtime, QueueFile& queue, store::StoreKey& key, TaskWorkSettings settings,
           Journal& journal)
      : runtime_(runtime),
        queue_(queue),
        key_(key),
        settings_(std::move(settings)),
        journal_(journal),
        commands_(runtime) {}
  TaskWork(const TaskWork&) = delete;
  TaskWork& operator=(const TaskWork&) = delete;

  // Until stop() or lose(), until it is over, or until the queue turns out to be another leader's. Nothing of the work
  // is left then.
  runtime::task<void> serve(election::Epoch epoch);
  // The term served last ended because the queue is another leader's.
  bool was_refused() const { return refused_; }
  const std::optional<Over>& over() const { return over_; }
  // The times of the term (boot clock), before serve() and whenever they move.
  void set_deadlines(Instant term_ends, Instant kill_at) { commands_.set_deadlines(term_ends, kill_at); }
  // In good order, while the term goes on: running tasks get a stop signal, and go back to the queue.
  void stop();
  void kill() { commands_.kill(); }
  // The term is over: running tasks get a stop signal, and the queue stays as it is.
  void lose();

 private:
  enum class Next : unsigned char { kAgain, kIdle, kOver };

  runtime::task<bool> take_over();
  runtime::task<void> hand_out(runtime::Scope& tasks);
  runtime::task<Next> hand_out_one(runtime::Scope& tasks);
  runtime::task<bool> is_due();
  runtime::task<void> put_aside();
  runtime::task<void> have_in_hands(Grant grant);
  runtime::task<void> run_one(Grant grant);
  template <class Act>
  auto tell_queue(Grant grant, Act act) -> decltype(act(grant));
  runtime::task<void> settle(Grant grant, CommandEnd end);
  runtime::task<void> succeed(Grant grant, Duration took);
  runtime::task<void> give_back(Grant grant);
  CommandOptions options_for(const Grant& grant) const;
  HandOutRules rules();
  // `task`: none when its number is 0. `warning`: a fault.
  void tell(std::string_view event, const std::string& text, const Grant& task, bool warning = false);
  void trouble(const std::string& text, const Grant& task);
  // The queue said no, or nothing. True when another try may help.
  bool refused(const Error& error, const Grant& task);
  bool not_in_office(const Error& error);
  std::string to_retry(uint64_t number) const;
  runtime::task<void> pause(Duration span);
  runtime::task<void> nap();

  runtime::Runtime& runtime_;
  QueueFile& queue_;
  store::StoreKey& key_;
  TaskWorkSettings settings_;
  Journal& journal_;

  election::Epoch epoch_;
  bool stopping_ = false;
  bool lost_ = false;
  bool refused_ = false;
  std::optional<Over> over_;
  TermCommands commands_;
  std::set<uint64_t> in_hands_;          // tasks handed out to us, until the queue knows how they ended
  bool freed_ = false;                   // a hand, since the last look at the queue
  std::map<uint64_t, Instant> resting_;  // failed tasks, and until when they rest (monotonic clock)
  std::set<std::string> troubles_;       // told already in this term
  runtime::Cancellation* pauses_ = nullptr;
  runtime::Cancellation* nap_ = nullptr;  // ends the wait for the next look
};

}  // namespace bellwether::lead
