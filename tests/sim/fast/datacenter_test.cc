// A whole datacenter while everything breaks: what was measured counts once, every job ends, and nothing is left over.
#include <gtest/gtest.h>

#include "core/base/probe.h"
#include "sim/all_worlds.h"
#include "tests/sim/seeds.h"
#include "tests/sim/world_testing.h"

namespace bellwether::sim {

// These worlds are large: two runs for five seeds that are asked for.
WorldTest world_test() {
  return {.worlds = {datacenter_worlds()[0], datacenter_worlds()[3], datacenter_worlds()[4]},
          .runs = 2,
          .every = 5,
          .seeds_for_mistake = 200,
          .probes = {"datacenter: a context is made", "datacenter: an assignment stops because its permit has ended",
                     "datacenter: an assignment reaches the timeout of its workflow"}};
}

namespace {

TEST(DatacenterWorld, an_assignment_that_stands_still_goes_on_elsewhere) {
  constexpr const char* kEvicted = "dispatch: an assignment that stands still is given to somebody else";
  constexpr uint64_t kMaxSeeds = 200;
  for (uint64_t seed = 1; seed <= kMaxSeeds && Probe::hits_of(kEvicted) == 0; ++seed) {
    EXPECT_EQ(datacenter_worlds()[0].live({.seed = seed}).violation, "") << "seed " << seed;
  }
  EXPECT_GT(Probe::hits_of(kEvicted), 0u);
}

// A run takes minutes: one for two hundred seeds, and only if somebody asks for seeds, as `./dev check` does.
TEST(DatacenterWorld, of_a_thousand_workers_holds) {
  if (!seeds_are_asked_for()) GTEST_SKIP() << "one of its runs takes minutes: ./dev sim runs it";
  const WorldRow& world = datacenter_worlds()[2];
  ASSERT_EQ(world.name, "datacenter-thousand");
  for (const uint64_t asked : seeds()) {
    if (asked % 200 != 0 && seeds().size() > 1) continue;
    EXPECT_EQ(world.live({.seed = asked}).violation, "") << "  to repeat it: " << command_for(world, {.seed = asked});
  }
}

}  // namespace
}  // namespace bellwether::sim
