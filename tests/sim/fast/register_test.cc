// The register of a job while everything breaks: every answer fits into one order of writes and reads, each between its
// asking and its answer; no two owners under one fence, none beside another. Every well-known mistake must be found
// out.
#include <algorithm>
#include <gtest/gtest.h>
#include <string>

#include "base/probe.h"
#include "sim/quorum/register_world.h"
#include "tests/sim/seeds.h"

namespace bellwether::sim {
namespace {

Judgement live(uint64_t seed) {
  for (uint64_t run = seed * 10; run < seed * 10 + 10; ++run) {
    const std::string violation = live_register(run).violation;
    if (!violation.empty()) return violation + "\n  bellwether sim --world register --seed " + std::to_string(run);
  }
  return {};
}

TEST(Register, is_linearizable_whatever_breaks) { expect_good(&live); }

TEST(RegisterWorld, one_seed_gives_one_run) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const uint64_t first = live_register(seed).fingerprint;
    EXPECT_EQ(live_register(seed).fingerprint, first);
    EXPECT_NE(live_register(seed + 1).fingerprint, first);
  }
}

class RegisterCanary : public testing::TestWithParam<int> {};

TEST_P(RegisterCanary, is_found_out) {
  constexpr uint64_t kMostSeeds = 5'000;
  const auto mistake = static_cast<RegisterMistake>(GetParam());
  const auto is_found = [&](uint64_t seed) {
    const std::string violation = live_register(seed, mistake).violation;
    return !violation.empty() && !violation.starts_with("I13");
  };
  uint64_t seed = 1;
  while (seed <= kMostSeeds && !is_found(seed)) ++seed;
  EXPECT_LE(seed, kMostSeeds) << "the world does not see this mistake: " << to_string(mistake);
}

INSTANTIATE_TEST_SUITE_P(Every, RegisterCanary, testing::Range(1, kRegisterMistakes), [](const auto& info) {
  std::string name(to_string(static_cast<RegisterMistake>(info.param)));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(RegisterWorld, reaches_every_kind_of_fault) {
  for (uint64_t seed = 1; seed <= 500; ++seed) live_register(seed);
  for (const char* probe :
       {"register world: everybody crashes", "register world: a node is paused", "register world: nodes are apart",
        "register world: the network is slow and loses messages", "register world: a disk fails",
        "register: a job is held under a lease", "register: a write under an older fence is refused",
        "register: a record could not be written", "register: an owner learns that it is none any more"}) {
    EXPECT_GT(Probe::hits_of(probe), 0u) << probe;
  }
}

}  // namespace
}  // namespace bellwether::sim
