// Registers of jobs in etcd (3.4 or newer), for sites that run one: the twin of the quorum of peers.
//
//   bellwether/jobs/GROUP/owner/KEY   the name of the owner, bound to a lease that the server ends unless it is kept
//                                     alive
//   bellwether/jobs/GROUP/state/KEY   fence, number of the last write, and value, as a peer keeps them
//                                     (proto/jobs.proto, RegisterRecord); never expires while the job lives
//
// Taking a job, writing, and retiring it are one transaction each, which compares both the owner and the state with
// their last known values. Every owner writes the state under the next fence as it takes the job. So the fence does not
// expire with the owner's key, and late writes of an earlier owner are refused.
//
// A claim under a node's own name is one of its earlier life, and is taken over at once: names are unique in a group.
//
// An etcd that was restored from a backup goes back, and would give fences again: restore it into a new GROUP.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cluster/replication/job_store.h"
#include "core/base/callback.h"
#include "core/runtime/runtime.h"
#include "core/runtime/scope.h"
#include "election/store/etcd/etcd_store.h"
#include "election/store/web/web_client.h"

namespace bellwether::jobs {

// The registers of all jobs of a group in etcd, as one node sees them. It repeatedly asks for the changes since the
// last time, so that an idle group costs two small requests a round, for jobs of any size. While etcd is away the last
// view stays; no node can take a job then anyway. One thread, that of its runtime.
class EtcdJobView final : public JobView {
 public:
  static constexpr Duration kLookEvery = Duration::millis(300);
  static constexpr Duration kNamesEvery = Duration::seconds(30);
  static constexpr Duration kMaxAnswer = Duration::seconds(5);
  static constexpr std::size_t kAtOnce = 32;  // registers in one answer, of 64 KiB each at most

  // Reports to people.
  using Note = Callback<void(bool warning, const std::string& text)>;

  // Both must outlive it. `group`: as of EtcdJobStore. `names_every`: removals are noticed by then.
  EtcdJobView(runtime::Runtime& runtime, store::EtcdPlace place, const std::string& group, Note note,
              Duration names_every = kNamesEvery);
  EtcdJobView(const EtcdJobView&) = delete;
  EtcdJobView& operator=(const EtcdJobView&) = delete;

  // Looks until cancelled.
  runtime::task<void> run(runtime::Cancellation* cancel);
  // One look at everything that is due. An error leaves the earlier view.
  runtime::task<Status> look(runtime::Cancellation* cancel);

  bool has_read() const override { return has_read_; }
  const registers::RegisterRecord* find(const std::string& key) const override;
  bool is_leased(const std::string& key) const override { return owned_.contains(key); }
  // Empty while etcd answers, else the fault.
  const std::string& trouble() const { return trouble_; }

 private:
  void visit_keys(VisitKey visit, void* context) const override;
  // An error, once, when it is another etcd than before, or one that was restored from a backup: its revisions begin
  // anew, and so does the next look.
  runtime::task<Result<store::EtcdRange>> ask(std::string body, runtime::Cancellation* cancel);
  runtime::task<Status> look_at_owners(runtime::Cancellation* cancel);
  // Into `changed`; gives the revision from which on changes were not seen.
  runtime::task<Result<uint64_t>> look_at_changes(std::vector<registers::RegisterRecord>& changed,
                                                  runtime::Cancellation* cancel);
  runtime::task<Status> look_at_names(runtime::Cancellation* cancel);

  runtime::Runtime& runtime_;
  store::EtcdApi api_;
  std::string description_;
  std::string owners_;  // the names before the keys
  std::string states_;
  Note note_;
  std::map<std::string, registers::RegisterRecord> records_;
  std::set<std::string> owned_;
  uint64_t next_revision_ = 0;  // from which on changes were not seen
  std::string cluster_;         // the identity of the etcd
  Duration names_every_;
  Instant names_at_;
  bool has_read_ = false;
  std::string trouble_;
};

class EtcdJob;

// The prefix of the names of owners and states.
std::string etcd_owners(const std::string& group);
std::string etcd_states(const std::string& group);

class EtcdJobStore final : public JobStore, private store::WebWatch::Source {
 public:
  // `group`: of the jobs; `self`: the name of this node. `seed` must differ between nodes and between starts. REQUIRES
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
  // Ends a lease, and all that is bound to it, with repeated tries; gives up when the lease is over by itself.
  void abandon(uint64_t lease) { revokes_.spawn(revoke(this, lease)); }
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

// Jobs in etcd, from the URL of a lease store: the store, and the view of all of them.

// etcd://USER@HOST:PORT,HOST:PORT, etcds: with TLS, with the options and passwords of election/store/etcd/etcd_store.h.
// `group`: whose jobs (CLUSTER/ENVIRONMENT); `self`: the name of this node, unique in it. `seed` must differ between
// nodes and between starts. Fails when the URL, the names or the settings are wrong, or a file cannot be read; does not
// talk to the server yet.
runtime::task<Result<std::unique_ptr<JobStore>>> open_etcd_job_store(runtime::Runtime& runtime, std::string url,
                                                                     std::string group, std::string self,
                                                                     JobSettings settings, uint64_t seed);

// `note` must outlive it. Errors as above.
runtime::task<Result<std::unique_ptr<EtcdJobView>>> open_etcd_job_view(runtime::Runtime& runtime, std::string url,
                                                                       std::string group, EtcdJobView::Note note,
                                                                       Duration names_every = EtcdJobView::kNamesEvery);

}  // namespace bellwether::jobs
