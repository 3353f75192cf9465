// The attempts at requests that run on this node, with their inputs and outputs: payloads and results, which are blobs
// under the id of their request. Both are kept for a while after the end of the request was reported. One thread, that
// of its runtime.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cluster/replication/blobs.h"
#include "cluster/replication/job_store.h"
#include "core/runtime/event.h"
#include "core/runtime/runtime.h"
#include "election/context/duty_events.h"
#include "lead/context_driver/context_codec.h"

namespace bellwether::cluster {

// The register of requests of a context leader. It executes the wishes of the kernel (election/context/duty_leader.h)
// with one handle of a job's register, one after the other. One thread, that of its runtime.

class ContextDriver;

class ContextRegister final : private jobs::JobHandle::Listener {
 public:
  using Wish = std::variant<context_lead::TakeRegister, context_lead::WriteRegister, context_lead::ReleaseRegister>;

  // All must outlive it.
  ContextRegister(runtime::Runtime& runtime, ContextDriver& driver) : runtime_(runtime), driver_(driver) {}
  ContextRegister(const ContextRegister&) = delete;
  ContextRegister& operator=(const ContextRegister&) = delete;
  // The first call. Errors are those of JobStore::open().
  Status open(jobs::JobStore& store, const std::string& key);

  // Executes wishes while it runs; on cancellation it gives the register back.
  runtime::task<void> run(runtime::Cancellation* cancel);
  // Reports its end to the driver. ReleaseRegister: earlier wishes that are not done yet are dropped, without a report.
  void ask(Wish wish);
  // Under which it is held, or was held last.
  jobs::JobFence fence() const { return handle_->fence(); }

 private:
  void on_lost(const jobs::LostJob& lost) override;
  void stop_what_is_under_way() {
    if (under_way_ != nullptr) under_way_->cancel();
  }
  runtime::task<void> carry_out(context_lead::TakeRegister wish, Instant asked, runtime::Cancellation* cancel);
  runtime::task<void> carry_out(context_lead::WriteRegister wish, Instant asked, runtime::Cancellation* cancel);
  runtime::task<void> carry_out(context_lead::ReleaseRegister wish, Instant asked, runtime::Cancellation* cancel);

  runtime::Runtime& runtime_;
  ContextDriver& driver_;
  std::unique_ptr<jobs::JobHandle> handle_;
  std::deque<std::pair<Instant, Wish>> wishes_;  // and when they were asked
  runtime::Event wished_;
  runtime::Cancellation* under_way_ = nullptr;
};

// Makes contexts: it gets the requests that its node leads, one job for each attempt. A node has one, chosen where the
// node is assembled.
struct ContextJob {
  context_lead::Request request;
  // Passed on with every act, so that the resource can refuse attempts that were succeeded.
  context_lead::AttemptFence fence;
};

struct ContextJobEnd {
  context_lead::JobEnded::End end = context_lead::JobEnded::End::kDone;
  std::string reason;  // of a failure
  std::string result;  // of a success; at most kMaxResultBytes
};

class ContextManager {
 public:
  virtual ~ContextManager() = default;
  // Valid for as long as it lives.
  virtual const context_lead::ManagerConfig& config() const = 0;
  // Until nothing of the job is left, in this process or in others. `stop` ends it in good order, `kill` at once.
  // Several run at a time, at most config().slots beside jobs that are being killed.
  virtual runtime::task<ContextJobEnd> run(ContextJob job, runtime::Cancellation* stop,
                                           runtime::Cancellation* kill) = 0;
  // No part of any job may be left at this instant of the boot clock, even if this process fails. Moved on while the
  // node leads, and always effective: a job that would begin after it does not begin.
  virtual void set_term_end(Instant end) = 0;
};

class ContextJobs {
 public:
  struct Settings {
    Duration coordination_timeout;  // for a result, and for dropping one
    Duration keep_results;          // after the end was reported, unless too many newer ones exist
  };
  // All must outlive it. Writes count under the fence of `held`.
  ContextJobs(runtime::Runtime& runtime, blobs::Blobs& blobs, const ContextRegister& held, Settings settings)
      : runtime_(runtime), blobs_(blobs), register_(held), settings_(settings) {}
  ContextJobs(const ContextJobs&) = delete;
  ContextJobs& operator=(const ContextJobs&) = delete;

  // Before the first run().
  void set_manager(std::unique_ptr<ContextManager> manager) { manager_ = std::move(manager); }
  const ContextManager* manager() const { return manager_.get(); }
  void set_term_end(Instant end) {
    if (manager_ != nullptr) manager_->set_term_end(end);
  }

  // Until nothing of the attempt is left; then ended() is to be called. A result is kept before its request counts as
  // done. `stops`: the work is to stop already.
  runtime::task<context_lead::JobEnded> run(context_lead::RunJob wish, bool stops);
  void ended(const context_lead::JobEnded& end);
  void cancel(const context_lead::CancelJob& wish);
  void stop_all() {
    for (auto& [key, job] : jobs_) job.stop.cancel();
  }
  void kill_all() {
    for (auto& [key, job] : jobs_) job.kill.cancel();
  }
  bool none() const { return jobs_.empty(); }
  runtime::task<void> wait_for_none(Instant deadline);
  std::vector<ContextView::Job> view() const;
  const ContextWork& work() const { return work_; }

  runtime::task<context_lead::PayloadKept> keep(context_lead::KeepPayload wish, runtime::Cancellation* cancel);
  runtime::task<context_lead::PayloadFetched> fetch(context_lead::FetchPayload wish, runtime::Cancellation* cancel);
  // kNotFound: it is not kept any more. Empty when the request has none.
  runtime::task<Result<std::string>> result(context_lead::RequestId id, runtime::Cancellation* cancel);

  // The end of a request may be asked for from now on, until both blobs are dropped.
  void on_told(context_lead::RequestId id);
  bool is_told(context_lead::RequestId id) const { return told_.contains(id); }
  void forget_told() { told_.clear(); }
  // In the end the next request whose blobs may be deleted; nothing: call it again.
  runtime::task<std::optional<context_lead::RequestId>> wait_until_over(runtime::Cancellation* cancel);
  // False: not now; it is over again later.
  runtime::task<bool> drop(context_lead::RequestId id, runtime::Cancellation* cancel);

 private:
  struct Job {
    Instant since;
    runtime::Cancellation stop;
    runtime::Cancellation kill;
  };
  struct Told {
    Instant until;
    bool dropping = false;
  };
  struct Over {
    Instant due;
    context_lead::RequestId id;
  };
  blobs::Version next_version() { return {register_.fence(), ++versions_}; }
  Over next_over() const;

  runtime::Runtime& runtime_;
  blobs::Blobs& blobs_;
  const ContextRegister& register_;
  Settings settings_;
  std::unique_ptr<ContextManager> manager_;
  std::map<std::pair<context_lead::RequestId, context_lead::AttemptFence>, Job> jobs_;
  runtime::Condition jobs_ended_;
  ContextWork work_;
  uint64_t versions_ = 0;  // of blobs that this node has put
  std::map<context_lead::RequestId, Told> told_;
  runtime::Condition told_changed_;
};

}  // namespace bellwether::cluster
