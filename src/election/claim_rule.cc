#include "election/claim_rule.h"

#include <algorithm>

#include "base/units.h"

namespace bellwether::election {

Verdict ClaimRule::assess(Instant now, const Observation& seen, const std::string& token, Epoch floor) {
  if (!seen_any_ || version_ != seen.version) {
    seen_any_ = true;
    version_ = seen.version;
    since_ = now;
    dead_since_.reset();
  }
  const LeaseRecord& record = seen.record;
  longest_lease_ = std::max(longest_lease_, record.lease);
  const bool doubtful = seen.may_have_lost_data && !settings_.trust_empty;
  if (record.held() && record.token == token && !doubtful) {
    return {Verdict::Kind::kOurs, now, "the record carries our token"};
  }
  if (seen.place.joined) return {Verdict::Kind::kInQueue, Instant::never(), "our claim waits in the queue"};
  if (!seen.present || record.epoch < floor || doubtful) return assess_doubtful(now, seen, floor);
  if (!record.held()) return assess_free(now, record);
  const bool elsewhere = !settings_.region.empty() && !record.region.empty() && settings_.region != record.region;
  const Duration after_others = elsewhere ? settings_.cross_region_wait : Duration::zero();
  if (seen.sight == HolderSight::kDead) {
    dead_since_ = dead_since_.value_or(now);
    const std::string what = "the holder is dead: " + seen.evidence;
    if (now < *dead_since_ + after_others) return {Verdict::Kind::kHeld, *dead_since_ + after_others, what};
    return {Verdict::Kind::kFree, now, what};
  }
  dead_since_.reset();
  const Duration wait = timing_.takeable_after(record.lease > Duration::zero() ? record.lease : unknown_lease());
  const Instant free_at = since_ + wait + after_others;
  if (now < free_at) return {Verdict::Kind::kHeld, free_at, "held by " + record.holder};
  return {Verdict::Kind::kFree, now,
          "the lease of " + record.holder + " was not renewed for " + format_duration(now - since_)};
}

// Nothing there, something older than what was there before, or a store that may not know what it held.
Verdict ClaimRule::assess_doubtful(Instant now, const Observation& seen, Epoch floor) const {
  const Epoch known = std::max(floor, Epoch(seen.floor.value() > 0 ? seen.floor.value() - 1 : 0));
  // A store that gives out epochs removes what is released, and has forgotten only if it would repeat one. Elsewhere
  // the record of a key stays once it was held.
  // The floor of a store that is in doubt about itself is a guess, not a memory.
  const Epoch remembered = seen.may_have_lost_data ? floor : known;
  const bool removed = chooses_epoch_ ? seen.floor <= floor && floor.value() > 0 : remembered.value() > 0;
  const bool forgotten = seen.present ? seen.record.epoch < floor : removed;
  if (!forgotten && (!seen.may_have_lost_data || settings_.trust_empty)) {
    return {Verdict::Kind::kFree, now, "nobody has held the key"};
  }
  std::string what = "the store may have lost data, so that somebody may hold the key";
  if (forgotten) {
    what = "the store has lost data: epoch " + std::to_string(remembered.value()) + " was there before, now it shows " +
           (seen.present ? "epoch " + std::to_string(seen.record.epoch.value()) : std::string("nothing"));
  }
  const Instant free_at = since_ + timing_.takeable_after(unknown_lease());
  if (now < free_at) return {Verdict::Kind::kLostData, free_at, what};
  return {Verdict::Kind::kFree, now, what + "; nobody can hold it any more after " + format_duration(now - since_)};
}

Verdict ClaimRule::assess_free(Instant now, const LeaseRecord& record) const {
  const std::string cause = record.cause.empty() ? "released" : record.cause;
  if (!record.heir.empty() && record.heir != settings_.holder) {
    const Instant free_at = since_ + unknown_lease();
    if (now < free_at) return {Verdict::Kind::kHeld, free_at, "kept for " + record.heir + ": " + cause};
  }
  const bool elsewhere = !settings_.region.empty() && !record.region.empty() && settings_.region != record.region;
  if (elsewhere && record.heir != settings_.holder && now < since_ + settings_.cross_region_wait) {
    return {Verdict::Kind::kHeld, since_ + settings_.cross_region_wait, "kept for region " + record.region};
  }
  return {Verdict::Kind::kFree, now, cause};
}

// Of a holder that we cannot see: the longest lease it may have.
Duration ClaimRule::unknown_lease() const { return std::max(timing_.lease, longest_lease_); }

}  // namespace bellwether::election
