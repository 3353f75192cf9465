// A worker of a cluster: the driver of its desk (jobs/dispatch/worker_desk.h), with processes, connections and time. It
// answers managers, reports to them, runs assignments, and delivers their seconds to the owners of their jobs. One
// thread, that of its runtime.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/health/worker_state.h"
#include "cluster/net/vital_signs.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/runtime/event.h"
#include "core/runtime/kernel_driver.h"
#include "core/runtime/scope.h"
#include "core/signature/keys.h"
#include "jobs/dispatch/worker_desk.h"
#include "jobs/share/share_process.h"
#include "jobs/worker/worker_rounds.h"
#include "jobs/worker/worker_share.h"
#include "load/codec/window_codec.h"

namespace bellwether::node {

// The facts that a worker needs of a plan whose assignments run in other processes.
struct PlanFacts {
  account::Shape shape;
  std::vector<Duration> graceful_stops;  // one for each workflow
};

// From the bytes of a bundle (jobs/dispatch/codec/bundle_codec.h). An error names their fault.
Result<PlanFacts> facts_of(std::string_view bundle);

struct WorkerSettings {
  std::vector<int> cpus;                                  // that this process may use; not empty
  uint32_t cores = 0;                                     // how many of them serve assignments; 0: all
  bool pin = true;                                        // each part stays on the processor of its core
  std::size_t stream_bytes_most = std::size_t{64} << 20;  // kept of one assignment while no owner takes it
  Duration hand_over = Duration::seconds(10);             // time to hand over when it leaves, before it stops the rest
  // A worker without an answered report for this time counts as unknown.
  Duration unknown_after = Duration::seconds(10);
  std::vector<signature::PublicKey> trusted = {};  // keys that may sign compiled programs; empty: none
};

class WorkerService final : public cluster::Service {
 public:
  // For the log.
  using Note = Callback<void(bool warning, const std::string& text)>;

  // All references must outlive it. It serves until run() ends, and reports during run().
  WorkerService(runtime::Runtime& runtime, cluster::PeerLinks& links, cluster::Switchboard& switchboard,
                Managers managers, ShareFactory& factory, WorkerSettings settings, Note note);
  ~WorkerService() override;
  WorkerService(const WorkerService&) = delete;
  WorkerService& operator=(const WorkerService&) = delete;

  // Until cancelled; then all its processes are gone, and undelivered data is lost: call drain() first.
  runtime::task<void> run(runtime::Cancellation* cancel);
  // Accepts no new work, and waits until everything is delivered. kTimeout at the deadline, kCancelled.
  runtime::task<Status> drain(Instant deadline, runtime::Cancellation* cancel);
  // The same, and other workers take over what runs, or it is stopped for them to continue.
  runtime::task<Status> leave(Instant deadline, runtime::Cancellation* cancel);

  // About once a second. `health_score`: of the node, 0 to 8.
  void sample(const cluster::VitalSigns& signs, int health_score);

  health::WorkerState state() const { return states_.state(); }
  std::string_view state_reason() const { return states_.reason(); }
  uint64_t life() const { return life_; }
  const dispatch::WorkerDesk& desk() const { return desk_; }

  void on_request(link::Connection& connection, const wire::Inbound& request) override;
  void on_closed(link::Connection& connection) override;

  // --- for its assignments, which never call it within their own functions, and for its rounds
  void tell(dispatch::DeskEvent event);
  // The managers to send to: the known owner of the job comes first.
  std::vector<cluster::PeerAddress> ways(const std::string& job) const;
  // Whether this manager may answer for the owner: it is the known one, or no live one is known.
  bool may_own(const std::string& job, const std::string& manager) const;
  // Counters for screens have changed; `last`: the assignment has ended.
  void on_counters(bool last) {
    if (last) {
      live_.at_once();
    } else {
      live_.changed();
    }
  }
  dispatch::WorkerReport report();
  // This manager has received a report.
  void on_report_noted(const std::string& manager);
  void note(bool warning, const std::string& text) { note_(warning, text); }

 private:
  using Loop = runtime::KernelDriver<WorkerService, dispatch::WorkerDesk, dispatch::DeskEvent, dispatch::DeskEffects,
                                     runtime::KernelClock::kSteady>;
  friend Loop;
  static constexpr std::size_t kFactsMost = 16;

  struct Waiting {
    link::Connection* connection;
    wire::RequestId id;
  };

  std::vector<LiveRound::Letter> live() const;
  void carry_out(dispatch::desk_effect::Answer& effect);
  void carry_out(dispatch::desk_effect::Start& effect);
  void carry_out(const dispatch::desk_effect::Begin& effect);
  void carry_out(const dispatch::desk_effect::HandOver& effect);
  void carry_out(const dispatch::desk_effect::Scale& effect);
  void carry_out(const dispatch::desk_effect::Stop& effect);
  void carry_out(const dispatch::desk_effect::Kill& effect);
  void carry_out(const dispatch::desk_effect::AskForTime& effect);
  void carry_out(const dispatch::desk_effect::Warn& effect);
  void carry_out(const dispatch::desk_effect::TellEnd& effect);
  void carry_out(const dispatch::desk_effect::Resume& effect);
  void carry_out(const dispatch::desk_effect::Discard& effect);
  void carry_out(const dispatch::desk_effect::Follow& effect);
  void carry_out(const dispatch::desk_effect::Forget& effect);
  void carry_out(const dispatch::desk_effect::Report& effect);
  void carry_out(const dispatch::desk_effect::Idle& effect);
  void carry_out(const dispatch::desk_effect::Note& effect);
  Result<ChildOrder> order_for(const dispatch::desk_effect::Start& effect, const PlanFacts& facts) const;
  Result<PlanFacts> facts(const std::string& hash, const std::string& bundle);
  WorkerShare* find(const dispatch::ShareKey& key) const;
  void settled() { settled_.changed(); }
  void state_changed();
  bool has_delivered() const;
  runtime::task<Status> delivered(Instant deadline, runtime::Cancellation* cancel);

  runtime::Runtime& runtime_;
  cluster::PeerLinks& links_;
  cluster::Switchboard& switchboard_;
  Managers managers_;
  ShareFactory& factory_;
  WorkerSettings settings_;
  Note note_;
  uint64_t life_;
  dispatch::WorkerDesk desk_;
  health::WorkerStates states_;
  std::pair<health::WorkerState, std::string> told_state_;
  Instant noted_;  // of a report, by any manager
  Loop loop_{runtime_, desk_, *this};
  runtime::Condition settled_;  // after each event
  bool idle_ = false;
  uint64_t ticket_ = 0;
  std::map<uint64_t, Waiting> waiting_;  // by ticket
  std::map<std::string, PlanFacts> facts_;
  std::map<dispatch::ShareKey, std::shared_ptr<WorkerShare>> shares_;
  ReportRound reports_;
  LiveRound live_;
  runtime::Scope scope_;  // last: its coroutines use everything above
};

}  // namespace bellwether::node
