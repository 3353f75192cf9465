// The work of a manager: it accepts jobs, assigns them to workers, takes over those of dead managers, and answers
// workers and clients. Any manager answers a client; for a job of another manager it forwards the request.
//
//   manager_service.cc   its life, workers, and sharing out cores
//   manager_clients.cc   requests of clients
//
// One thread, that of its runtime.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "cluster/health/datacenter.h"
#include "cluster/health/signals.h"
#include "cluster/net/message_router.h"
#include "cluster/replication/job_store.h"
#include "core/base/callback.h"
#include "core/base/time.h"
#include "core/resilience/backpressure.h"
#include "core/resilience/breaker.h"
#include "jobs/dispatch/assignment.h"
#include "jobs/manager/job_coordinator.h"
#include "jobs/manager/known_jobs.h"
#include "jobs/manager/manager_files.h"
#include "jobs/manager/worker_registry.h"
#include "load/metrics/live_windows.h"

namespace bellwether::node {

// Whether this manager does all that it could: the assignments that it has dispatched, against those that have a place
// on a worker and wait for this manager alone, or for the quorum that must first know of them. A kernel; one thread.
class OwnProgress {
 public:
  struct Seen {
    bool has_quorum = false;
    bool accepting_jobs = false;
    uint32_t workers = 0;
    uint32_t jobs = 0;                                                 // owned by it
    uint64_t dispatched = 0;                                           // assignments in total; grows
    std::set<std::pair<std::string, dispatch::AssignmentId>> waiting;  // job and assignment, placed and not dispatched
  };

  explicit OwnProgress(Instant now) : health_(health::SignalSettings(), now), judged_(now) {}

  // Any number of calls; it is judged once a second.
  void look(Instant now, Seen seen);
  health::Progress progress(Instant now) const { return health_.progress(now); }

 private:
  health::NodeHealth health_;
  Instant judged_;
  Seen before_;
};

struct ManagerSettings {
  JobCoordinatorSettings coordinator;
  health::SignalSettings workers = kWorkerSignals;
  std::size_t queue_most = 100;                              // jobs that wait for cores
  std::size_t jobs_most = 1'000;                             // owned by one manager
  ingest::WaitingRoom waiting_most{std::size_t{128} << 20};  // as JobCoordinatorSettings, of all its jobs
  Duration claim_stagger = Duration::millis(400);            // between two managers that want the same job
  Duration tracking = Duration::minutes(5);                  // a completed job is answered from memory for this time
  Duration tracking_failed = Duration::hours(1);             // one that ended otherwise
  Duration result_retention = Duration::hours(24 * 7);       // either, from the disks
};

class ManagerService final : public cluster::Service {
 public:
  struct Parts {
    runtime::Runtime& runtime;
    cluster::PeerLinks& links;
    cluster::MessageRouter& router;
    ClusterView& cluster_view;
    jobs::JobStore& store;
    const jobs::JobView& view;  // of all registers, as this node sees them
    blobs::Blobs& blobs;
    Callback<void(const std::string& job, const std::string& event, const std::string& text, bool warning)> job_says;
    FileStore& files;
  };

  // All parts must outlive it.
  ManagerService(Parts parts, ManagerSettings settings);
  ~ManagerService() override;
  ManagerService(const ManagerService&) = delete;
  ManagerService& operator=(const ManagerService&) = delete;

  // It will end soon: it gives no more cores.
  void leave() { states_.leave(); }
  const health::ManagerStates& states() const { return states_; }

  // Serves until cancelled; then releases its jobs, so that other managers continue them at once.
  runtime::task<void> run(runtime::Cancellation* cancel);

  // News of membership about a worker: that it is dead is no proof of it.
  void on_process_ended(const std::string& name, const std::string& why);
  void on_worker_gone(const std::string& name, const std::string& why);
  void on_worker_back(const std::string& name) {
    registry_.back(name);
    on_cores_changed();
  }

  std::size_t jobs() const { return coordinators_.size(); }
  std::size_t workers() const { return registry_.size(); }
  // Whether it dispatches all that it could.
  health::Progress progress() const { return progress_.progress(parts_.runtime.now()); }
  // The reports of all jobs that wait to be counted or copied, and the resulting load of this manager.
  std::size_t waiting_bytes() const;
  resilience::Backpressure pressure() const {
    std::size_t streams = 0;
    for (const auto& [id, coordinator] : coordinators_) streams += coordinator->streams();
    return resilience::backpressure_of(waiting_bytes(), settings_.waiting_most.bytes(streams));
  }
  // The breaker before questions to a quorum about new jobs. Open: quorums failed repeatedly, and none is asked.
  resilience::BreakerState quorum_breaker() const { return quorum_.state(parts_.runtime.now()); }
  // Zero unless it is open.
  Duration quorum_again() const { return std::max(quorum_.open_until() - parts_.runtime.now(), Duration::zero()); }

