// Groups of members while everything breaks, the well-known mistakes, and the figures that are promised.
#include "sim/membership/member_world.h"

#include <gtest/gtest.h>

#include "sim/membership/anomaly_grid.h"
#include "sim/membership/detection.h"
#include "sim/membership/membership_commands.h"
#include "sim/membership/membership_run.h"

namespace bellwether::sim {
namespace {

TEST(MembershipWorld, holds_its_invariants_whatever_breaks) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const MembershipRun run = live_membership(seed);
    EXPECT_EQ(run.violation, "") << "bellwether sim --world membership --seed " << seed;
  }
}

TEST(MembershipWorld, one_seed_gives_one_run) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const uint64_t first = live_membership(seed).fingerprint;
    EXPECT_EQ(live_membership(seed).fingerprint, first);
    EXPECT_NE(live_membership(seed + 1).fingerprint, first);
  }
}

class MembershipCanary : public testing::TestWithParam<int> {};

TEST_P(MembershipCanary, is_found_out) {
  const auto mistake = static_cast<MembershipMistake>(GetParam());
  uint64_t seed = 1;
  while (seed <= 300 && live_membership(seed, mistake).violation.empty()) ++seed;
  EXPECT_LE(seed, 300U) << "the world does not see this mistake: " << to_string(mistake);
}

INSTANTIATE_TEST_SUITE_P(Every, MembershipCanary, testing::Range(1, kMembershipMistakes));

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

TEST(MembershipCommands, tell_of_one_run_and_of_many) {
  const MembershipReport one = run_membership({.world = "membership", .seed = 3});
  EXPECT_TRUE(one.held);
  EXPECT_NE(one.text.find("the world is whole again"), std::string::npos);
  EXPECT_NE(one.text.find("everything held"), std::string::npos);
  const MembershipReport many = run_membership({.world = "membership", .seeds = 3, .mistake = "proof-from-timeout"});
  EXPECT_FALSE(many.held);
  EXPECT_NE(many.text.find("--mistake proof-from-timeout"), std::string::npos);
  EXPECT_FALSE(run_membership({.world = "membership", .mistake = "unheard-of"}).known);
  EXPECT_FALSE(run_membership({.world = "leadership-redis"}).known);
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
