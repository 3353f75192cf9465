// The register of requests of a context leader: what the kernel (election/context/duty_leader.h) asks of it, done with
// one handle of a job's register, one thing after the other. One thread, that of its runtime.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <variant>

#include "cluster/register/job_store.h"
#include "election/context/duty_events.h"
#include "runtime/event.h"

namespace bellwether::cluster {

class ContextRegister final : private jobs::JobHandle::Listener {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    // RegisterTaken, RegisterWritten, RegisterFailed or RegisterLost.
    virtual void on_register(context_lead::Event event) = 0;
  };

  // Errors are those of JobStore::open(). All must outlive it.
  static Result<std::unique_ptr<ContextRegister>> open(runtime::Runtime& runtime, jobs::JobStore& store,
                                                       const std::string& key, Listener& listener);
  ContextRegister(const ContextRegister&) = delete;
  ContextRegister& operator=(const ContextRegister&) = delete;

  // What is asked is done while this runs; when it is cancelled, the register is given back.
  runtime::task<void> run(runtime::Cancellation* cancel);
  void take(const context_lead::TakeRegister& wish);
  void write(const context_lead::WriteRegister& wish);
  // Whatever was asked before and is not done yet is left undone, and nothing is said of it.
  void release();
  // Under which it is held, or was held last.
  jobs::JobFence fence() const { return handle_->fence(); }

 private:
  struct Take {
    uint64_t ticket = 0;
    Instant deadline;
  };
  struct Write {
    uint64_t ticket = 0;
    std::string value;
    Instant deadline;
  };
  struct GiveBack {};
  using Wish = std::variant<Take, Write, GiveBack>;

  ContextRegister(runtime::Runtime& runtime, Listener& listener) : runtime_(runtime), listener_(listener) {}
  void on_lost(const jobs::LostJob& lost) override;
  void add(Wish wish);
  runtime::task<void> do_take(Take wish, runtime::Cancellation* cancel);
  runtime::task<void> do_write(Write wish, runtime::Cancellation* cancel);
  runtime::task<void> give_back();

  runtime::Runtime& runtime_;
  Listener& listener_;
  std::unique_ptr<jobs::JobHandle> handle_;
  std::deque<Wish> wishes_;
  runtime::Event wished_;
  runtime::Cancellation* under_way_ = nullptr;
};

}  // namespace bellwether::cluster
