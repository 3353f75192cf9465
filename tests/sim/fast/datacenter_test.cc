// A whole datacenter while everything breaks: what was measured counts once, every job ends, and nothing is left over.
#include <algorithm>
#include <gtest/gtest.h>
#include <string>

#include "base/probe.h"
#include "sim/datacenter/datacenter_world.h"
#include "tests/sim/seeds.h"

namespace bellwether::sim {
namespace {

// These worlds are large: one run for ten seeds that are asked for.
Judgement live(uint64_t seed) {
  if (seed % 10 != 0 && seeds().size() > 1) return {};
  const std::string violation = live_datacenter(seed).violation;
  if (violation.empty()) return {};
  return violation + "\n  bellwether sim --world datacenter --seed " + std::to_string(seed);
}

TEST(Datacenter, counts_what_was_measured_once_whatever_breaks) { expect_good(&live); }

TEST(DatacenterWorld, one_seed_gives_one_run) {
  const DatacenterRun first = live_datacenter(1, DatacenterMistake::kNone, true);
  const DatacenterRun again = live_datacenter(1, DatacenterMistake::kNone, true);
  EXPECT_EQ(again.fingerprint, first.fingerprint);
  EXPECT_EQ(again.trace, first.trace);
  EXPECT_FALSE(first.trace.empty());
  EXPECT_NE(live_datacenter(2).fingerprint, first.fingerprint);
}

TEST(DatacenterWorld, a_share_that_stands_still_goes_on_elsewhere) {
  constexpr const char* kEvicted = "dispatch: a share that stands still is given to somebody else";
  constexpr uint64_t kMostSeeds = 200;
  for (uint64_t seed = 1; seed <= kMostSeeds && Probe::hits_of(kEvicted) == 0; ++seed) {
    EXPECT_EQ(live_datacenter(seed).violation, "") << "seed " << seed;
  }
  EXPECT_GT(Probe::hits_of(kEvicted), 0u);
}

class DatacenterCanary : public testing::TestWithParam<int> {};

TEST_P(DatacenterCanary, is_found_out) {
  constexpr uint64_t kMostSeeds = 60;
  const auto mistake = static_cast<DatacenterMistake>(GetParam());
  uint64_t seed = 1;
  while (seed <= kMostSeeds && live_datacenter(seed, mistake).violation.empty()) ++seed;
  EXPECT_LE(seed, kMostSeeds) << "the world does not see this mistake: " << to_string(mistake);
}

INSTANTIATE_TEST_SUITE_P(Every, DatacenterCanary, testing::Range(1, kDatacenterMistakes), [](const auto& info) {
  std::string name(to_string(static_cast<DatacenterMistake>(info.param)));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace bellwether::sim
