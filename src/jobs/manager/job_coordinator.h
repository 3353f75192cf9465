// The coordinator of one job on its owner: drives the kernel (jobs/dispatch/job_kernel.h) with the register of the job,
// its ingest, the workers of its assignments and the clients that watch it.
//
//   job_coordinator.cc      its life: taken, written, copied, concluded, lost
//   coordinator_workers.cc  reports and measurements of workers, and orders of clients
//   job_orders.h            messages to workers
//
// One thread, that of its runtime.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "cluster/net/peer_links.h"
#include "cluster/replication/blobs.h"
#include "cluster/replication/job_store.h"
#include "core/runtime/event.h"
#include "core/runtime/scope.h"
#include "jobs/dispatch/job_kernel.h"
#include "jobs/dispatch/messages.h"
#include "jobs/ingest/run_ingest.h"
#include "jobs/manager/cluster_view.h"
#include "jobs/manager/job_orders.h"
#include "jobs/manager/watchers.h"

namespace bellwether::node {

inline constexpr const char* kBundleBlob = "bundle";
inline constexpr const char* kIngestBlob = "ingest";
inline constexpr const char* kContextBlob = "context";
inline constexpr const char* kRecordBlob = "record";  // blob of a record that exceeds its register
// The first word of a refusal of a new job that no quorum has confirmed.
inline constexpr std::string_view kQuorumUnavailable = "QuorumUnavailable";
inline constexpr std::string_view kQuorumTimeout = "QuorumTimeout";
inline constexpr std::string_view kQuorumCircuitOpen = "QuorumCircuitOpen";

struct JobCoordinatorSettings {
  dispatch::JobRules rules;
  Duration copy_every = Duration::seconds(2);    // of the ingest, while it changes
  Duration watch_pause = Duration::millis(50);   // between two answers to one watcher
  Duration submit_limit = Duration::seconds(5);  // for the quorum's answer on a new job; a client waits a little longer
  std::size_t watchers_most = 256;
  // Of reports that are in no copy yet: beyond a part of it workers are asked to report less often.
  ingest::WaitingRoom unsafe_most{std::size_t{32} << 20};
};

class ManagerService;

class JobCoordinator final : private jobs::JobHandle::Listener {
 public:
  struct Parts {
    runtime::Runtime& runtime;
    cluster::PeerLinks& links;
    cluster::MessageRouter& router;
    ClusterView& cluster_view;
    jobs::JobStore& store;
    blobs::Blobs& blobs;
    ManagerService& manager;  // must not destroy the coordinator from within a call
  };

  // All parts must outlive it.
  JobCoordinator(Parts parts, JobCoordinatorSettings settings, std::string id);
  ~JobCoordinator() override;
  JobCoordinator(const JobCoordinator&) = delete;
  JobCoordinator& operator=(const JobCoordinator&) = delete;

  // Starts a new job: takes its register, keeps its inputs, and begins. Returns the answer for the client. If ready()
  // is false then, close and destroy this object. The job existed before, does not exist, or
  // (Refusal::Kind::kUnavailable) may exist and be taken over by another manager.
  runtime::task<dispatch::Response> submit(dispatch::Submit message);
  // Takes over another owner's job from its register and its blobs. Error: not available, or it has ended.
  runtime::task<Status> take_over(Instant deadline);

  // Gives up all waits; close() must follow.
  void abandon() {
    closing_ = true;
    scope_.cancel();
  }
  // Ends all its coroutines, and releases the register. Before its destruction.
  runtime::task<void> close();

  const std::string& id() const { return id_; }
  bool owned() const { return owned_; }
  bool over() const { return job_ != nullptr && job_->over(); }
  const dispatch::JobRecord& record() const { return job_->record(); }
  bool ready() const { return job_ != nullptr; }
  Instant over_since() const { return over_since_; }
  // Cores of workers that its assignments use.
  void add_cores(std::map<std::string, uint32_t>& asked) const;
  bool wants_cores() const { return job_ != nullptr && owned_ && job_->queued(); }
  // The number of dispatched assignments; and the assignments that have a place on a worker and are not dispatched.
  uint64_t dispatched() const { return dispatched_.size(); }
  std::vector<dispatch::AssignmentId> undispatched() const;

