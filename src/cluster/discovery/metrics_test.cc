#include <gtest/gtest.h>

#include "cluster/discovery/bootstrap.h"

namespace bellwether::discovery {
namespace {

TEST(DiscoveryMetrics, have_the_names_that_dashboards_know) {
  Metrics metrics;
  metrics.cluster_id_rejections.add("prod", "sta\"ging\n");
  std::map<std::string, double> seen;
  for (const Sample& s : samples(metrics, "fra1")) seen[std::string(s.name) + "{" + s.labels + "}"] = s.value;
  EXPECT_EQ(seen.at("bellwether_discovery_cluster_id_rejections_total{expected=\"prod\",received=\"sta\\\"ging\\n\"}"),
            1);
  EXPECT_EQ(seen.count("bellwether_discovery_dns_lookups_total{datacenter=\"fra1\",result=\"negative_cached\"}"), 1);
}

TEST(PairCounts, strangers_cannot_make_a_node_count_without_end) {
  PairCounts pairs;
  for (int i = 0; i < 1000; ++i) pairs.add("prod", std::to_string(i) + std::string(1000, 'x'));
  EXPECT_EQ(pairs.counts().size(), PairCounts::kMaxPairs + 1);
  EXPECT_EQ(pairs.counts().at({"other", "other"}), 1000 - PairCounts::kMaxPairs);
}

}  // namespace
}  // namespace bellwether::discovery
