#include "jobs/dispatch/worker_stock.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/probe.h"

namespace bellwether::dispatch {

std::optional<std::vector<uint32_t>> WorkerCores::take(uint32_t cores, uint32_t parts, bool squeeze) {
  check(cores > 0 && parts > 0, "an assignment has parts, and runs on something");
  std::vector<uint32_t> chosen(parts_.size());
  std::iota(chosen.begin(), chosen.end(), 0);
  const auto fewer = [this](uint32_t a, uint32_t b) { return parts_[a] < parts_[b]; };
  std::stable_sort(chosen.begin(), chosen.end(), fewer);
  const std::size_t wanted = std::min(cores, parts);
  if (squeeze ? chosen.empty() : free() < wanted) return std::nullopt;
  std::size_t open = std::min(wanted, chosen.size());

  std::vector<uint32_t> taken;
  taken.reserve(parts);
  std::vector<uint32_t> own(parts_.size(), 0);  // of two equal cores, the one with fewer parts of this assignment wins
  for (uint32_t part = 0; part < parts; ++part) {
    const auto emptiest = [&] {
      return *std::min_element(
          chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(open),
          [&](uint32_t a, uint32_t b) { return std::pair(parts_[a], own[a]) < std::pair(parts_[b], own[b]); });
    };
    uint32_t core = emptiest();
    // The owner counts on the room of all cores.
    for (; squeeze && parts_[core] >= kMaxSqueezed && open < chosen.size(); core = emptiest()) ++open;
    ++parts_[core];
    ++own[core];
    taken.push_back(core);
    if (!squeeze || parts_[core] <= kMaxSqueezed) continue;
    give_back(taken);
    return std::nullopt;
  }
  return taken;
}

void WorkerCores::give_back(const std::vector<uint32_t>& core_of_part) {
  for (const uint32_t core : core_of_part) {
    check(parts_.at(core) > 0, "a core is given back once for each part");
    --parts_[core];
  }
}

uint32_t WorkerCores::free() const { return static_cast<uint32_t>(std::count(parts_.begin(), parts_.end(), 0U)); }

Status BundleStore::put(const std::string& hash, std::string bytes) {
  if (find(hash) != nullptr) return {};
  const std::size_t cost = bytes.size() + kOverhead;
  if (cost > bytes_most_) {
    return fail(Errc::kTooLarge, "the bundle has {} bytes; this worker keeps at most {}", bytes.size(), bytes_most_);
  }
  for (auto at = bundles_.end(); at != bundles_.begin() && bytes_ + cost > bytes_most_;) {
    --at;
    if (at->bytes.use_count() > 1) continue;
    bytes_ -= at->bytes->size() + kOverhead;
    at = bundles_.erase(at);
  }
  if (bytes_ + cost > bytes_most_) {
    return fail(Errc::kExhausted, "bundles in use leave no room for another one");
  }
  bytes_ += cost;
  bundles_.push_front({hash, std::make_shared<const std::string>(std::move(bytes))});
  return {};
}

BundleStore::Bytes BundleStore::find(const std::string& hash) {
  const auto at = std::find_if(bundles_.begin(), bundles_.end(), [&](const Bundle& one) { return one.hash == hash; });
  if (at == bundles_.end()) return nullptr;
  bundles_.splice(bundles_.begin(), bundles_, at);
  return at->bytes;
}

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
