// Elected groups while everything breaks: never two who may act, never a term twice, no vote twice, and when all is
// whole again one leader within the budget, who stays, hands over and is followed. Every well-known mistake must be
// found out by a broken rule of safety, not by a group that merely comes to a stop.
#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "base/probe.h"
#include "sim/quorum/quorum_world.h"
#include "tests/sim/seeds.h"

namespace bellwether::sim {
namespace {

Judgement live(uint64_t seed) {
  // These worlds are small: ten runs for each seed that is asked for.
  for (uint64_t run = seed * 10; run < seed * 10 + 10; ++run) {
    const std::string violation = live_quorum(run).violation;
    if (!violation.empty()) return violation + "\n  bellwether sim --world quorum --seed " + std::to_string(run);
  }
  return {};
}

TEST(Quorum, holds_its_invariants_whatever_breaks) { expect_good(&live); }

TEST(QuorumWorld, one_seed_gives_one_run) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const uint64_t first = live_quorum(seed).fingerprint;
    EXPECT_EQ(live_quorum(seed).fingerprint, first);
    EXPECT_NE(live_quorum(seed + 1).fingerprint, first);
  }
}

class QuorumCanary : public testing::TestWithParam<int> {};

TEST_P(QuorumCanary, is_found_out) {
  constexpr uint64_t kMostSeeds = 5'000;
  const auto mistake = static_cast<QuorumMistake>(GetParam());
  const auto is_found = [&](uint64_t seed) {
    const std::string violation = live_quorum(seed, mistake).violation;
    return !violation.empty() && !violation.starts_with("I13");
  };
  uint64_t seed = 1;
  while (seed <= kMostSeeds && !is_found(seed)) ++seed;
  EXPECT_LE(seed, kMostSeeds) << "the world does not see this mistake: " << to_string(mistake);
}

INSTANTIATE_TEST_SUITE_P(Every, QuorumCanary, testing::Range(1, kQuorumMistakes), [](const auto& info) {
  std::string name(to_string(static_cast<QuorumMistake>(info.param)));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(QuorumWorld, reaches_every_kind_of_fault) {
  for (uint64_t seed = 1; seed <= 1500; ++seed) live_quorum(seed);
  for (const char* probe : {"group world: a member is paused",
                            "group network: a member does not hear, or is not heard",
                            "group network: a link flaps",
                            "group network: members are clogged one after the other",
                            "group network: slow, and messages are lost",
                            "group network: two sides",
                            "group network: a bridge",
                            "group network: a member hears everything late, and then nothing",
                            "group network: a ring of majorities",
                            "group network: one way only",
                            "group world: old messages are replayed",
                            "quorum world: a disk is slow or fails",
                            "quorum world: a disk fails",
                            "quorum world: a disk goes back in time",
                            "quorum world: a record is lost",
                            "quorum world: everybody crashes",
                            "quorum world: one id, two processes",
                            "quorum world: a promised member starts anew beside a candidate",
                            "quorum world: a member is killed right after its vote",
                            "group work: the resource refuses a late act",
                            "quorum: members change",
                            "quorum: a leader hands over",
                            "quorum: a member stands by permission",
                            "quorum: a vote is refused under a promise",
                            "quorum: a promise to the dead is withdrawn",
                            "quorum: who is still syncing lets others go first",
                            "quorum: an older record is found out",
                            "quorum: a member finds its record lost",
                            "quorum: a second process under one id",
                            "quorum: a message of another life",
                            "quorum: the record could not be written"}) {
    EXPECT_GT(Probe::hits_of(probe), 0u) << probe;
  }
}

// The promise of the LAN profile: half a second and a little after a crash, and a hand-over that nobody notices.
TEST(QuorumTakeover, of_five_members_on_a_lan_is_within_its_budget) {
  std::vector<Duration> crash;
  std::vector<Duration> hand_over;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    const QuorumTakeover took = measure_takeover(seed, 5);
    crash.push_back(took.crash);
    hand_over.push_back(took.hand_over);
  }
  std::sort(crash.begin(), crash.end());
  std::sort(hand_over.begin(), hand_over.end());
  EXPECT_LE(crash[200], Duration::millis(600));
  EXPECT_LE(crash[396], Duration::millis(1500));
  EXPECT_LE(hand_over[396], Duration::millis(50));
}

TEST(QuorumStart, of_one_three_and_five_members_gives_a_leader) {
  for (const std::size_t members : {std::size_t{3}, std::size_t{5}}) {
    EXPECT_GT(measure_takeover(1, members).crash, Duration::zero());
  }
}

// A day with a healthy leader while as many of the others as there may be stall and suspect everybody.
TEST(QuorumCalm, has_no_needless_change_in_a_day_of_stress) {
  const QuorumCalm calm = live_under_stress(1, Duration::hours(24));
  EXPECT_EQ(calm.changes, 0u);
  EXPECT_GT(calm.stalls, 1000u);
  EXPECT_GT(calm.suspicions, 1000u);
}

}  // namespace
}  // namespace bellwether::sim
