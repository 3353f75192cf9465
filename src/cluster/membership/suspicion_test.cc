#include <gtest/gtest.h>

#include "cluster/membership/membership.h"

namespace bellwether::membership {
namespace {

TEST(Suspicion, lasts_shorter_with_each_accuser_between_its_bounds) {
  Suspicion one;
  one.min = Duration::seconds(1);
  one.max = Duration::seconds(6);
  one.enough = 3;
  Duration before = Duration::seconds(7);
  for (uint32_t accuser = 1; accuser <= 4; ++accuser) {
    EXPECT_TRUE(one.accusers.add(accuser));
    EXPECT_FALSE(one.accusers.add(accuser)) << "an accuser counts once";
    EXPECT_LT(one.timeout(), before);
    before = one.timeout();
  }
  EXPECT_EQ(one.timeout(), one.min);
}

TEST(Suspicion, follows_the_formula_of_lifeguard) {
  const Duration min = Duration::seconds(10);
  const Duration max = Duration::seconds(60);
  EXPECT_EQ(suspicion_timeout(min, max, 0, 3), max);
  EXPECT_NEAR(suspicion_timeout(min, max, 1, 3).seconds_f(), 35.0, 1e-6);
  EXPECT_EQ(suspicion_timeout(min, max, 3, 3).ms(), min.ms());
  EXPECT_EQ(suspicion_timeout(min, max, 9, 3), min);
  EXPECT_EQ(suspicion_timeout(min, max, 0, 0), min) << "nobody is there to confirm";
}

}  // namespace
}  // namespace bellwether::membership
