// The register of requests of a context leader. It executes the wishes of the kernel (election/context/duty_leader.h)
// with one handle of a job's register, one after the other. One thread, that of its runtime.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "cluster/replication/job_store.h"
#include "core/runtime/event.h"
#include "election/context/duty_events.h"

namespace bellwether::cluster {

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
  void stop_what_is_under_way();
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

}  // namespace bellwether::cluster
