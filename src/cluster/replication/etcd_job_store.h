// Registers of jobs in etcd (3.4 or newer), for sites that run one: the twin of the quorum of peers.
//
//   bellwether/jobs/GROUP/owner/KEY   the name of the owner, bound to a lease that the server ends unless it is kept
//                                     alive
//   bellwether/jobs/GROUP/state/KEY   fence, number of the last write, and value, as a peer keeps them
//                                     (proto/jobs.proto, JobRecord); never expires while the job lives
//
// Taking a job, writing, and retiring it are one transaction each, which compares both: who owns it must be as it was
// seen, and the state as it was left. Every owner writes the state under the next fence as it takes the job, so that
// the fence is kept apart from what expires, and whatever an earlier owner still has on its way is refused.
//
// A claim under a node's own name is one of its earlier life, and is taken over at once: names are unique in a group.
//
// An etcd that was restored from a copy goes back, and would give fences again: restore it into a new GROUP.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "cluster/replication/job_store.h"
#include "core/runtime/scope.h"
#include "election/store/etcd/etcd_store.h"
#include "election/store/web/web_client.h"

namespace bellwether::jobs {

class EtcdJob;

// What the names of owners and states begin with.
std::string etcd_owners(const std::string& group);
std::string etcd_states(const std::string& group);

class EtcdJobStore final : public JobStore, private store::WebWatch::Source {
 public:
  // `group`: whose jobs; `self`: the name of this node. `seed` must differ between nodes and between starts. REQUIRES
  // good settings.
  EtcdJobStore(runtime::Runtime& runtime, store::EtcdPlace place, const std::string& group, std::string self,
               const JobSettings& settings, uint64_t seed);
  ~EtcdJobStore() override;
  EtcdJobStore(const EtcdJobStore&) = delete;
  EtcdJobStore& operator=(const EtcdJobStore&) = delete;

  std::string describe() const override { return description_; }
  Result<std::unique_ptr<JobHandle>> open(std::string key, JobHandle::Listener& listener) override;
  runtime::task<void> close(Duration most) override;

 private:
  friend class EtcdJob;

  runtime::task<Status> listen(store::WebWatch& watch, Instant begin_by, Instant deadline) override;
  store::WebWatch::Word hear(std::string_view line) override;
  void begin_to_watch();
  static runtime::task<void> watch(EtcdJobStore* self);
  // Ends a lease, and with it what is bound to it, whatever it takes; gives up when the lease is over by itself.
  void abandon(uint64_t lease);
  static runtime::task<void> revoke(EtcdJobStore* self, uint64_t lease);

  runtime::Runtime& runtime_;
  store::EtcdApi api_;
  std::string description_;
  std::string owners_;  // the names before the keys
  std::string states_;
  std::string self_;
  JobSettings settings_;
  Prng prng_;
  std::map<std::string, EtcdJob*> jobs_;  // those that have a handle
  bool closed_ = false;
  bool watching_ = false;
  store::WebWatch watch_;
  runtime::Scope loops_;    // last: its coroutines use everything above
  runtime::Scope revokes_;  // goes on while the store closes
};

}  // namespace bellwether::jobs
