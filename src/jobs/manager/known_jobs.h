// The jobs of a cluster as one of its managers sees their registers, perhaps without the latest writes: which jobs
// exist, who owns them, and which of the unowned ones this manager should take. One thread, that of its runtime.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cluster/register/small.h"
#include "cluster/replication/job_store.h"
#include "core/runtime/runtime.h"
#include "jobs/dispatch/job_record.h"
#include "jobs/manager/cluster_view.h"

namespace bellwether::node {

class KnownJobs {
 public:
  struct Settings {
    Duration claim_stagger;     // between two managers that want the same job
    Duration result_retention;  // of a job that has ended
  };
  struct Known {
    registers::Place place;
    dispatch::JobRecord record;
    bool readable = false;
    bool apart = false;  // `record` is a summary
    bool settled = false;
    // Until a majority is known to have it, the next owner may end the job with another record.
    bool ended() const { return readable && settled && dispatch::is_final(record.state); }
  };
  // All but the settings must outlive it.
  KnownJobs(runtime::Runtime& runtime, const jobs::JobView& view, const ClusterView& cluster_view, Settings settings)
      : runtime_(runtime), view_(view), cluster_view_(cluster_view), settings_(settings) {}

  // nullptr: no such job, as far as is known here. Valid until the next call.
  const Known* find(const std::string& job);
  // The manager that owns it, or owned it last; empty: none, or unknown.
  std::string owner_of(const std::string& job) const {
    return view_.is_leased(job) ? last_owner_of(job) : std::string();
  }
  std::string last_owner_of(const std::string& job) const;

  enum class Due : uint8_t { kClaim, kForget };
  // The due actions on unowned jobs, except those `in_hand`: take over, by the first manager in the order that the
  // job's id gives, or delete, after the retention of results.
  template <class InHand>
  std::vector<std::pair<std::string, Due>> due(InHand in_hand);
  // It was taken over; or it could not be, and other managers may take it for a while.
  void claimed(const std::string& job) { unowned_since_.erase(job); }
  void not_claimed(const std::string& job) { unowned_since_[job] = runtime_.now() + settings_.claim_stagger * 5; }
  void forget(const std::string& job) { known_.erase(job); }

 private:
  bool is_to_claim(const std::string& job);
  bool is_to_forget(const Known& job) const;
  uint32_t rank(const std::string& job) const;
  bool time_to_forget();

  runtime::Runtime& runtime_;
  const jobs::JobView& view_;
  const ClusterView& cluster_view_;
  Settings settings_;
  std::map<std::string, Known> known_;
  std::map<std::string, Instant> unowned_since_;
  Instant forget_at_;
};

template <class InHand>
std::vector<std::pair<std::string, KnownJobs::Due>> KnownJobs::due(InHand in_hand) {
  std::vector<std::pair<std::string, Due>> out;
  const bool forgetting = time_to_forget();
  view_.for_each_key([&](const std::string& job) {
    if (in_hand(job)) return;
    const Known* const one = find(job);
    if (one == nullptr || one->ended()) {
      unowned_since_.erase(job);
      if (forgetting && one != nullptr && is_to_forget(*one)) out.emplace_back(job, Due::kForget);
    } else if (is_to_claim(job)) {
      out.emplace_back(job, Due::kClaim);
    }
  });
  return out;
}

}  // namespace bellwether::node
