// A worker of a cluster: the driver of its kernel (jobs/dispatch/worker_kernel.h), with processes, connections and
// time. It answers managers, reports to them, runs assignments, and delivers their seconds to the owners of their jobs.
// One thread, that of its runtime.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/health/signals.h"
#include "cluster/net/resource_monitor.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/runtime/event.h"
#include "core/runtime/kernel_driver.h"
#include "core/runtime/scope.h"
#include "core/signature/keys.h"
#include "jobs/assignment/assignment_process.h"
#include "jobs/dispatch/worker_kernel.h"
#include "jobs/files/file_store.h"
#include "jobs/worker/worker_assignment.h"
#include "jobs/worker/worker_rounds.h"
#include "load/codec/window_codec.h"

namespace bellwether::node {

// The facts that a worker needs of a plan whose assignments run in other processes.
struct PlanFacts {
  ingest::Shape shape;
  std::vector<Duration> graceful_stops;  // one for each workflow
};

// From the bytes of a bundle (jobs/dispatch/codec/bundle_codec.h). An error names their fault.
Result<PlanFacts> facts_of(std::string_view bundle);

struct WorkerSettings {
  std::vector<int> cpus;                                  // that this process may use; not empty
  uint32_t cores = 0;                                     // how many of them serve assignments; 0: all
  bool pin = true;                                        // each part stays on the processor of its core
  std::size_t stream_bytes_most = std::size_t{64} << 20;  // kept of one assignment while no owner takes it
  std::size_t all_bytes_most = std::size_t{512} << 20;    // of all assignments: each has an equal part of it
  Duration hand_over = Duration::seconds(10);             // time to hand over when it leaves, before it stops the rest
  // A worker without an answered report for this time counts as unknown.
  Duration unknown_after = Duration::seconds(10);
  std::vector<signature::PublicKey> trusted = {};  // keys that may sign compiled programs; empty: none
  FileStore* files = nullptr;  // outlives the service; none: it runs no job with files beside its bundle
};

class WorkerService final : public cluster::Service {
 public:
  // For the log.
  using Note = Callback<void(bool warning, const std::string& text)>;

  // All references must outlive it. It serves until run() ends, and reports during run().
  WorkerService(runtime::Runtime& runtime, cluster::PeerLinks& links, cluster::MessageRouter& router, Managers managers,
                Workers workers, AssignmentFactory& factory, WorkerSettings settings, Note note);
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
  void sample(const cluster::ResourceUsage& signs, int health_score);

  health::WorkerState state() const { return states_.state(); }
  std::string_view state_reason() const { return states_.reason(); }
  uint64_t life() const { return life_; }
  const dispatch::WorkerKernel& kernel() const { return kernel_; }

  void on_request(link::Connection& connection, const wire::Inbound& request) override;
  void on_closed(link::Connection& connection) override;

  // --- for its assignments, which never call it within their own functions, and for its rounds
  void tell(dispatch::KernelEvent event);
  // The managers to send to: the known owner of the job comes first. If the members take it for dead, it comes last: it
  // may go on after a pause, but the others name a new owner if there is one.
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
  // This manager has received a report, made at `asked` of the boot clock.
  void on_report_noted(const std::string& manager, Instant asked, const dispatch::Noted& answer);
  void note(bool warning, const std::string& text) { note_(warning, text); }

 private:
  using Loop = runtime::KernelDriver<WorkerService, dispatch::WorkerKernel, dispatch::KernelEvent,
                                     dispatch::KernelEffects, runtime::KernelClock::kSteady>;
  friend Loop;
  static constexpr std::size_t kMaxFacts = 16;

  struct Waiting {
    link::Connection* connection;
    wire::RequestId id;
  };

  std::vector<LiveRound::JobMessage> live() const;
  void carry_out(dispatch::kernel_effect::Answer& effect);
  void carry_out(dispatch::kernel_effect::Start& effect);
  void carry_out(const dispatch::kernel_effect::Begin& effect);
  void carry_out(const dispatch::kernel_effect::HandOver& effect);
  void carry_out(const dispatch::kernel_effect::Scale& effect);
  void carry_out(const dispatch::kernel_effect::Stop& effect);
  void carry_out(const dispatch::kernel_effect::Kill& effect);
  void carry_out(const dispatch::kernel_effect::Permit& effect);
  void carry_out(const dispatch::kernel_effect::AskWitnesses& effect);
  void carry_out(const dispatch::kernel_effect::AskForTime& effect);
  void carry_out(const dispatch::kernel_effect::Warn& effect);
  void carry_out(const dispatch::kernel_effect::TellEnd& effect);
  void carry_out(const dispatch::kernel_effect::Resume& effect);
  void carry_out(const dispatch::kernel_effect::Discard& effect);
  void carry_out(const dispatch::kernel_effect::Follow& effect);
  void carry_out(const dispatch::kernel_effect::Forget& effect);
  void carry_out(const dispatch::kernel_effect::Report& effect);
  void carry_out(const dispatch::kernel_effect::Idle& effect);
  void carry_out(const dispatch::kernel_effect::Note& effect);
  // Fetches the files of an order. Nothing: all are here; else the answer to its offer.
  std::optional<dispatch::Response> fetch(const dispatch::AssignmentOrder& order);
  Result<ChildOrder> order_for(const dispatch::kernel_effect::Start& effect, const PlanFacts& facts) const;
  Result<PlanFacts> facts(const std::string& hash, const std::string& bundle);
  WorkerAssignment* find(const dispatch::AssignmentKey& key) const;
  static runtime::task<void> renew(WorkerService* self, cluster::PeerAddress witness, dispatch::RenewMessage message);
  Instant on_steady_clock(Instant boot);
  void settled() { settled_.changed(); }
  void state_changed();
  bool has_delivered() const;
  runtime::task<Status> delivered(Instant deadline, runtime::Cancellation* cancel);

  runtime::Runtime& runtime_;
  cluster::PeerLinks& links_;
  cluster::MessageRouter& router_;
  Managers managers_;
  Workers workers_;
  AssignmentFactory& factory_;
  WorkerSettings settings_;
  Note note_;
  uint64_t life_;
  dispatch::WorkerKernel kernel_;
  health::WorkerStates states_;
  std::pair<health::WorkerState, std::string> told_state_;
  Instant noted_;  // of a report, by any manager
  Loop loop_{runtime_, kernel_, *this};
  runtime::Condition settled_;  // after each event
  bool idle_ = false;
  uint64_t ticket_ = 0;
  std::map<uint64_t, Waiting> waiting_;  // by ticket
  // Requests to witnesses that are under way, by job and life: further ones would queue behind them.
  std::set<std::pair<std::string, uint64_t>> renewing_;
  std::map<std::string, PlanFacts> facts_;
  std::map<dispatch::AssignmentKey, std::shared_ptr<WorkerAssignment>> assignments_;
  std::optional<FileFetches> fetches_;
  ReportRound reports_;
  LiveRound live_;
  runtime::Scope scope_;  // last: its coroutines use everything above
};

}  // namespace bellwether::node
