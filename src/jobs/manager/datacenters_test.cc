#include <gmock/gmock.h>

#include "jobs/manager/cluster_view.h"

namespace bellwether::node {
namespace {

using dispatch::DatacenterLine;
using dispatch::WorkerLine;
using Neighbour = ClusterView::Neighbour;

const std::vector<Neighbour> kManagers = {
    {"a", "east", true, true}, {"b", "west", true, true}, {"c", "east", true, true}};

std::vector<Neighbour> with(std::vector<Neighbour> more) {
  more.insert(more.begin(), kManagers.begin(), kManagers.end());
  return more;
}

WorkerLine worker(const std::string& name, uint32_t cores, uint32_t free, const std::string& state = "healthy",
                  const std::string& progress = "normal") {
  return {name, cores, free, state, "", 0, progress};
}

TEST(Datacenters, count_their_own_workers_and_are_judged_by_all_managers) {
  const auto all = datacenters_of(with({{"w1", "east", false, true}, {"w2", "west", false, true}}), "a",
                                  {worker("w1", 4, 3), worker("w2", 2, 0)});
  EXPECT_THAT(all, testing::ElementsAre(DatacenterLine{"east", 2, 1, 4, 3, "healthy", ""},
                                        DatacenterLine{"west", 1, 1, 2, 0, "busy", "no core is free"}));
}

TEST(Datacenters, without_a_leader_there_is_no_quorum_and_without_workers_no_health) {
  EXPECT_THAT(datacenters_of(with({{"w1", "east", false, true}}), "", {worker("w1", 4, 4)}),
              testing::ElementsAre(DatacenterLine{"east", 2, 1, 4, 4, "degraded", "no manager has a quorum"},
                                   DatacenterLine{"west", 1, 0, 0, 0, "unhealthy", "no worker is registered"}));
}

TEST(Datacenters, who_is_gone_does_not_count) {
  std::vector<Neighbour> neighbours = with({{"w1", "east", false, true}, {"w2", "east", false, false}});
  neighbours[1].there = neighbours[2].there = false;
  // A worker that membership does not know is in no datacenter, and an unhealthy one has no core to give.
  const auto all =
      datacenters_of(neighbours, "a", {worker("w1", 4, 4, "silent"), worker("w2", 4, 4), worker("w3", 4, 4)});
  EXPECT_THAT(all, testing::ElementsAre(DatacenterLine{"east", 1, 1, 4, 0, "degraded", "most managers do not answer"},
                                        DatacenterLine{"west", 0, 0, 0, 0, "unhealthy", "no worker is registered"}));
}

TEST(Datacenters, with_a_manager_that_is_stuck_none_is_healthy) {
  std::vector<Neighbour> neighbours = with({{"w1", "east", false, true}});
  neighbours[1].stuck = true;
  EXPECT_EQ(datacenters_of(neighbours, "a", {worker("w1", 4, 4)}).at(0).reason, "a manager is stuck");
  neighbours[1].there = false;
  EXPECT_EQ(datacenters_of(neighbours, "a", {worker("w1", 4, 4)}).at(0).health, "healthy");
}

TEST(Datacenters, a_worker_that_is_stuck_is_not_healthy) {
  const auto all = datacenters_of(with({{"w1", "east", false, true}, {"w2", "east", false, true}}), "a",
                                  {worker("w1", 4, 4, "healthy", "stuck"), worker("w2", 2, 1, "healthy", "slow")});
  EXPECT_EQ(all.at(0).free, 1u);
  EXPECT_EQ(all.at(0).reason, "most workers are not healthy");
}

}  // namespace
}  // namespace bellwether::node
