#include "cluster/discovery/selection.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace bellwether::discovery {
namespace {

constexpr double kWeightStep = 0.05;

// FNV-1a, finished by the mixer of splitmix64, for FNV alone spreads short names badly over the high bits.
uint64_t hash(std::string_view text, uint64_t state) {
  for (const char c : text) state = (state ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return (state ^ 0xff) * 0x100000001b3;  // the end, so that "ab","c" is not "a","bc"
}

double unit_hash(std::string_view a, std::string_view b, std::string_view c) {
  uint64_t x = hash(c, hash(b, hash(a, 0xcbf29ce484222325)));
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  x ^= x >> 31;
  return (static_cast<double>(x >> 11) + 0.5) * 0x1.0p-53;  // in (0, 1)
}

}  // namespace

Tier tier_of(const LocalitySettings& settings, const Locality& peer, Duration latency) {
  const Locality& self = settings.self;
  if (self.datacenter.empty() && self.region.empty()) return Tier::kSameDatacenter;
  Tier tier = Tier::kGlobal;
  if (!self.datacenter.empty() && !peer.datacenter.empty()) {
    if (peer.datacenter == self.datacenter) {
      tier = Tier::kSameDatacenter;
    } else if (!self.region.empty() && peer.region == self.region) {
      tier = Tier::kSameRegion;
    }
  } else if (!self.region.empty() && peer.region == self.region) {
    tier = Tier::kSameRegion;
  } else if (latency < settings.same_region_below) {
    tier = latency < settings.same_datacenter_below ? Tier::kSameDatacenter : Tier::kSameRegion;
  }
  if (tier == Tier::kSameDatacenter && !settings.prefer_same_datacenter) tier = Tier::kSameRegion;
  if (tier == Tier::kSameRegion && !settings.prefer_same_region) tier = Tier::kGlobal;
  return tier;
}

double health_weight(double error_rate, double latency_factor) {
  const double exact = 1 - 2 * error_rate - 0.5 * std::clamp(latency_factor, 0.0, 1.0);
  return std::max(0.1, std::round(exact / kWeightStep) * kWeightStep);
}

double rendezvous_score(std::string_view peer, std::string_view selector, std::string_view role, double weight) {
  check(weight > 0, "every peer has a weight");
  return -weight / std::log(unit_hash(peer, selector, role));
}

CandidateSet select_candidates(const std::vector<Weighed>& peers, std::string_view selector, std::string_view role,
                               std::size_t count, std::size_t min_peers) {
  CandidateSet set;
  for (const Tier tier : {Tier::kSameDatacenter, Tier::kSameRegion, Tier::kGlobal}) {
    const std::size_t before = set.ranked.size();
    for (std::size_t i = 0; i < peers.size(); ++i) {
      if (peers[i].tier != tier) continue;
      set.ranked.push_back({i, rendezvous_score(peers[i].id, selector, role, peers[i].weight)});
    }
    if (set.ranked.size() > before) set.widest = tier;
    if (set.ranked.size() >= min_peers) break;
  }
  std::sort(set.ranked.begin(), set.ranked.end(), [&](const Ranked& a, const Ranked& b) {
    return a.score != b.score ? a.score > b.score : peers[a.index].id < peers[b.index].id;
  });
  if (set.ranked.size() > count) set.ranked.resize(count);
  return set;
}

std::optional<std::size_t> better_of_two(const std::vector<Duration>& latencies, Prng& prng) {
  if (latencies.empty()) return std::nullopt;
  if (latencies.size() == 1) return 0;
  const std::size_t a = prng.below(latencies.size());
  std::size_t b = prng.below(latencies.size() - 1);
  if (b >= a) ++b;
  return latencies[b] < latencies[a] ? b : a;
}

}  // namespace bellwether::discovery
