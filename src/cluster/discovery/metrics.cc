#include "cluster/discovery/metrics.h"

namespace bellwether::discovery {
namespace {

constexpr std::string_view kLookupResults[] = {"success", "timeout", "error", "negative_cached"};
constexpr std::string_view kHits[] = {"positive", "negative"};

// A label's value with quotes, backslashes and line ends escaped, as the text format wants it.
std::string label(std::string_view name, std::string_view value) {
  std::string text = std::string(name) + "=\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    text += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return text + '"';
}

class Writer {
 public:
  void add(std::string_view name, std::string labels, double value) { all.push_back({name, std::move(labels), value}); }
  void add(std::string_view name, std::string labels, uint64_t value) {
    add(name, std::move(labels), static_cast<double>(value));
  }
  template <std::size_t N>
  void add(std::string_view name, std::string_view by, const std::string_view (&words)[N],
           const std::array<uint64_t, N>& values, const std::string& more = {}) {
    for (std::size_t i = 0; i < N; ++i) {
      add(name, more.empty() ? label(by, words[i]) : fmt::format("{},{}", more, label(by, words[i])), values[i]);
    }
  }
  void add(std::string_view name, std::string_view first, std::string_view second, const PairCounts& pairs) {
    for (const auto& [words, count] : pairs.counts()) {
      add(name, fmt::format("{},{}", label(first, words.first), label(second, words.second)), count);
    }
  }
  std::vector<Sample> all;
};

}  // namespace

void PairCounts::add(std::string_view first, std::string_view second) {
  const std::pair key{std::string(first.substr(0, kMaxWord)), std::string(second.substr(0, kMaxWord))};
  const bool full = counts_.size() >= kMaxPairs && counts_.find(key) == counts_.end();
  ++counts_[full ? std::pair{std::string("other"), std::string("other")} : key];
}

std::vector<Sample> samples(const Metrics& m, std::string_view datacenter) {
  Writer w;
  const std::string where = label("datacenter", datacenter);
  w.add("bellwether_discovery_dns_lookups_total", "result", kLookupResults, m.dns_lookups, where);
  w.add("bellwether_discovery_dns_cache_hits_total", "type", kHits, m.dns_cache_hits);
  w.add("bellwether_discovery_dns_resolution_duration_ms_sum", where, m.dns_resolution.sum.millis_f());
  w.add("bellwether_discovery_dns_resolution_duration_ms_count", where, m.dns_resolution.count);
  w.add("bellwether_discovery_cluster_id_rejections_total", "expected", "received", m.cluster_id_rejections);
  w.add("bellwether_discovery_environment_id_rejections_total", "expected", "received", m.environment_id_rejections);
  w.add("bellwether_discovery_role_rejections_total", "initiator_role", "target_role", m.role_rejections);
  return w.all;
}

}  // namespace bellwether::discovery
