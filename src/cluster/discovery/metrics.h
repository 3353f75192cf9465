// What discovery counts. Plain numbers of one thread; samples() gives them their names and labels, for a page in the
// text format of Prometheus.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/time.h"

namespace bellwether::discovery {

enum class LookupResult : unsigned char { kSuccess, kTimeout, kError, kNegativeCached };

// Sum and count, from which a mean rate follows; the runtime's histograms are for the load path.
struct Timing {
  Duration sum;
  uint64_t count = 0;
  void add(Duration span) {
    sum += span;
    ++count;
  }
};

// Counts of pairs of words that come from outside: bounded; further pairs count under "other".
class PairCounts {
 public:
  static constexpr std::size_t kMaxPairs = 64;
  static constexpr std::size_t kMaxWord = 64;  // bytes of a label
  void add(std::string_view first, std::string_view second);
  const std::map<std::pair<std::string, std::string>, uint64_t>& counts() const { return counts_; }

 private:
  std::map<std::pair<std::string, std::string>, uint64_t> counts_;
};

struct Metrics {
  std::array<uint64_t, 4> dns_lookups{};     // by LookupResult
  std::array<uint64_t, 2> dns_cache_hits{};  // positive, negative
  Timing dns_resolution;
  PairCounts cluster_id_rejections;      // expected, received
  PairCounts environment_id_rejections;  // expected, received
  PairCounts role_rejections;            // initiator, target
};

// One sample. `labels` is the text between the braces, escaped where needed: `type="positive"`.
struct Sample {
  std::string_view name;
  std::string labels;
  double value = 0;
};

// All numbers. `datacenter` is that of the node that counts.
std::vector<Sample> samples(const Metrics& metrics, std::string_view datacenter);

}  // namespace bellwether::discovery
