// Whole nodes while everything breaks: never two leaders of a term or two that may act at once, and when all is whole
// again everybody is there, one leads, that stays so, and another one follows when its power fails.
#include <algorithm>
#include <gtest/gtest.h>
#include <string>

#include "base/probe.h"
#include "sim/cluster/cluster_world.h"
#include "tests/sim/seeds.h"

namespace bellwether::sim {
namespace {

Judgement live(uint64_t seed) {
  // These worlds are small: two runs for each seed that is asked for.
  for (uint64_t run = seed * 2; run < seed * 2 + 2; ++run) {
    const std::string violation = live_cluster(run).violation;
    if (!violation.empty()) return violation + "\n  bellwether sim --world cluster --seed " + std::to_string(run);
  }
  return {};
}

TEST(Cluster, finds_itself_and_has_one_leader_whatever_breaks) { expect_good(&live); }

TEST(ClusterWorld, one_seed_gives_one_run) {
  const ClusterRun first = live_cluster(1, ClusterMistake::kNone, true);
  const ClusterRun again = live_cluster(1, ClusterMistake::kNone, true);
  EXPECT_EQ(again.fingerprint, first.fingerprint);
  EXPECT_EQ(again.trace, first.trace);
  EXPECT_FALSE(first.trace.empty());
  EXPECT_NE(live_cluster(2).fingerprint, first.fingerprint);
}

TEST(ClusterWorld, reaches_every_kind_of_fault) {
  for (uint64_t seed = 1; seed <= 200; ++seed) live_cluster(seed);
  for (const char* probe :
       {"cluster world: a machine loses its power", "cluster world: a process is killed",
        "cluster world: a process stands still", "cluster world: a node is cut off",
        "cluster world: a link is cut one way", "cluster world: a link is cut", "cluster world: two sides",
        "cluster world: the network is slow and loses packets", "cluster world: a disk fails",
        "cluster world: what a disk had not confirmed is lost", "cluster world: a wall clock is set",
        "cluster world: a disk is replaced", "cluster world: a leader is asked to hand over",
        "cluster world: a node is asked to leave", "cluster world: a process is proven to have ended"}) {
    EXPECT_GT(Probe::hits_of(probe), 0u) << probe;
  }
}

class ClusterCanary : public testing::TestWithParam<int> {};

TEST_P(ClusterCanary, is_found_out) {
  constexpr uint64_t kMostSeeds = 500;
  const auto mistake = static_cast<ClusterMistake>(GetParam());
  uint64_t seed = 1;
  while (seed <= kMostSeeds && live_cluster(seed, mistake).violation.empty()) ++seed;
  EXPECT_LE(seed, kMostSeeds) << "the world does not see this mistake: " << to_string(mistake);
}

INSTANTIATE_TEST_SUITE_P(Every, ClusterCanary, testing::Range(1, kClusterMistakes), [](const auto& info) {
  std::string name(to_string(static_cast<ClusterMistake>(info.param)));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace bellwether::sim
