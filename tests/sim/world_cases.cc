#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <string>

#include "core/base/probe.h"
#include "tests/sim/seeds.h"
#include "tests/sim/world_testing.h"

namespace bellwether::sim {
namespace {

// Fewer are not enough to meet what is rare.
constexpr std::size_t kSeedsForFaults = 100;

TEST(Worlds, hold_whatever_breaks_and_reach_all_that_can_break) {
  const WorldTest test = world_test();
  std::map<std::string_view, uint64_t> hits;
  for (const uint64_t asked : seeds()) {
    if (asked % test.every != 0 && seeds().size() > 1) continue;
    for (const WorldRow& world : test.worlds) {
      for (uint64_t seed = asked * test.runs; seed < (asked + 1) * test.runs; ++seed) {
        const auto run = world.live({.seed = seed});
        EXPECT_EQ(run.violation, "") << "  to repeat it: " << command_for(world, {.seed = seed});
        for (std::size_t row = 0; row < run.hits.size(); ++row) hits[world.faults[row]] += run.hits[row];
      }
    }
  }
  if (seeds().size() < kSeedsForFaults) return;
  for (const auto& [fault, count] : hits) EXPECT_GT(count, 0u) << fault;
  for (const char* probe : test.probes) EXPECT_GT(Probe::hits_of(probe), 0u) << probe;
}

TEST(Worlds, give_one_run_for_one_seed) {
  for (const WorldRow& world : world_test().worlds) {
    const auto first = world.live({.seed = 1, .trace = true});
    const auto again = world.live({.seed = 1, .trace = true});
    EXPECT_EQ(again.fingerprint, first.fingerprint);
    EXPECT_EQ(again.trace, first.trace);
    EXPECT_FALSE(first.trace.empty());
    EXPECT_EQ(world.live({.seed = 1}).fingerprint, first.fingerprint);
    EXPECT_NE(world.live({.seed = 2}).fingerprint, first.fingerprint);
  }
}

// Each mistake must be found out by a broken rule of safety, unless it only brings a world to a stop: in the world that
// shows it soon, when its row names one.
struct Canary {
  WorldRow world;
  std::size_t mistake;
};

std::vector<Canary> canaries() {
  std::vector<Canary> all;
  std::map<const Mistake*, bool> seen;
  for (const WorldRow& world : world_test().worlds) {
    for (std::size_t row = 0; row < world.mistakes.size(); ++row) {
      const Mistake& mistake = world.mistakes[row];
      if (!mistake.world.empty() && mistake.world != world.name) continue;
      if (!std::exchange(seen[&mistake], true)) all.push_back({world, row + 1});
    }
  }
  return all;
}

class Mistakes : public testing::TestWithParam<Canary> {};

TEST_P(Mistakes, is_found_out) {
  const auto& [world, mistake] = GetParam();
  const uint64_t most = world_test().seeds_for_mistake;
  const auto is_found = [&](uint64_t seed) {
    const std::string violation = world.live({.seed = seed, .mistake = mistake}).violation;
    return !violation.empty() && (world.mistakes[mistake - 1].only_stops || !violation.starts_with("I13"));
  };
  const uint64_t first = world.mistakes[mistake - 1].seed;
  uint64_t seed = first;
  while (seed < first + most && !is_found(seed)) ++seed;
  EXPECT_LT(seed, first + most) << "world " << world.name << " does not see this mistake";
}

INSTANTIATE_TEST_SUITE_P(Every, Mistakes, testing::ValuesIn(canaries()), [](const auto& info) {
  std::string name(info.param.world.mistakes[info.param.mistake - 1].name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// A row whose world is misspelled would be found out by nobody.
TEST(Worlds, have_a_canary_for_every_mistake) {
  std::size_t rows = 0;
  std::map<const Mistake*, bool> tables;
  for (const WorldRow& world : world_test().worlds) {
    if (!std::exchange(tables[world.mistakes.data()], true)) rows += world.mistakes.size();
  }
  EXPECT_EQ(canaries().size(), rows);
}

}  // namespace
}  // namespace bellwether::sim
