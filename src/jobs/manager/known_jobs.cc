#include "jobs/manager/known_jobs.h"

#include "cluster/net/peer_links.h"
#include "cluster/wire/identity.h"
#include "jobs/dispatch/codec/job_record_codec.h"

namespace bellwether::node {

namespace {

constexpr Duration kForgetEvery = Duration::minutes(1);
// The leader deletes older jobs: a node that still has one has missed that it was retired.
constexpr Duration kLeaderForgets = Duration::hours(1);

}  // namespace

const KnownJobs::Known* KnownJobs::find(const std::string& job) {
  const registers::RegisterRecord* record = view_.find(job);
  if (record == nullptr) {
    known_.erase(job);
    return nullptr;
  }
  Known& one = known_[job];
  one.settled = !record->unsettled;
  if (one.readable && one.place == record->accepted) return &one;
  one.place = record->accepted;
  one.readable = false;
  one.record = {};
  const auto content = registers::parse_content(record->value);
  if (!content || !content->value) return content && content->retired ? nullptr : &one;
  auto record = dispatch::read_record(*content->value);
  if (!record) return &one;
  one.record = std::move(*record);
  one.apart = dispatch::is_summary(*content->value);
  one.readable = true;
  return &one;
}

std::string KnownJobs::last_owner_of(const std::string& job) const {
  const registers::RegisterRecord* record = view_.find(job);
  if (record == nullptr) return {};
  const registers::MemberId writer = registers::writer_of(*record);
  if (writer == quorum::kNobody) return {};
  for (const std::string& manager : cluster_view_.manager_names()) {
    if (cluster::member_id(manager) == writer) return manager;
  }
  return {};
}

// The number of live managers before this one for this job: rendezvous hashing. Each job has another order, so the jobs
// of a dead manager spread over the others.
uint32_t KnownJobs::rank(const std::string& job) const {
  const auto weight = [&](const std::string& manager) { return wire::node_hash(fmt::format("{}/{}", manager, job)); };
  const std::string self = cluster_view_.self();
  const uint64_t own = weight(self);
  uint32_t before = 0;
  for (const std::string& manager : cluster_view_.manager_names()) {
    if (manager != self && weight(manager) > own) ++before;
  }
  return before;
}

bool KnownJobs::is_to_claim(const std::string& job) {
  if (view_.is_leased(job)) {
    unowned_since_.erase(job);
    return false;
  }
  const Instant now = runtime_.now();
  const Instant since = unowned_since_.try_emplace(job, now).first->second;
  return now - since >= settings_.claim_stagger * int64_t{rank(job)};
}

bool KnownJobs::is_to_forget(const Known& job) const {
  const int64_t age = runtime_.wall_now().unix_ns - job.record.ended.unix_ns;
  return age >= (settings_.result_retention + (cluster_view_.leads() ? Duration::zero() : kLeaderForgets)).ns();
}

bool KnownJobs::time_to_forget() {
  const Instant now = runtime_.now();
  if (forget_at_ == Instant()) forget_at_ = now + kForgetEvery;
  if (now < forget_at_) return false;
  forget_at_ = now + kForgetEvery;
  std::erase_if(known_, [&](const auto& one) { return view_.find(one.first) == nullptr; });
  return true;
}

}  // namespace bellwether::node
