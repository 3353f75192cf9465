// Jobs that nobody has: taken over by the first manager in the order that the job's id gives, and forgotten when their
// results have been kept for long enough.

#include <algorithm>
#include <utility>

#include "cluster/register/content.h"
#include "core/base/probe.h"
#include "jobs/dispatch/codec/sheet_codec.h"
#include "jobs/manager/manager_service.h"

namespace bellwether::node {

using runtime::task;

namespace {

constexpr Duration kLookEvery = Duration::millis(200);
constexpr Duration kClaimMost = Duration::seconds(10);
constexpr Duration kForgetEvery = Duration::minutes(1);
// What the leader would have forgotten by then it does not see: this node has missed that the job was retired.
constexpr Duration kLeaderForgets = Duration::hours(1);

}  // namespace

// As this node sees the register, which may lack the newest word; enough to know what there is.
const ManagerService::Known* ManagerService::known(const std::string& job) {
  const registers::JobRecord* record = parts_.view.find(job);
  if (record == nullptr) {
    known_.erase(job);
    return nullptr;
  }
  Known& one = known_[job];
  one.settled = !record->unsettled;
  if (one.readable && one.place == record->accepted) return &one;
  one.place = record->accepted;
  one.readable = false;
  one.sheet = {};
  const auto content = registers::parse_content(record->value);
  if (!content || !content->value) return content && content->retired ? nullptr : &one;
  auto sheet = dispatch::read_sheet(*content->value);
  if (!sheet) return &one;
  one.sheet = std::move(*sheet);
  one.apart = dispatch::is_summary(*content->value);
  one.readable = true;
  return &one;
}

// How many live managers come before this one for this job: rendezvous hashing, so that each job has an order of its
// own, and the jobs of one that died are spread over the others.
uint32_t ManagerService::rank(const std::string& job) const {
  const auto weight = [&](const std::string& manager) { return wire::node_hash(manager + "/" + job); };
  const std::string self = parts_.surroundings.self();
  const uint64_t own = weight(self);
  uint32_t before = 0;
  for (const std::string& manager : parts_.surroundings.manager_names()) {
    if (manager != self && weight(manager) > own) ++before;
  }
  return before;
}

ManagerService::Due ManagerService::due(Instant now, const std::string& job, bool forgetting) {
  if (stewards_.contains(job) || busy_.contains(job)) return Due::kNothing;
  const Known* const one = known(job);
  if (one == nullptr || one->ended()) {
    unowned_since_.erase(job);
    if (!forgetting || one == nullptr) return Due::kNothing;
    const int64_t age = parts_.runtime.wall_now().unix_ns - one->sheet.ended.unix_ns;
    const Duration kept =
        settings_.result_retention + (parts_.surroundings.leads() ? Duration::zero() : kLeaderForgets);
    return age < kept.ns() ? Due::kNothing : Due::kForget;
  }
  if (parts_.view.is_leased(job)) {
    unowned_since_.erase(job);
    return Due::kNothing;
  }
  const Instant since = unowned_since_.try_emplace(job, now).first->second;
  return now - since < settings_.claim_stagger * int64_t{rank(job)} ? Due::kNothing : Due::kClaim;
}

task<void> ManagerService::look_for_jobs(ManagerService* self) {
  runtime::Runtime& runtime = self->parts_.runtime;
  runtime::Cancellation* cancel = self->scope_.cancellation();
  Instant forget_at = runtime.now() + kForgetEvery;
  std::vector<std::pair<std::string, Due>> found;
  while (!cancel->cancelled()) {
    co_await runtime.sleep(kLookEvery, cancel);
    if (self->closing_ || cancel->cancelled()) co_return;
    if (!self->parts_.view.has_read()) continue;
    const Instant now = runtime.now();
    const bool forgetting = now >= forget_at;
    if (forgetting) {
      forget_at = now + kForgetEvery;
      std::erase_if(self->known_, [&](const auto& one) { return self->parts_.view.find(one.first) == nullptr; });
    }
    self->parts_.view.for_each_key([&](const std::string& job) {
      const Due due = self->due(now, job, forgetting);
      if (due != Due::kNothing) found.emplace_back(job, due);
    });
    // What is begun here may change the keys.
    for (const auto& [job, due] : std::exchange(found, {})) {
      self->busy_.insert(job);
      self->scope_.spawn(due == Due::kClaim ? claim(self, job) : forget(self, job));
    }
  }
}

task<void> ManagerService::claim(ManagerService* self, std::string job) {
  BW_PROBE("manager: a job is taken over");
  auto steward = std::make_shared<Steward>(self->steward_parts(), self->settings_.steward, job);
  self->claiming_.insert(steward);
  const Status taken = co_await steward->take_over(self->parts_.runtime.read_clock() + kClaimMost);
  self->claiming_.erase(steward);
  self->unowned_since_.erase(job);
  if (taken && !self->closing_) {
    self->parts_.listener.on_job_says(job, "job_taken_over", "this manager goes on with job '" + job + "'", false);
    self->stewards_[job] = steward;
    self->not_busy(job);
    self->share_out_now();
    co_return;
  }
  co_await steward->close();
  self->not_busy(job);
  if (!taken && !self->closing_) {
    self->parts_.listener.on_job_says(job, "job_not_taken",
                                      "job '" + job + "' was not taken over: " + taken.error().message, true);
  }
  // Whoever holds it, or a later look, will see to it.
  self->unowned_since_[job] = self->parts_.runtime.now() + self->settings_.claim_stagger * 5;
}

namespace {

class Deaf final : public jobs::JobHandle::Listener {
  void on_lost(const jobs::LostJob&) override {}
};

}  // namespace

task<void> ManagerService::forget(ManagerService* self, std::string job) {
  Deaf deaf;
  const Instant deadline = self->parts_.runtime.read_clock() + kClaimMost;
  runtime::Cancellation* cancel = self->scope_.cancellation();
  auto handle = self->parts_.store.open(job, deaf);
  if (handle) {
    const auto taken = co_await (*handle)->take(deadline, cancel);
    const Status dropped = co_await self->parts_.copies.drop(job, deadline, cancel);
    if (taken && dropped) {
      const auto retired = co_await (*handle)->retire(deadline, cancel);
      static_cast<void>(retired);
    }
  }
  self->known_.erase(job);
  self->not_busy(job);
}

}  // namespace bellwether::node
