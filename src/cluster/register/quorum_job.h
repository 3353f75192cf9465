// One job of a QuorumJobStore: the kernel of its owner, at work. Private to the store.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cluster/register/quorum_job_store.h"
#include "register/owner.h"
#include "runtime/event.h"
#include "runtime/kernel_driver.h"

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

  void step(registers::OwnerEvent event) { loop_.tell(std::move(event)); }
  void close();

 private:
  using Loop = runtime::KernelDriver<QuorumJob, registers::JobOwner, registers::OwnerEvent, registers::OwnerEffects>;
  friend Loop;
  static constexpr std::size_t kMostCalls = 128;

  // A call that waits for the kernel's word.
  struct Call {
    runtime::Event done;
    std::optional<tl::expected<std::string, NotWritten>> outcome;  // the register's bytes, of a read
  };

  runtime::task<tl::expected<std::string, NotWritten>> ask(std::optional<std::string> write, Instant deadline,
                                                           runtime::Cancellation* cancel);
  void carry_out(registers::SendAsk& sending);
  void carry_out(const registers::JobTaken& taken);
  void carry_out(const registers::JobRenewed&) {}  // held_until() asks the kernel
  void carry_out(const registers::JobWritten& written) { finish(written.ticket, std::string()); }
  void carry_out(const registers::JobRead& read) { finish(read.ticket, read.value); }
  void carry_out(const registers::JobFailed& failed);
  void carry_out(const registers::JobLost& lost);
  void carry_out(const registers::JobBusy& busy) { busy_with_ = busy.owner; }
  void settled() { keep_time(); }
  void finish(uint64_t ticket, tl::expected<std::string, NotWritten> outcome);
  void keep_time();
  static runtime::task<void> tick(std::shared_ptr<QuorumJob*> self);
  std::string waiting_for() const;

  QuorumJobStore& store_;
  std::string key_;
  Listener& listener_;
  registers::JobOwner kernel_;
  Loop loop_;
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
