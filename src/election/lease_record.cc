#include "election/lease_record.h"

#include <functional>

#include "core/base/encoding.h"

namespace bellwether::election {

std::string make_token(Prng& prng) {
  const std::string half = hex(prng.next());
  return half + hex(prng.next());
}

void WatchTable::see(Instant now, const std::string& key, const Observation& seen, std::vector<Change>& changes) {
  const auto [at, is_new] = keys_.try_emplace(key);
  Watched& watched = at->second;
  watched.round = round_;
  const uint64_t version = std::hash<std::string>{}(seen.version);
  if (is_new || version != watched.version) {
    watched.version = version;
    watched.unchanged = now;
  }
  watched.lease = seen.record.lease;
  if (!is_new && watched.holder == seen.record.holder && watched.epoch == seen.record.epoch) return;
  changes.push_back({key, watched.holder, seen.record.holder, seen.record.epoch, false});
  watched.holder = seen.record.holder;
  watched.epoch = seen.record.epoch;
  watched.since = now;
}

void WatchTable::end_round(std::vector<Change>& changes) {
  for (auto at = keys_.begin(); at != keys_.end();) {
    if (at->second.round == round_) {
      ++at;
      continue;
    }
    changes.push_back({at->first, at->second.holder, {}, at->second.epoch, true});
    at = keys_.erase(at);
  }
}

const WatchTable::Watched* WatchTable::find(const std::string& key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? nullptr : &found->second;
}

}  // namespace bellwether::election
