#include "jobs/dispatch/worker_permits.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "core/base/probe.h"

namespace bellwether::dispatch {

void JobPermit::witness_gave(uint64_t life, Instant until) {
  Instant& last = witnesses_[life];
  last = std::max(last, until);
}

Instant JobPermit::until(const AssignmentOrder& order, Instant ready) const {
  if (order.permit == Duration::zero()) return Instant::never();
  const Instant owner = std::max(asked_, ready);
  std::vector<Instant> given;
  for (const Witness& witness : order.witnesses) {
    const auto found = witnesses_.find(witness.life);
    if (found != witnesses_.end()) given.push_back(found->second);
  }
  const std::size_t majority = order.witnesses.size() / 2 + 1;
  if (given.size() < majority) return owner + order.permit;
  const auto least = given.begin() + static_cast<std::ptrdiff_t>(majority - 1);
  std::nth_element(given.begin(), least, given.end(), std::greater<>());
  const Instant renewed = std::min(*least, owner + order.isolation_limit);
  return std::max(owner + order.permit, renewed);
}

Instant JobPermit::ask_at(const AssignmentOrder& order, Instant ready) const {
  if (order.permit == Duration::zero() || order.witnesses.empty()) return Instant::never();
  const Instant owner = std::max(asked_, ready);
  const Instant at = std::max(owner + order.permit / 2, asked_witnesses_ + order.permit / 6);
  return at < owner + order.isolation_limit ? at : Instant::never();
}

WitnessBook::Asker* WitnessBook::asker(Instant now, const std::string& job, uint64_t receiver, uint64_t life,
                                       Response& why) {
  if (receiver != life_) {
    why = refusal(Refusal::Kind::kUnknown, fmt::format("the process that is a witness of job '{}' has ended", job));
    return nullptr;
  }
  const std::pair key(job, life);
  if (!askers_.contains(key) && askers_.size() >= most_) {
    std::erase_if(askers_,
                  [&](const auto& one) { return one.second.until <= now && one.second.touched + remember_ <= now; });
  }
  if (!askers_.contains(key) && askers_.size() >= most_) {
    why = refusal(Refusal::Kind::kBusy, fmt::format("this witness knows {} workers of jobs, its limit", most_));
    return nullptr;
  }
  Asker& found = askers_[key];
  found.touched = now;
  return &found;
}

Response WitnessBook::renew(Instant now, const RenewMessage& message) {
  if (message.permit <= Duration::zero() || message.permit > kLongestPermit) {
    return refusal(Refusal::Kind::kInvalid, "the length of the permit is invalid");
  }
  Response answer = Noted{};
  Asker* const asking = asker(now, message.job, message.life, message.asker, answer);
  if (asking == nullptr) return answer;
  if (message.first <= asking->denied) {
    BW_PROBE("worker: a witness gives no permit for assignments that others run");
    return refusal(Refusal::Kind::kStale,
                   fmt::format("the owner of job '{}' moves the assignments of this worker up to {}", message.job,
                               asking->denied.value()));
  }
  // Clocks may run apart by 1 %.
  asking->until = std::max(asking->until, now + message.permit + message.permit / 100);
  return answer;
}

Response WitnessBook::deny(Instant now, const DenyMessage& message) {
  Response answer;
  Asker* const silent = asker(now, message.job, message.life, message.silent.life, answer);
  if (silent == nullptr) return answer;
  silent->denied = std::max(silent->denied, message.last);
  return Denied{std::max(silent->until - now, Duration::zero())};
}

}  // namespace bellwether::dispatch
