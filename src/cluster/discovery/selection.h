// Whom to talk to, out of many: near ones first (locality tiers), then the few that a hash assigns to this node
// (weighted rendezvous hashing), then, for one connection, the better of two at random (power of two choices).
//
// Rendezvous hashing (Thaler and Ravishankar, 1998) moves only the assignments of the peer that comes or goes, and two
// runs with the same inputs agree. Weights are put in as Schindelhauer and Schomaker (2005) do: a peer scores
// −weight / ln(h) with h uniform in (0, 1), so that it is chosen in proportion to its weight. The better of two random
// choices spreads load nearly as well as knowing all (Mitzenmacher, 2001) without everybody choosing the best.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/prng.h"
#include "base/time.h"
#include "cluster/discovery/metrics.h"
#include "cluster/discovery/peer.h"

namespace bellwether::discovery {

struct LocalitySettings {
  Locality self;
  bool prefer_same_datacenter = true;
  bool prefer_same_region = true;
  std::size_t min_peers_per_tier = 3;
  // Where a peer does not say where it is, its latency does: below the first bound it is as near as the same
  // datacenter, below the second as the same region.
  Duration same_datacenter_below = Duration::millis(2);
  Duration same_region_below = Duration::millis(50);
};

// `latency` as it was measured; zero when it was not, and then a peer that does not say where it is counts as near, or
// the first few that were measured would be all that there ever are. All are near to a node that does not say where it
// is itself.
Tier tier_of(const LocalitySettings& settings, const Locality& peer, Duration latency);

// The share of work that a peer should get: max(0.1, 1 − 2 · error rate − 0.5 · latency factor), in steps of 0.05 so
// that small changes move nobody. `latency_factor` in [0, 1]: 0 is as fast as can be, 1 is so slow that it is evicted.
double health_weight(double error_rate, double latency_factor);

// In [0, ∞), higher is better; the same on every machine. REQUIRES weight > 0.
double rendezvous_score(std::string_view peer, std::string_view selector, std::string_view role, double weight);

struct Ranked {
  std::size_t index = 0;  // of the candidate in what was given
  double score = 0;
};
struct Weighed {
  std::string_view id;
  Tier tier = Tier::kGlobal;
  double weight = 1;
};
// The first `count` of the nearest tiers: tier after tier is taken in until there are `min_peers` of them, and what is
// in is ranked by score. `widest` tells how far it had to go.
struct CandidateSet {
  std::vector<Ranked> ranked;
  Tier widest = Tier::kSameDatacenter;
};
CandidateSet select_candidates(const std::vector<Weighed>& peers, std::string_view selector, std::string_view role,
                               std::size_t count, std::size_t min_peers);

// One of `latencies`, by its index: the better of two at random. Zero is unknown, which is better than any: it must be
// tried to be known. Nothing when there is none.
std::optional<std::size_t> better_of_two(const std::vector<Duration>& latencies, Prng& prng);

}  // namespace bellwether::discovery
