// The registers of all jobs of a group in etcd, as one node sees them: asked for again and again, what has changed
// since the last time, so that a group at rest costs two small questions a round whatever its jobs hold. While etcd is
// away the last sight stays, and nobody can take a job anyway. One thread, that of its runtime.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster/replication/job_view.h"
#include "core/runtime/runtime.h"
#include "election/store/etcd/etcd_store.h"

namespace bellwether::jobs {

class EtcdJobView final : public JobView {
 public:
  static constexpr Duration kLookEvery = Duration::millis(300);
  static constexpr Duration kNamesEvery = Duration::seconds(30);
  static constexpr Duration kAnswerMost = Duration::seconds(5);
  static constexpr std::size_t kAtOnce = 32;  // registers in one answer, of 64 KiB each at most

  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_note(bool warning, const std::string& text) = 0;
  };

  // Both must outlive it. `group`: as of EtcdJobStore. `names_every`: what was removed is noticed by then.
  EtcdJobView(runtime::Runtime& runtime, store::EtcdPlace place, const std::string& group, Listener& listener,
              Duration names_every = kNamesEvery);
  EtcdJobView(const EtcdJobView&) = delete;
  EtcdJobView& operator=(const EtcdJobView&) = delete;

  // Looks until cancelled.
  runtime::task<void> run(runtime::Cancellation* cancel);
  // One look at everything that is due. An error leaves what was seen before.
  runtime::task<Status> look(runtime::Cancellation* cancel);

  bool has_read() const override { return has_read_; }
  const registers::JobRecord* find(const std::string& key) const override;
  bool is_leased(const std::string& key) const override { return owned_.contains(key); }
  // Empty while etcd answers, else what is wrong.
  const std::string& trouble() const { return trouble_; }

 private:
  void visit_keys(VisitKey visit, void* context) const override;
  // An error, once, when it is another etcd than before, or one that was restored from a copy: its revisions begin
  // anew, and so does the next look.
  runtime::task<Result<store::EtcdRange>> ask(std::string body, runtime::Cancellation* cancel);
  runtime::task<Status> look_at_owners(runtime::Cancellation* cancel);
  // Into `changed`; gives the revision from which on changes were not seen.
  runtime::task<Result<uint64_t>> look_at_changes(std::vector<registers::JobRecord>& changed,
                                                  runtime::Cancellation* cancel);
  runtime::task<Status> look_at_names(runtime::Cancellation* cancel);

  runtime::Runtime& runtime_;
  store::EtcdApi api_;
  std::string description_;
  std::string owners_;  // the names before the keys
  std::string states_;
  Listener& listener_;
  std::map<std::string, registers::JobRecord> records_;
  std::set<std::string> owned_;
  uint64_t next_revision_ = 0;  // from which on changes were not seen
  std::string cluster_;         // which etcd this was
  Duration names_every_;
  Instant names_at_;
  bool has_read_ = false;
  std::string trouble_;
};

}  // namespace bellwether::jobs
