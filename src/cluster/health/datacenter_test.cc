#include "cluster/health/datacenter.h"

#include <gtest/gtest.h>

#include "core/base/time_testing.h"

namespace bellwether::health {
namespace {

class DatacenterTest : public testing::Test {
 protected:
  DatacenterTest() {
    for (int i = 0; i < 3; ++i) managers_.push_back({true, true, false, true, i == 0, at_seconds(10), {4, 4, 16, 8}});
  }
  void expect(DatacenterHealth health, std::string_view reason) {
    const auto verdict = judge(managers_);
    EXPECT_EQ(to_string(verdict.health), to_string(health));
    EXPECT_EQ(verdict.reason, reason);
  }
  void workers(WorkerFigures figures) {
    for (ManagerView& manager : managers_) manager.workers = figures;
  }
  std::vector<ManagerView> managers_;
};

TEST_F(DatacenterTest, all_is_well) { expect(DatacenterHealth::kHealthy, ""); }

TEST_F(DatacenterTest, without_managers_or_workers_it_is_unhealthy) {
  workers({0, 0, 0, 0});
  expect(DatacenterHealth::kUnhealthy, "no worker is registered");
  for (ManagerView& manager : managers_) manager.alive = false;
  expect(DatacenterHealth::kUnhealthy, "no manager answers");
  managers_.clear();
  expect(DatacenterHealth::kUnhealthy, "no manager answers");
}

TEST_F(DatacenterTest, a_minority_of_managers_may_be_dead) {
  managers_[0].alive = false;
  expect(DatacenterHealth::kHealthy, "");
  managers_[1].alive = false;
  expect(DatacenterHealth::kDegraded, "most managers do not answer");
}

TEST_F(DatacenterTest, a_minority_of_managers_may_be_unready) {
  managers_[0].ready = false;
  expect(DatacenterHealth::kHealthy, "");
  managers_[1].ready = false;
  expect(DatacenterHealth::kDegraded, "most managers are not ready");
}

TEST_F(DatacenterTest, a_dead_manager_is_not_ready_either) {
  managers_.resize(5, managers_[1]);
  managers_[3].ready = managers_[4].ready = false;
  expect(DatacenterHealth::kHealthy, "");
  managers_[2].alive = false;
  expect(DatacenterHealth::kDegraded, "most managers are not ready");
}

TEST_F(DatacenterTest, without_a_quorum_or_with_a_stuck_manager_it_is_degraded) {
  managers_[2].stuck = true;
  expect(DatacenterHealth::kDegraded, "a manager is stuck");
  for (ManagerView& manager : managers_) manager.has_quorum = false;
  expect(DatacenterHealth::kDegraded, "no manager has a quorum");
}

TEST_F(DatacenterTest, half_of_the_workers_are_no_majority) {
  workers({4, 3, 16, 8});
  expect(DatacenterHealth::kHealthy, "");
  workers({4, 2, 16, 8});
  expect(DatacenterHealth::kDegraded, "most workers are not healthy");
}

TEST_F(DatacenterTest, it_is_busy_when_no_core_is_free_and_nothing_else_is_wrong) {
  workers({4, 4, 16, 0});
  expect(DatacenterHealth::kBusy, "no core is free");
  managers_[1].stuck = true;
  expect(DatacenterHealth::kDegraded, "a manager is stuck");
}

TEST_F(DatacenterTest, workers_are_counted_as_the_leader_counts_them_or_whoever_was_heard_last) {
  managers_[1].workers.free_cores = 1;
  managers_[1].heard = at_seconds(11);
  managers_[2].workers.free_cores = 2;
  EXPECT_EQ(judge(managers_).workers.free_cores, 8);
  managers_[0].alive = false;
  EXPECT_EQ(judge(managers_).workers.free_cores, 1);
}

}  // namespace
}  // namespace bellwether::health
