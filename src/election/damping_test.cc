#include <gtest/gtest.h>

#include "core/base/time_testing.h"
#include "election/lease_timing.h"

namespace bellwether::election {
namespace {

TEST(Damping, elections_that_follow_each_other_wait_longer_each_time) {
  Damping damping(BackoffSettings{}, std::nullopt);
  Prng prng(1);
  EXPECT_EQ(damping.may_stand_from(at_seconds(0), prng), at_seconds(0)) << "the first at once";
  damping.leader_changed(at_seconds(0));
  for (int i = 0; i < 100; ++i) {
    const Duration wait = damping.may_stand_from(at_seconds(100), prng) - at_seconds(100);
    EXPECT_GE(wait, Duration::seconds(5));
    EXPECT_LE(wait, Duration::seconds(10));
  }
  damping.leader_changed(at_seconds(100));
  damping.leader_changed(at_seconds(200));
  for (int i = 0; i < 100; ++i) {
    const Duration wait = damping.may_stand_from(at_seconds(300), prng) - at_seconds(300);
    EXPECT_GE(wait, Duration::seconds(15));
    EXPECT_LE(wait, Duration::seconds(30)) << "it is bounded: damping never keeps the only candidate out for ever";
  }
}

TEST(Damping, counts_over_a_sliding_ten_minutes) {
  Damping damping(BackoffSettings{}, std::nullopt);
  Prng prng(1);
  damping.leader_changed(at_seconds(0));
  EXPECT_GT(damping.may_stand_from(at_seconds(599), prng), at_seconds(599));
  EXPECT_EQ(damping.may_stand_from(at_seconds(600), prng), at_seconds(600));
}

TEST(Damping, flapping_cools_down_and_ends) {
  Damping damping(std::nullopt, FlapSettings{});
  Prng prng(1);
  for (const int64_t second : {0, 10, 20}) damping.leader_changed(at_seconds(second));
  EXPECT_FALSE(damping.cooling_down(at_seconds(20)));
  damping.leader_changed(at_seconds(30));
  EXPECT_TRUE(damping.cooling_down(at_seconds(31)));
  EXPECT_EQ(damping.may_stand_from(at_seconds(31), prng), at_seconds(60));
  damping.leader_changed(at_seconds(40));
  EXPECT_EQ(damping.may_stand_from(at_seconds(41), prng), at_seconds(60))
      << "changes during a cool-down do not lengthen it";
  EXPECT_FALSE(damping.cooling_down(at_seconds(60)));
}

TEST(Damping, changes_far_apart_are_no_flapping) {
  Damping damping(std::nullopt, FlapSettings{});
  for (int64_t second = 0; second < 1000; second += 25) damping.leader_changed(at_seconds(second));
  EXPECT_FALSE(damping.cooling_down(at_seconds(1000)));
}

}  // namespace
}  // namespace bellwether::election
