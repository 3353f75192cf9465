// What a worker says of itself in rounds: to all managers how it is, to the owners of jobs what their shares do. One
// thread, that of its runtime.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cluster/net/peer_links.h"
#include "core/base/callback.h"
#include "core/base/periodic.h"
#include "core/resilience/backpressure.h"
#include "core/runtime/scope.h"
#include "jobs/dispatch/letters.h"

namespace bellwether::node {

class WorkerService;

// The managers of a worker's cluster: those that are alive, as far as is known, by their names.
using Managers = Callback<std::vector<cluster::PeerAddress>()>;

// Tells every manager about once a second how this worker is, and at once when that has changed.
class ReportRound {
 public:
  // Everything that is referred to outlives it.
  ReportRound(runtime::Runtime& runtime, cluster::PeerLinks& links, Managers managers, WorkerService& worker);
  ReportRound(const ReportRound&) = delete;
  ReportRound& operator=(const ReportRound&) = delete;

  // Until cancelled.
  runtime::task<void> run(runtime::Cancellation* cancel);
  void changed();
  // What this manager said of its buffer; a manager that is not known has said nothing.
  resilience::Pacer pacer(const std::string& manager) const;

 private:
  // Who is told nothing new before the last report was answered, nor before there is room for it.
  struct Line {
    bool under_way = false;
    Instant answered;
    resilience::Pacer pacer;
    std::string complaint;  // the last one
  };
  void tell_all();
  static runtime::task<void> tell(ReportRound* self, cluster::PeerAddress manager, std::string letter);
  void heard(const std::string& manager, const Result<std::string>& answer);

  runtime::Runtime& runtime_;
  cluster::PeerLinks& links_;
  Managers managers_;
  WorkerService& worker_;
  Periodic rounds_;
  std::map<std::string, Line> lines_;
  bool changed_ = false;
  runtime::Cancellation* nap_ = nullptr;
  runtime::Scope* scope_ = nullptr;  // while it runs
};

// Tells the owners of jobs what their shares are doing at the moment, up to twenty times a second, for screens. It is
// never in the way: what finds the way taken is not said, because something newer follows.
class LiveRound {
 public:
  static constexpr Duration kApart = Duration::millis(50);

  struct Letter {
    cluster::PeerAddress to;
    dispatch::LiveLetter letter;
    Duration apart;  // from the last one to this manager, at least
  };
  // What is to be said now, to each owner that is known.
  using Letters = Callback<std::vector<Letter>()>;
  // All must outlive it.
  LiveRound(runtime::Runtime& runtime, cluster::PeerLinks& links, Letters letters)
      : runtime_(runtime), links_(links), letters_(letters) {}
  LiveRound(const LiveRound&) = delete;
  LiveRound& operator=(const LiveRound&) = delete;

  // Until cancelled.
  runtime::task<void> run(runtime::Cancellation* cancel);
  void changed();
  // Something has ended: what there is is said now, unless the manager wants to hear less.
  void at_once();

 private:
  void say(bool at_once);
  bool is_clear(const std::string& manager) const;

  runtime::Runtime& runtime_;
  cluster::PeerLinks& links_;
  Letters letters_;
  bool changed_ = false;
  bool at_once_ = false;
  uint64_t number_ = 0;
  std::map<std::string, Instant> said_;     // to managers, last
  runtime::Cancellation* nap_ = nullptr;    // until something changes
  runtime::Cancellation* pause_ = nullptr;  // after something was said
};

}  // namespace bellwether::node
