// The figures that are promised of groups of members.
#include "sim/membership/member_world.h"

#include <gtest/gtest.h>

#include "sim/membership/anomaly_grid.h"

namespace bellwether::sim {
namespace {

TEST(Detection, of_a_crash_by_all_of_a_hundred_takes_four_seconds_at_most) {
  const Detection seen = measure_detection(membership::lan(), {.members = 100, .crashes = 30, .seed = 1});
  EXPECT_EQ(seen.missed, 0U);
  EXPECT_LE(seen.all_p99, 4.0);
  EXPECT_EQ(seen.false_positives, 0U);
}

TEST(Detection, keeps_what_the_budget_says) {
  for (const std::size_t members : {3, 10, 100}) {
    const membership::DetectionBudget budget = membership::detection_budget(membership::lan(), members);
    const Detection seen = measure_detection(membership::lan(), {.members = members, .crashes = 30, .seed = 2});
    EXPECT_EQ(seen.missed, 0U) << members;
    EXPECT_LE(seen.all_p99, budget.all_p99().seconds_f()) << members;
  }
}

TEST(IdleCost, of_a_member_of_a_thousand_is_below_a_kibibyte_a_second) {
  EXPECT_LE(measure_idle(membership::lan(), 1000, Duration::seconds(10), 1).bytes, 1024.0);
}

// A part of the grid, spread over it: the whole takes minutes (`bellwether sim --world membership-grid`).
TEST(AnomalyGrid, few_are_wrongly_declared_dead_and_for_no_more_traffic_than_swim) {
  AnomalyCounts swim;
  AnomalyCounts ours;
  for (const AnomalyCase& one : anomaly_grid(Stall::kBlocked, 1, 37)) {
    swim += run_anomaly(one, membership::plain_swim());
    ours += run_anomaly(one, membership::lan());
  }
  ASSERT_GT(swim.false_positives, 1000U);
  EXPECT_LE(static_cast<double>(ours.false_positives), 0.01 * static_cast<double>(swim.false_positives));
  EXPECT_LE(static_cast<double>(ours.false_positives_at_healthy),
            0.015 * static_cast<double>(swim.false_positives_at_healthy));
  EXPECT_LE(static_cast<double>(ours.messages), 1.05 * static_cast<double>(swim.messages));
  EXPECT_LE(ours.bytes, swim.bytes);
}

}  // namespace
}  // namespace bellwether::sim
