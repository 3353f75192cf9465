// The driver of a replica, one peer that keeps registers of jobs: the kernel (cluster/register/acceptor.h) with a disk
// and lines to the nodes that ask. Promises and accepted writes are durable before it answers; changes that arrive
// while the disk is busy become durable together. With a full or failing disk it abstains, and says so; that is the
// only effect. For a new set of replicas it reads what the others kept. One thread, that of its runtime.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cluster/register/acceptor.h"
#include "cluster/replication/job_store.h"
#include "cluster/replication/lines.h"
#include "cluster/replication/replica_disk.h"
#include "core/runtime/event.h"
#include "core/runtime/kernel_driver.h"
#include "core/runtime/scope.h"

namespace bellwether::jobs {

struct ReplicaSettings {
  bool first_start = false;  // as of ReplicaDisk
  double drift = 0.01;       // how far a clock may run from true time, as a share
  std::size_t most_jobs = 10'000;
  std::size_t most_bytes = std::size_t{256} << 20;  // of the states of all jobs, all of which are in memory too
  Duration retired_kept = Duration::hours(1);
};

class RegisterReplica final : public JobView {
 public:
  // All must outlive it.
  RegisterReplica(runtime::Runtime& runtime, cluster::Kv& kv, registers::Lines& lines, ReplicaSettings settings,
                  registers::Note note);
  RegisterReplica(const RegisterReplica&) = delete;
  RegisterReplica& operator=(const RegisterReplica&) = delete;

  // Keeps registers until cancelled. Requests before or after it are lost.
  runtime::task<void> run(runtime::Cancellation* cancel);

  std::size_t jobs() const { return kernel_.jobs(); }
  // This peer's registers, and the leases that it has granted.
  bool has_read() const override;
  const registers::RegisterRecord* find(const std::string& key) const override { return kernel_.find(key); }
  bool is_leased(const std::string& key) const override { return kernel_.is_leased(runtime_.boot_now(), key); }
  // Empty while it promises and accepts, else why not.
  const std::string& unable() const { return disk_.unable(); }

  // By its lines.
  void on_ask(registers::MemberId from, const registers::Ask& ask);
  registers::Records page(const std::string& after) const { return kernel_.page(after); }
  registers::ReplicaDisk& disk() { return disk_; }

 private:
  using Loop = runtime::KernelDriver<RegisterReplica, registers::JobAcceptor, registers::AcceptorEvent,
                                     registers::AcceptorEffects>;
  friend Loop;

  void visit_keys(VisitKey visit, void* context) const override {
    kernel_.for_each_key([&](const std::string& key) { visit(context, key); });
  }
  runtime::task<Result<registers::AcceptorStart>> load();
  runtime::task<void> sweep(runtime::Cancellation* cancel);
  runtime::task<Status> read_all(std::string other, uint64_t number, runtime::Cancellation* cancel);
  // Why this cannot be taken, apart from the disk; empty when it can.
  std::string too_much(const registers::Ask& ask) const;
  void carry_out(const registers::KeepJob& keep);
  void carry_out(const registers::DropJob& drop);
  void carry_out(registers::Reply& reply) { lines_.send(reply.to, std::move(reply.answer)); }
  void carry_out(const registers::PageKept& kept);
  void carry_out(const registers::TellFreed& freed) { lines_.send(freed.to, registers::Freed{freed.key}); }
  static runtime::task<void> keep(RegisterReplica* self, uint64_t number, std::string key,
                                  std::optional<std::string> record);

  runtime::Runtime& runtime_;
  cluster::Kv& kv_;
  registers::Lines& lines_;
  ReplicaSettings settings_;
  registers::ReplicaDisk disk_;
  registers::JobAcceptor kernel_;
  Loop loop_{runtime_, kernel_, *this};
  runtime::Scope* scope_ = nullptr;
  std::map<std::string, Instant> retired_;  // jobs, and since when that is known
  uint64_t page_ = 0;                       // that was read last
  runtime::Event* page_kept_ = nullptr;     // while it becomes durable
  bool page_durable_ = false;
};

}  // namespace bellwether::jobs
