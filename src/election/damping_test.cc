#include "election/damping.h"

#include <gtest/gtest.h>

namespace bellwether::election {
namespace {

Instant at(int64_t seconds) { return Instant() + Duration::seconds(seconds); }

TEST(Damping, elections_that_follow_each_other_wait_longer_each_time) {
  Damping damping(BackoffSettings{}, std::nullopt);
  Prng prng(1);
  EXPECT_EQ(damping.may_stand_from(at(0), prng), at(0)) << "the first at once";
  damping.leader_changed(at(0));
  for (int i = 0; i < 100; ++i) {
    const Duration wait = damping.may_stand_from(at(100), prng) - at(100);
    EXPECT_GE(wait, Duration::seconds(5));
    EXPECT_LE(wait, Duration::seconds(10));
  }
  damping.leader_changed(at(100));
  damping.leader_changed(at(200));
  for (int i = 0; i < 100; ++i) {
    const Duration wait = damping.may_stand_from(at(300), prng) - at(300);
    EXPECT_GE(wait, Duration::seconds(15));
    EXPECT_LE(wait, Duration::seconds(30)) << "it is bounded: damping never keeps the only candidate out for ever";
  }
}

TEST(Damping, counts_over_a_sliding_ten_minutes) {
  Damping damping(BackoffSettings{}, std::nullopt);
  Prng prng(1);
  damping.leader_changed(at(0));
  EXPECT_GT(damping.may_stand_from(at(599), prng), at(599));
  EXPECT_EQ(damping.may_stand_from(at(600), prng), at(600));
}

TEST(Damping, flapping_cools_down_and_ends) {
  Damping damping(std::nullopt, FlapSettings{});
  Prng prng(1);
  for (const int64_t second : {0, 10, 20}) damping.leader_changed(at(second));
  EXPECT_FALSE(damping.cooling_down(at(20)));
  damping.leader_changed(at(30));
  EXPECT_TRUE(damping.cooling_down(at(31)));
  EXPECT_EQ(damping.may_stand_from(at(31), prng), at(60));
  damping.leader_changed(at(40));
  EXPECT_EQ(damping.may_stand_from(at(41), prng), at(60)) << "changes during a cool-down do not lengthen it";
  EXPECT_FALSE(damping.cooling_down(at(60)));
}

TEST(Damping, changes_far_apart_are_no_flapping) {
  Damping damping(std::nullopt, FlapSettings{});
  for (int64_t second = 0; second < 1000; second += 25) damping.leader_changed(at(second));
  EXPECT_FALSE(damping.cooling_down(at(1000)));
}

}  // namespace
}  // namespace bellwether::election
