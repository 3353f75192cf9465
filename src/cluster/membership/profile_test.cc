#include "cluster/membership/profile.h"

#include <gtest/gtest.h>

namespace bellwether::membership {
namespace {

TEST(Figures, are_found_by_name) {
  for (const std::string_view name : {"lan", "wan", "local"}) EXPECT_EQ(figures_named(name)->name, name);
  EXPECT_FALSE(figures_named("moon"));
}

TEST(Figures, of_every_profile_fit_together) {
  for (const Figures& f : {lan(), wan(), local(), plain_swim(), lifeguard_as_published()}) {
    EXPECT_LE(f.timeout_min, f.timeout_max) << f.name;
    EXPECT_LE(f.timeout_max * 2, f.verdict_after) << f.name << ": proxies have time to say that they failed";
    EXPECT_LE(spread(f, 100), f.sync_settle) << f.name << ": views are compared after news has spread";
    EXPECT_GE(suspicion_max(f, 100), suspicion_min(f, 100)) << f.name;
  }
}

TEST(Figures, suspicion_grows_with_the_logarithm_of_the_group) {
  const Figures f = lan();
  EXPECT_EQ(suspicion_min(f, 3), f.suspicion_unit);
  EXPECT_EQ(suspicion_min(f, 10), f.suspicion_unit);
  EXPECT_EQ(suspicion_min(f, 100).ms(), (f.suspicion_unit * 2).ms());
  EXPECT_EQ(suspicion_min(f, 10'000).ms(), (f.suspicion_unit * 4).ms());
}

TEST(Figures, the_budget_of_a_lan_keeps_what_is_promised) {
  EXPECT_LE(detection_budget(lan(), 100).first_p99(), Duration::seconds(4));
  EXPECT_LE(detection_budget(lan(), 10'000).all_p99(), Duration::seconds(8));
  EXPECT_GT(detection_budget(plain_swim(), 100).first_p99(), Duration::seconds(14));
}

}  // namespace
}  // namespace bellwether::membership
