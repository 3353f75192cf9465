#include "cluster/discovery/names.h"

#include <algorithm>
#include <utility>

namespace bellwether::discovery {

const NameCache::Entry* NameCache::find(Instant now, const Question& question) const {
  const auto found = entries_.find(question);
  return found == entries_.end() || found->second.good_until <= now ? nullptr : &found->second;
}

void NameCache::answered(Instant now, const Question& question, std::vector<HostPort> places, Duration ttl) {
  if (places.empty()) return failed(now, question);
  if (places.size() > kPlacesMax) places.resize(kPlacesMax);
  const Duration kept =
      ttl <= Duration::zero() ? settings_.ttl_default : std::clamp(ttl, settings_.ttl_min, settings_.ttl_max);
  keep(question, {std::move(places), now + kept});
}

void NameCache::failed(Instant now, const Question& question) { keep(question, {{}, now + settings_.negative_ttl}); }

void NameCache::keep(const Question& question, Entry entry) {
  entries_[question] = std::move(entry);
  if (entries_.size() <= kNamesMax) return;
  auto oldest = entries_.end();
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    if (it->first == question) continue;
    if (oldest == entries_.end() || it->second.good_until < oldest->second.good_until) oldest = it;
  }
  entries_.erase(oldest);
}

}  // namespace bellwether::discovery
