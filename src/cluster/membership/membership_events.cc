#include "cluster/membership/membership_events.h"

#include <algorithm>

#include "core/base/enum_names.h"

namespace bellwether::membership {

const char* to_string(MemberChange change) {
  return EnumNames<MemberChange>("joined", "suspected", "refuted", "died", "left", "updated", "restarted",
                                 "forgotten")[change];
}

const char* to_string(Cause cause) {
  return EnumNames<Cause>("own-probe", "gossip", "sync", "timeout", "proof", "itself", "age")[cause];
}

const char* describe(Cause cause) {
  return EnumNames<Cause>("it did not answer", "another node reported it", "another node's list shows it",
                          "it did not answer in time", "its process ended", "it said so",
                          "it was gone for a long time")[cause];
}

const char* to_string(ConflictKind kind) { return EnumNames<ConflictKind>("name", "address", "id")[kind]; }

bool VersionedClock::accept(uint64_t entity, StateVersion version) {
  const auto found = entries_.find(entity);
  if (found == entries_.end()) return entries_.size() < limit_ && entries_.emplace(entity, version).second;
  if (version <= found->second) return false;
  found->second = version;
  return true;
}

StateVersion VersionedClock::last(uint64_t entity) const {
  const auto found = entries_.find(entity);
  return found == entries_.end() ? StateVersion{} : found->second;
}

const char* to_string(Degradation level) {
  return EnumNames<Degradation>("normal", "elevated", "high", "severe", "critical")[level];
}

Degradation degradation_of(int score, double lag) {
  const Degradation by_score = score < 2   ? Degradation::kNormal
                               : score < 4 ? Degradation::kElevated
                               : score < 6 ? Degradation::kHigh
                               : score < 7 ? Degradation::kSevere
                                           : Degradation::kCritical;
  const Degradation by_lag = lag < 0.5   ? Degradation::kNormal
                             : lag < 1.0 ? Degradation::kElevated
                             : lag < 2.0 ? Degradation::kHigh
                             : lag < 4.0 ? Degradation::kSevere
                                         : Degradation::kCritical;
  return std::max(by_score, by_lag);
}

DegradedConduct conduct(Degradation level) {
  switch (level) {
    case Degradation::kNormal: return {};
    case Degradation::kElevated: return {.stretch = 1.25, .gossip_fanout_less = 1};
    case Degradation::kHigh: return {.stretch = 1.5, .skipped_probes = 0.25, .gossip_fanout_less = 1, .piggyback = 700};
    case Degradation::kSevere: return {.stretch = 2, .skipped_probes = 0.5, .gossip_fanout_less = 1, .piggyback = 700};
    case Degradation::kCritical:
      return {.stretch = 3, .skipped_probes = 1, .gossip_fanout_less = 2, .piggyback = 350, .refuse_new_work = true};
  }
  return {};
}

}  // namespace bellwether::membership
