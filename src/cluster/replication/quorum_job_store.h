// Registers of jobs that a majority of the configured peers keeps (cluster/register/owner.h, register_replica.h).
#pragma once

#include <map>
#include <memory>
#include <string>

#include "cluster/replication/job_store.h"
#include "cluster/replication/lines.h"
#include "core/runtime/scope.h"

namespace bellwether::jobs {

class QuorumJob;

class QuorumJobStore final : public JobStore {
 public:
  // Both must outlive it. `seed` must differ between nodes and between starts. REQUIRES good settings.
  QuorumJobStore(runtime::Runtime& runtime, registers::Lines& lines, const JobSettings& settings, uint64_t seed);
  ~QuorumJobStore() override;
  QuorumJobStore(const QuorumJobStore&) = delete;
  QuorumJobStore& operator=(const QuorumJobStore&) = delete;

  std::string describe() const override;
  Result<std::unique_ptr<JobHandle>> open(std::string key, JobHandle::Listener& listener) override;
  runtime::task<void> close(Duration most) override;

  // By its lines.
  void on_answer(registers::MemberId from, const registers::Answer& answer);
  void on_freed(const registers::Freed& freed);
  // The set of replicas has changed.
  void on_replicas();
  void on_unable(registers::MemberId from, const registers::Unable& unable);

 private:
  friend class QuorumJob;

  struct Trouble {
    std::string why;
    Instant at;
  };

  void forget(const std::string& key) { jobs_.erase(key); }
  std::string silence() const;

  runtime::Runtime& runtime_;
  registers::Lines& lines_;
  JobSettings settings_;
  Prng prng_;
  std::map<std::string, QuorumJob*> jobs_;
  std::map<MemberId, Trouble> troubles_;  // of peers that said why they are unable
  bool closed_ = false;
  runtime::Scope scope_;  // last: its coroutines use everything above
};

}  // namespace bellwether::jobs
