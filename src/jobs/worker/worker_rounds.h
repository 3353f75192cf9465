// The periodic messages of a worker: reports of its state to all managers, live counters of assignments to the owners
// of jobs. One thread, that of its runtime.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/net/peer_links.h"
#include "core/base/callback.h"
#include "core/base/periodic.h"
#include "core/resilience/backpressure.h"
#include "core/runtime/scope.h"
#include "jobs/dispatch/messages.h"

namespace bellwether::node {

class WorkerService;

// The managers of a worker's cluster that are alive, as far as is known, by name.
using Managers = Callback<std::vector<cluster::PeerAddress>()>;
// The address of another worker.
using Workers = cluster::Addresses;

// Sends the worker's state to every manager, about once a second, and at once after a change. A manager that answers
// after a silence gets another report at once.
class ReportRound {
 public:
  // All references must outlive it.
  ReportRound(runtime::Runtime& runtime, cluster::PeerLinks& links, Managers managers, WorkerService& worker);
  ReportRound(const ReportRound&) = delete;
  ReportRound& operator=(const ReportRound&) = delete;

  // Until cancelled.
  runtime::task<void> run(runtime::Cancellation* cancel);
  void changed();
  // The load of this manager's buffer, as it last reported; an unknown manager has reported nothing.
  resilience::Pacer pacer(const std::string& manager) const;
  // Of a manager that gets reports, also if the members take it for dead.
  std::optional<cluster::PeerAddress> address_of(const std::string& manager) const;

 private:
  // A manager gets no new report before it has answered the last one, nor before the connection has room for it.
  struct Line {
    cluster::PeerAddress address;
    bool under_way = false;
    Instant answered;
    uint64_t heard = 0;  // the number of the report that was answered last
    resilience::Pacer pacer;
    std::string complaint;  // the last one
  };
  void tell_all();
  // `asked`: by the boot clock, before the report was made.
  void send(const std::vector<cluster::PeerAddress>& managers, dispatch::WorkerReport report, Instant asked);
  static runtime::task<void> tell(ReportRound* self, cluster::PeerAddress manager, std::string message, uint64_t number,
                                  Instant asked);
  void heard(const std::string& manager, uint64_t number, Instant asked, const Result<std::string>& answer);

  runtime::Runtime& runtime_;
  cluster::PeerLinks& links_;
  Managers managers_;
  WorkerService& worker_;
  Periodic rounds_;
  std::map<std::string, Line> lines_;
  uint64_t number_ = 0;  // of the last report
  bool changed_ = false;
  runtime::Cancellation* nap_ = nullptr;
  runtime::Scope* scope_ = nullptr;  // while it runs
};

// Sends the counters of assignments to the owners of their jobs, up to twenty times a second, for screens. They give
// way to all other messages: on a busy connection they are dropped, because newer ones follow.
class LiveRound {
 public:
  static constexpr Duration kApart = Duration::millis(50);

  struct JobMessage {
    cluster::PeerAddress to;
    dispatch::LiveMessage message;
    Duration apart;  // from the last message to this manager, at least
  };
  // The messages that are due, one for each known owner.
  using JobMessages = Callback<std::vector<JobMessage>()>;
  // All must outlive it.
  LiveRound(runtime::Runtime& runtime, cluster::PeerLinks& links, JobMessages messages)
      : runtime_(runtime), links_(links), messages_(messages) {}
  LiveRound(const LiveRound&) = delete;
  LiveRound& operator=(const LiveRound&) = delete;

  // Until cancelled.
  runtime::task<void> run(runtime::Cancellation* cancel);
  void changed();
  // An assignment has ended: send its counters now, unless the manager wants fewer messages.
  void at_once();

 private:
  void say(bool at_once);
  bool is_clear(const std::string& manager) const;

  runtime::Runtime& runtime_;
  cluster::PeerLinks& links_;
  JobMessages messages_;
  bool changed_ = false;
  bool at_once_ = false;
  uint64_t number_ = 0;
  std::map<std::string, Instant> said_;     // last messages to managers
  runtime::Cancellation* nap_ = nullptr;    // until something changes
  runtime::Cancellation* pause_ = nullptr;  // after a message
};

}  // namespace bellwether::node
