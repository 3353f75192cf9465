// Elected groups while everything breaks: never two who may act, never a term twice, no vote twice, and when all is
// whole again one leader within the budget, who stays, hands over and is followed.
#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "sim/all_worlds.h"
#include "tests/sim/seeds.h"
#include "tests/sim/world_testing.h"

namespace bellwether::sim {

WorldTest world_test() {
  return {
      .worlds = {quorum_world()},
      .probes = {"elected group: a disk fails", "elected group: a record is lost",
                 "elected group: a member is killed right after its vote",
                 "elected group: a member goes on, and nobody hears it", "group work: the resource refuses a late act",
                 "quorum: members change", "quorum: a leader hands over", "quorum: a member stands by permission",
                 "quorum: a vote is refused under a promise", "quorum: a promise to the dead is withdrawn",
                 "quorum: who is still syncing lets others go first", "quorum: an older record is found out",
                 "quorum: a member finds its record lost", "quorum: a second process under one id",
                 "quorum: a message of another life", "quorum: the record could not be written"}};
}

namespace {

// The promise of the LAN profile: half a second and a little after a crash, and a hand-over that nobody notices.
TEST(QuorumTakeover, of_five_members_on_a_lan_is_within_its_budget) {
  std::vector<Duration> crash;
  std::vector<Duration> hand_over;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    const Takeover took = measure_takeover(seed, 5);
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

// Hours with a healthy leader while as many of the others as there may be stall and suspect everybody.
TEST(QuorumCalm, has_no_needless_change_in_hours_of_stress) {
  const uint64_t hours = seeds_are_asked_for() ? 24 : 4;
  const QuorumCalm calm = live_under_stress(1, Duration::hours(static_cast<int64_t>(hours)));
  EXPECT_EQ(calm.changes, 0u);
  EXPECT_GT(calm.stalls, hours * 40);
  EXPECT_GT(calm.suspicions, hours * 40);
}

}  // namespace
}  // namespace bellwether::sim