  // --- for its coordinators
  void on_says(const JobCoordinator& job, const std::string& event, const std::string& text, bool warning);
  // Cores are free, or wanted.
  void on_cores_changed();
  // This manager no longer owns the job.
  void on_lost(JobCoordinator& job) { drop(job.id()); }
  ManagerFiles& files() { return files_; }

 private:
  struct Caller {
    link::Connection* connection;
    wire::RequestId id;
    std::string name;
    wire::Role role;
  };
  using Ticket = uint64_t;

  void on_request(link::Connection& connection, const wire::Inbound& request) override;
  void on_message(link::Connection& connection, const wire::Inbound& message) override;
  void on_closed(link::Connection& connection) override;

  // --- manager_service.cc
  JobCoordinator::Parts coordinator_parts() {
    return {parts_.runtime, parts_.links, parts_.router, parts_.cluster_view, parts_.store, parts_.blobs, *this};
  }
  void not_busy(const std::string& job) {
    busy_.erase(job);
    jobs_changed_.changed();
  }
  Ticket keep(const Caller& caller);
  void answer(Ticket ticket, const dispatch::Response& response);
  dispatch::Response of_worker(const Caller& caller, const dispatch::JobMessage& message);
  dispatch::Response report(const std::string& worker, const dispatch::WorkerReport& report);
  static runtime::task<void> retire(ManagerService* self, cluster::PeerAddress worker, dispatch::RetireMessage message);
  void look_at_progress(const std::string& worker);
  dispatch::Refusal not_mine(const std::string& job);
  JobCoordinator* owned(const std::string& job);
  static runtime::task<void> share_out(ManagerService* self);
  void share_out_now();
  void look_around();
  void look_at_itself();
  static runtime::task<void> end_coordinator(ManagerService* self, std::shared_ptr<JobCoordinator> coordinator);
  void drop(const std::string& job);
  void sweep();

  static runtime::task<void> look_for_jobs(ManagerService* self);
  static runtime::task<void> claim(ManagerService* self, std::string job);
  static runtime::task<void> forget(ManagerService* self, std::string job);

  // --- manager_clients.cc
  void handle_client_message(const Caller& caller, dispatch::JobMessage message);
  static runtime::task<void> submit(ManagerService* self, Ticket ticket, dispatch::Submit message);
  // A cancellation, or a number of users, of a job that this manager owns.
  static runtime::task<void> change(ManagerService* self, Ticket ticket, std::string job, dispatch::JobMessage message);
  static runtime::task<void> forward(ManagerService* self, Ticket ticket, std::string to, dispatch::JobMessage message);
  static runtime::task<void> ask_around(ManagerService* self, Ticket ticket, std::string job,
                                        dispatch::JobMessage message);
  static runtime::task<void> show_finished(ManagerService* self, Ticket ticket, dispatch::Watch message);
  static runtime::task<void> show_last_windows(ManagerService* self, Ticket ticket, std::string owner,
                                               dispatch::WatchLive message);
  // About data files: true, and it is answered.
  bool handle_file_message(const Caller& caller, dispatch::JobMessage& message);
  static runtime::task<void> answer_later(ManagerService* self, Ticket ticket, runtime::task<dispatch::Response> made);
  static runtime::task<void> show_bundle(ManagerService* self, Ticket ticket, dispatch::FetchBundle message);
  dispatch::JobList list();
  uint32_t queued() const;

  Parts parts_;
  ManagerSettings settings_;
  ManagerFiles files_{parts_.runtime, parts_.links, parts_.cluster_view, parts_.files};
  Instant swept_files_;
  KnownJobs known_;
  WorkerRegistry registry_;
  std::set<std::string> said_stuck_;  // workers
  health::ManagerStates states_;
  std::size_t awaited_ = 0;  // workers that the last look has seen
  OwnProgress progress_;
  uint64_t dispatched_ = 0;  // assignments of jobs that are not here any more
  resilience::Breaker quorum_{resilience::BreakerSettings()};
  std::map<std::string, std::shared_ptr<JobCoordinator>> coordinators_;
  std::set<std::shared_ptr<JobCoordinator>> claiming_;
  std::set<std::string> busy_;       // jobs that are being created, claimed, ended or deleted
  runtime::Condition jobs_changed_;  // coordinators_ or busy_
  std::map<Ticket, Caller> callers_;
  std::map<const link::Connection*, metrics::ClockOffset> clocks_;  // of workers, from their live counters
  Ticket ticket_ = 0;
  bool sharing_out_ = false;
  bool closing_ = false;
  runtime::Scope scope_;  // last: its coroutines use everything above
};

}  // namespace bellwether::node
