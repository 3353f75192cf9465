// What discovery counts. Plain numbers of one thread; samples() gives them their names and labels, for whoever serves
// them in the text format of Prometheus.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace bellwether::discovery {

enum class LookupResult : unsigned char { kSuccess, kTimeout, kError, kNegativeCached };
enum class SetChange : unsigned char { kDnsUpdate, kHealthChange, kPeerAdded, kPeerRemoved };
enum class Tier : unsigned char { kSameDatacenter, kSameRegion, kGlobal };
enum class Eviction : unsigned char { kErrorRate, kConsecutiveFailures, kLatency, kStale };

std::string_view to_string(LookupResult value);
std::string_view to_string(SetChange value);
std::string_view to_string(Tier value);
std::string_view to_string(Eviction value);

// Sum and count, from which a mean rate follows; the runtime's histograms are for the load path.
struct Timing {
  Duration sum;
  uint64_t count = 0;
  void add(Duration span) {
    sum += span;
    ++count;
  }
};

// Counts of pairs of words that come from outside: bounded, what is beyond it is counted under "other".
class PairCounts {
 public:
  static constexpr std::size_t kPairsMax = 64;
  static constexpr std::size_t kWordMax = 64;  // bytes of a label
  void add(std::string_view first, std::string_view second);
  const std::map<std::pair<std::string, std::string>, uint64_t>& counts() const { return counts_; }

 private:
  std::map<std::pair<std::string, std::string>, uint64_t> counts_;
};

struct Metrics {
  std::array<uint64_t, 4> dns_lookups{};     // by LookupResult
  std::array<uint64_t, 2> dns_cache_hits{};  // positive, negative
  Timing dns_resolution;
  uint64_t candidate_set_size = 0;
  std::array<uint64_t, 4> candidate_set_changes{};   // by SetChange
  std::array<uint64_t, 3> locality_tier_selected{};  // by Tier
  Timing selection;
  std::array<uint64_t, 2> pool_connections{};  // primary, backup
  uint64_t pool_promotions = 0;                // backup to primary
  std::array<uint64_t, 4> pool_evictions{};    // by Eviction
  PairCounts cluster_id_rejections;            // expected, received
  PairCounts environment_id_rejections;        // expected, received
  PairCounts role_rejections;                  // initiator, target
};

// One sample. `labels` is what stands between the braces, escaped where it must be: `type="positive"`.
struct Sample {
  std::string_view name;
  std::string labels;
  double value = 0;
};

// A peer of the pool, as it is shown.
struct PeerFigures {
  std::string id;
  std::string datacenter;
  Duration ewma_latency;
  double error_rate = 0;
};

// All numbers. `role` and `datacenter` are those of the node that counts.
std::vector<Sample> samples(const Metrics& metrics, const std::vector<PeerFigures>& peers, std::string_view role,
                            std::string_view datacenter);

}  // namespace bellwether::discovery
