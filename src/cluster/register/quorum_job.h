// One job of a QuorumJobStore: the kernel of its owner, at work. Private to the store.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cluster/register/quorum_job_store.h"
#include "register/owner.h"
#include "runtime/event.h"

namespace bellwether::jobs {

class QuorumJob final : public JobHandle {
 public:
  QuorumJob(QuorumJobStore& store, std::string key, Listener& listener, registers::JobOwnerConfig config,
            uint64_t seed);
  ~QuorumJob() override;

  const std::string& key() const override { return key_; }
  runtime::task<Result<TakenJob>> take(Instant deadline, runtime::Cancellation* cancel) override;
  runtime::task<Written> write(std::string value, Instant deadline, runtime::Cancellation* cancel) override;
  runtime::task<Result<std::optional<std::string>>> read(Instant deadline, runtime::Cancellation* cancel) override;
  runtime::task<Status> give_back(Instant deadline, runtime::Cancellation* cancel) override;
  runtime::task<Written> retire(Instant deadline, runtime::Cancellation* cancel) override;
  Instant held_until() const override { return taken_ ? kernel_.ends() : Instant(); }
  JobFence fence() const override { return fence_; }

  void step(const registers::OwnerEvent& event);
  void close();

 private:
  static constexpr std::size_t kMostCalls = 128;

  // A call that waits for the kernel's word.
  struct Call {
    runtime::Event done;
    std::optional<tl::expected<std::string, NotWritten>> outcome;  // the register's bytes, of a read
  };

  runtime::task<tl::expected<std::string, NotWritten>> ask(std::optional<std::string> write, Instant deadline,
                                                           runtime::Cancellation* cancel);
  void carry_out(const registers::OwnerEffect& effect);
  void taken(const registers::JobTaken& taken);
  void lost(const registers::JobLost& lost);
  void finish(uint64_t ticket, tl::expected<std::string, NotWritten> outcome);
  void keep_time();
  static runtime::task<void> tick(std::shared_ptr<QuorumJob*> self);
  std::string waiting_for() const;

  QuorumJobStore& store_;
  std::string key_;
  Listener& listener_;
  registers::JobOwner kernel_;
  std::deque<registers::OwnerEvent> inbox_;
  bool busy_ = false;
  std::shared_ptr<QuorumJob*> alive_;  // what runs beside finds nothing in it after the end
  runtime::Cancellation* nap_ = nullptr;
  bool ticking_ = false;

  bool closed_ = false;
  bool taken_ = false;
  JobFence fence_;
  runtime::Event* taking_ = nullptr;
  std::optional<Result<TakenJob>> take_outcome_;
  MemberId busy_with_ = quorum::kNobody;  // who holds it, while it is being taken
  uint64_t ticket_ = 0;
  std::map<uint64_t, Call*> calls_;
};

}  // namespace bellwether::jobs
