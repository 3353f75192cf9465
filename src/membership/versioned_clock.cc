#include "membership/versioned_clock.h"

namespace bellwether::membership {

bool VersionedClock::accept(uint64_t entity, StateVersion version, Instant now) {
  const auto found = entries_.find(entity);
  if (found == entries_.end()) {
    if (entries_.size() >= limit_) return false;
    entries_[entity] = {version, now};
    return true;
  }
  if (version <= found->second.version) return false;
  found->second = {version, now};
  return true;
}

bool VersionedClock::is_stale(uint64_t entity, StateVersion version) const {
  const auto found = entries_.find(entity);
  return found != entries_.end() && version <= found->second.version;
}

StateVersion VersionedClock::last(uint64_t entity) const {
  const auto found = entries_.find(entity);
  return found == entries_.end() ? StateVersion{} : found->second.version;
}

void VersionedClock::forget_older_than(Duration age, Instant now) {
  std::erase_if(entries_, [&](const auto& entry) { return now - entry.second.updated > age; });
}

}  // namespace bellwether::membership