  // The known workers have changed; `workers` are all of them.
  void workers_changed(const std::vector<dispatch::WorkerSight>& workers);
  // Its process has ended; the members say that it is dead.
  void worker_gone(const std::string& worker, uint64_t life, const std::string& why);
  void doubted(const std::string& worker, const std::string& why);
  // This assignment makes no progress: another worker gets it.
  void evict(const std::string& worker, dispatch::AssignmentId assignment, const std::string& why);
  // A worker has reported. Compares its assignments with the record, and returns the permit for the answer; nothing:
  // this manager gives none.
  std::optional<dispatch::Noted::Permit> reported(const std::string& worker, const dispatch::WorkerReport& report);
  // The worker of an assignment; nullptr: the job has no such assignment. The caller passes a worker's messages
  // (window(), end(), more_time()) only if it is this worker.
  const std::string* holder(dispatch::AssignmentId assignment) const {
    const dispatch::AssignmentRecord* const found = job_->find(assignment);
    return found == nullptr ? nullptr : &found->worker;
  }
  dispatch::Response window(const std::string& worker, const dispatch::WindowMessage& message);
  dispatch::Response end(const dispatch::EndMessage& message);
  dispatch::Response more_time(const std::string& worker, const dispatch::ExtendMessage& message);
  // Part of a LiveMessage of that number, collected then (on this clock). Dropped unless the worker has that
  // assignment, and runs it.
  void live(const std::string& worker, Instant collected, uint64_t number,
            const dispatch::LiveMessage::Assignment& told);
  runtime::task<dispatch::Response> cancel(dispatch::Cancel message);
  runtime::task<dispatch::Response> scale(dispatch::Scale message);
  // Watch or WatchLive: answers at once, or when it has news. REQUIRES ready().
  template <class Question>
  void watch(link::Connection& connection, wire::RequestId id, const Question& question) {
    watchers_->watch(connection, id, question);
    poke();
  }
  void forget(const link::Connection& connection) {
    if (watchers_ != nullptr) watchers_->forget(connection);
  }
  // As in Watchers.
  void set_position(uint32_t position, const std::string& why) {
    if (watchers_ != nullptr) watchers_->set_position(position, why);
  }
  dispatch::JobRecord shown_record() const { return watchers_->shown_record(); }
  const std::string& bundle() const { return bundle_; }
  // That travel beside it.
  const std::vector<FileRef>& files() const { return files_; }
  // Its reports that wait: for the rest of their second, or to be copied.
  std::size_t waiting_bytes() const;
  std::size_t streams() const { return ingest_ == nullptr ? 0 : ingest_->book().streams(); }
  resilience::Backpressure pressure() const;

 private:
  friend class JobOrders;
  void on_lost(const jobs::LostJob& lost) override;

  // --- job_coordinator.cc
  Status make_plan(std::string bundle);
  dispatch::JobRules rules() const;
  void start();
  dispatch::Refusal no_quorum(const std::string& what, const Error& error) const;
  // Calls the kernel, call(now, effects), and executes the effects.
  template <class Call>
  auto step(Call call) {
    const Instant at = now();
    job_->set_wall(at, parts_.runtime.wall_now());
    dispatch::JobEffects out;
    if constexpr (std::is_void_v<decltype(call(at, out))>) {
      call(at, out);
      after(out);
    } else {
      auto result = call(at, out);
      after(out);
      return result;
    }
  }
  void after(const dispatch::JobEffects& effects);
  void poke() {
    if (nap_ != nullptr) nap_->cancel();
  }
  void carry_out(const dispatch::JobEffect& effect);
  Instant copy_due() const { return ingest_->unsafe() && !copying_ && owned_ ? next_copy_ : Instant::never(); }
  Instant next_deadline() const;
  static runtime::task<void> keep_time(JobCoordinator* self);
  static runtime::task<void> write_on(JobCoordinator* self);
  runtime::task<Status> write_record(const dispatch::JobRecord& record, Instant deadline);
  static runtime::task<void> copy_on(JobCoordinator* self);
  runtime::task<Status> snapshot_ingest(Instant deadline);
  void settle(Instant now);
  static runtime::task<void> conclude(JobCoordinator* self);
  static runtime::task<void> keep_context(JobCoordinator* self);
  runtime::task<Result<plan::Values>> read_context(Instant deadline);
  static runtime::task<void> let_go(JobCoordinator* self);
  Instant now() { return parts_.runtime.read_clock(); }
  void say(const std::string& event, const std::string& text, bool warning = false);

  // --- coordinator_workers.cc
  runtime::task<bool> is_recorded();
  void open_stream(const dispatch::AssignmentRecord& assignment);
  void say_pressure();

  Parts parts_;
  JobCoordinatorSettings settings_;
  std::string id_;
  std::string bundle_;
  std::vector<FileRef> files_;
  std::unique_ptr<plan::Plan> plan_;
  std::unique_ptr<jobs::JobHandle> handle_;
  std::unique_ptr<dispatch::JobKernel> job_;
  std::unique_ptr<ingest::RunIngest> ingest_;
  uint64_t ingest_life_ = 0;
  bool owned_ = false;
  bool closing_ = false;
  bool writing_ = false;
  bool keeping_context_ = false;
  uint64_t written_ = 0;      // revision of the record that a quorum has
  uint64_t judged_ = 0;       // updates of the totals that watchers and thresholds have seen
  uint64_t blobs_put_ = 0;    // of the ingest
  uint64_t records_put_ = 0;  // that are blobs
  bool copying_ = false;
  runtime::Condition kept_;  // written_, copying_ or owned_ has changed
  Instant next_copy_;
  std::unique_ptr<Watchers> watchers_;
  // By assignment: the number of the first of the consecutive reports that lacked it, or that showed it not yet running
  // although the record says it runs.
  std::map<dispatch::AssignmentId, uint64_t> missed_;
  std::set<dispatch::AssignmentId> dispatched_;  // offers that went out
  JobOrders orders_{*this};
  bool excess_told_ = false;
  resilience::Backpressure told_pressure_ = resilience::Backpressure::kNone;
  Instant over_since_;
  runtime::Cancellation* nap_ = nullptr;
  Instant nap_until_;
  runtime::Scope scope_;  // last: its coroutines use everything above
};

}  // namespace bellwether::node
