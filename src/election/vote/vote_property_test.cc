// For every behaviour of network, disks and clocks within the assumptions: no two admins act at once, a term has one
// admin, terms of admins grow, and when the faults stop all nodes know one admin.
#include <gtest/gtest.h>

#include "core/base/cases_testing.h"
#include "election/vote/vote_testing.h"

namespace bellwether::vote {
namespace {

// Of disks that survive: what was confirmed is there after a crash.
void disturb(VoteGroup& group, Prng& prng, std::size_t nodes) {
  const uint64_t id = 1 + prng.below(nodes);
  const uint64_t other = 1 + prng.below(nodes);
  switch (prng.below(12)) {
    case 0:
    case 1:
      if (group.is_up(id)) {
        group.stop(id);
        group.claims[id].uptime = Duration::zero();
      }
      break;
    case 2:
    case 3:
      if (!group.is_up(id)) group.start(id);
      break;
    case 4: group.isolate(id); break;
    case 5:
      if (id != other) group.cut(id, other);
      break;
    case 6: group.mend(); break;
    case 7: group.paused = {id}; break;
    case 8: group.paused.clear(); break;
    case 9:
      if (prng.chance(0.5)) {
        group.failing_disks = {id};
      } else {
        group.failing_disks.clear();
      }
      break;
    case 10:
      if (group.is_up(id)) group.say(id, CallElection{prng.chance(0.5)});
      break;
    default:
      if (group.is_up(id)) group.say(id, Transfer{NodeId(other)});
      break;
  }
}

void live_through(uint64_t seed) {
  Prng prng(seed);
  const std::size_t nodes = 2 + prng.below(6);
  VoteGroup group(nodes, VoteTiming::lan(), prng.next());
  for (uint64_t id = 1; id <= nodes; ++id) {
    group.rates[id] = 0.99 + 0.02 * prng.unit();
    group.claims[id].resources.cpu_used = prng.unit();
    group.claims[id].uptime = Duration::zero();
    if (prng.chance(0.2) && id > 1) group.claims[id].capabilities = {"semantic_analysis"};
  }
  group.loss = prng.chance(0.5) ? 0.3 * prng.unit() : 0;
  group.doubled = 0.1;
  group.longest_delay = Duration::millis(1 + static_cast<int64_t>(prng.below(80)));
  group.start_all();
  const uint64_t turns = 10 + prng.below(40);
  for (uint64_t turn = 0; turn < turns; ++turn) {
    group.run(prng.between(Duration::millis(1), Duration::millis(prng.chance(0.3) ? 3'000 : 300)));
    disturb(group, prng, nodes);
    if (!group.wrong.empty()) break;
  }
  ASSERT_TRUE(group.wrong.empty()) << "seed " << seed << ": " << group.wrong.front();
  group.mend();
  group.paused.clear();
  group.failing_disks.clear();
  group.loss = 0;
  group.longest_delay = Duration::millis(2);
  for (uint64_t id = 1; id <= nodes; ++id) {
    if (!group.is_up(id)) group.start(id);
  }
  const auto settled = [&] { return group.admin() != 0 && group.all_know(group.admin()); };
  for (int i = 0; i < 300 && !settled(); ++i) group.run(Duration::millis(100));
  EXPECT_TRUE(settled()) << "seed " << seed << ": nobody leads after all has been well for 30 s";
  group.run(Duration::seconds(5));
  EXPECT_NE(group.admin(), 0u) << "seed " << seed;
  EXPECT_TRUE(group.wrong.empty()) << "seed " << seed << ": " << group.wrong.front();
}

TEST(VoteProperty, one_admin_whatever_happens) {
  for (uint64_t seed = 1; seed <= cases(100) && !testing::Test::HasFailure(); ++seed) live_through(seed);
}

}  // namespace
}  // namespace bellwether::vote
