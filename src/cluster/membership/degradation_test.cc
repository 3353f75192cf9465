#include <gtest/gtest.h>

#include "cluster/membership/membership_events.h"

namespace bellwether::membership {
namespace {

TEST(Degradation, the_worse_of_score_and_lag_counts) {
  EXPECT_EQ(degradation_of(0, 0), Degradation::kNormal);
  EXPECT_EQ(degradation_of(1, 0.49), Degradation::kNormal);
  EXPECT_EQ(degradation_of(2, 0), Degradation::kElevated);
  EXPECT_EQ(degradation_of(0, 0.5), Degradation::kElevated);
  EXPECT_EQ(degradation_of(4, 0.5), Degradation::kHigh);
  EXPECT_EQ(degradation_of(0, 2.0), Degradation::kSevere);
  EXPECT_EQ(degradation_of(6, 0), Degradation::kSevere);
  EXPECT_EQ(degradation_of(7, 0), Degradation::kCritical);
  EXPECT_EQ(degradation_of(0, 4.0), Degradation::kCritical);
}

TEST(Degradation, each_level_withdraws_further) {
  DegradedConduct before = conduct(Degradation::kNormal);
  EXPECT_EQ(before.stretch, 1);
  for (const Degradation level :
       {Degradation::kElevated, Degradation::kHigh, Degradation::kSevere, Degradation::kCritical}) {
    const DegradedConduct now = conduct(level);
    EXPECT_GT(now.stretch, before.stretch);
    EXPECT_GE(now.skipped_probes, before.skipped_probes);
    EXPECT_LE(now.piggyback, before.piggyback);
    before = now;
  }
  EXPECT_TRUE(before.refuse_new_work);
}

}  // namespace
}  // namespace bellwether::membership
