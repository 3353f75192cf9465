#include "cluster/discovery/metrics.h"

namespace bellwether::discovery {
namespace {

constexpr std::string_view kLookupResults[] = {"success", "timeout", "error", "negative_cached"};
constexpr std::string_view kSetChanges[] = {"dns_update", "health_change", "peer_added", "peer_removed"};
constexpr std::string_view kTiers[] = {"same_dc", "same_region", "global"};
constexpr std::string_view kEvictions[] = {"error_rate", "consecutive_failures", "latency", "stale"};
constexpr std::string_view kHits[] = {"positive", "negative"};
constexpr std::string_view kPoolStates[] = {"primary", "backup"};

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
      add(name, more.empty() ? label(by, words[i]) : more + "," + label(by, words[i]), values[i]);
    }
  }
  void add(std::string_view name, std::string_view first, std::string_view second, const PairCounts& pairs) {
    for (const auto& [words, count] : pairs.counts()) {
      add(name, label(first, words.first) + "," + label(second, words.second), count);
    }
  }
  std::vector<Sample> all;
};

}  // namespace

std::string_view to_string(LookupResult value) { return kLookupResults[static_cast<std::size_t>(value)]; }
std::string_view to_string(SetChange value) { return kSetChanges[static_cast<std::size_t>(value)]; }
std::string_view to_string(Tier value) { return kTiers[static_cast<std::size_t>(value)]; }
std::string_view to_string(Eviction value) { return kEvictions[static_cast<std::size_t>(value)]; }

void PairCounts::add(std::string_view first, std::string_view second) {
  const std::pair key{std::string(first.substr(0, kWordMax)), std::string(second.substr(0, kWordMax))};
  const bool full = counts_.size() >= kPairsMax && counts_.find(key) == counts_.end();
  ++counts_[full ? std::pair{std::string("other"), std::string("other")} : key];
}

std::vector<Sample> samples(const Metrics& m, const std::vector<PeerFigures>& peers, std::string_view role,
                            std::string_view datacenter) {
  Writer w;
  const std::string where = label("datacenter", datacenter);
  const std::string who = label("role", role);
  w.add("bellwether_discovery_dns_lookups_total", "result", kLookupResults, m.dns_lookups, where);
  w.add("bellwether_discovery_dns_cache_hits_total", "type", kHits, m.dns_cache_hits);
  w.add("bellwether_discovery_dns_resolution_duration_ms_sum", where, m.dns_resolution.sum.millis_f());
  w.add("bellwether_discovery_dns_resolution_duration_ms_count", where, m.dns_resolution.count);
  w.add("bellwether_discovery_candidate_set_size", who + "," + where, m.candidate_set_size);
  w.add("bellwether_discovery_candidate_set_changes_total", "reason", kSetChanges, m.candidate_set_changes);
  w.add("bellwether_discovery_locality_tier_selected_total", "tier", kTiers, m.locality_tier_selected);
  w.add("bellwether_discovery_selection_duration_ms_sum", "", m.selection.sum.millis_f());
  w.add("bellwether_discovery_selection_duration_ms_count", "", m.selection.count);
  w.add("bellwether_discovery_pool_connections", "state", kPoolStates, m.pool_connections, who);
  w.add("bellwether_discovery_pool_promotions_total", R"(from_state="backup",to_state="primary")", m.pool_promotions);
  w.add("bellwether_discovery_pool_evictions_total", "reason", kEvictions, m.pool_evictions);
  for (const PeerFigures& peer : peers) {
    const std::string id = label("peer_id", peer.id);
    w.add("bellwether_discovery_peer_ewma_latency_ms", id + "," + label("datacenter", peer.datacenter),
          peer.ewma_latency.millis_f());
    w.add("bellwether_discovery_peer_error_rate", id, peer.error_rate);
  }
  w.add("bellwether_discovery_cluster_id_rejections_total", "expected", "received", m.cluster_id_rejections);
  w.add("bellwether_discovery_environment_id_rejections_total", "expected", "received", m.environment_id_rejections);
  w.add("bellwether_discovery_role_rejections_total", "initiator_role", "target_role", m.role_rejections);
  return w.all;
}

}  // namespace bellwether::discovery
