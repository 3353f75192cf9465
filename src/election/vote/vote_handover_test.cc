#include "election/vote/vote_elector.h"
#include "election/vote/vote_testing.h"

namespace bellwether::vote {
namespace {

using LedVoteHandover = LedVote<3>;
using LedVoteHandoverOfFive = LedVote<5>;

TEST_F(LedVoteHandover, an_admin_that_was_worse_for_long_hands_over) {
  group.run(kLan.leader_min_term);
  Claim poor = group.claims[1];
  poor.resources = {1, 1, 1, 0.2};
  group.say(1, Measured{poor});
  group.run(kLan.heartbeat() * 4);
  EXPECT_EQ(group.admin(), 1u) << "not at once";
  EXPECT_TRUE(group.run_until(kLan.heartbeat() * 10, [&] { return group.admin() == 2; }));
  EXPECT_EQ(group.all<TermEnded>(1).at(0).reason, election::EndReason::kResigned);
  expect_sound(group);
}

TEST_F(LedVoteHandoverOfFive, a_transfer_names_its_heir_and_passes_the_windows) {
  group.say(1, Transfer{NodeId(4)});
  EXPECT_TRUE(group.run_until(Duration::millis(50), [&] { return group.admin() == 4; }));
  EXPECT_EQ(group.all<Drain>(1).size(), 1u);
  EXPECT_EQ(group[4].admin_term(), Term(2));
  expect_sound(group);
}

TEST_F(LedVoteHandoverOfFive, a_transfer_to_nobody_in_particular_goes_to_the_best_of_the_others) {
  group.run(Duration::seconds(2));
  group.say(1, Transfer{kNobody});
  EXPECT_TRUE(group.run_until(Duration::millis(50), [&] { return group.admin() == 2; }));
  for (uint64_t id = 1; id <= 5; ++id) {
    if (id != 2) group.stop(id);
  }
  VoteGroup alone(1);
  ASSERT_EQ(alone.lead(), 1u);
  alone.say(1, Transfer{kNobody});
  EXPECT_EQ(alone.denied(1), "no other candidate answers");
  EXPECT_EQ(alone.admin(), 1u);
}

TEST_F(LedVoteHandover, a_heartbeat_that_it_has_overtaken_brings_nobody_back) {
  group.run(Duration::seconds(2));
  const Message beat = group.forged(1, Heartbeat{Term(1), 99});
  const Message hearsay = group.forged(3, DiscoveryResponse{NodeId(1), Term(1), 0, 0});
  group.say(1, Transfer{NodeId(2), "maintenance"});
  ASSERT_TRUE(group.run_until(Duration::seconds(1), [&] { return group[2].state() == State::kElecting; }));
  group.hear(2, beat);
  group.hear(2, hearsay);
  EXPECT_EQ(group[2].state(), State::kElecting);
  EXPECT_EQ(group[2].admin(), kNobody);
  EXPECT_TRUE(group.run_until(Duration::millis(100), [&] { return group.admin() == 2; }));
}

// It has just been started, and is quiet for as long as it may have promised something.
TEST_F(LedVoteHandover, who_may_take_no_part_in_it_looks_for_the_next_admin) {
  group.stop(3);
  group.start(3);
  ASSERT_TRUE(group.run_until(Duration::millis(500), [&] { return group[3].admin() == NodeId(1); }));
  group.part(1, 3), group.part(2, 3);
  group.hear(3, group.forged(1, ElectionStarted{Term(2), Trigger::kManual, Permission{Term(1), NodeId(2)}}));
  EXPECT_EQ(group[3].state(), State::kDiscovering);
  EXPECT_EQ(group[3].admin(), kNobody);
  EXPECT_LT(group[3].wake(), Instant::never());
  group.hear(3, group.forged(2, DiscoveryResponse{NodeId(1), Term(1), 0, 0}));
  EXPECT_EQ(group[3].admin(), kNobody) << "what node 2 says it has heard before";
}

TEST(VoteHandover, a_transfer_that_cannot_be_is_denied) {
  VoteGroup group(3);
  group.claims[3].capabilities = {};
  ASSERT_EQ(group.lead(), 1u);
  group.run(Duration::seconds(2));
  group.say(2, Transfer{NodeId(1)});
  EXPECT_EQ(group.denied(2), "this node is not the admin");
  group.say(1, Transfer{NodeId(9)});
  EXPECT_EQ(group.denied(1), "there is no such node");
  group.say(1, Transfer{NodeId(3)});
  EXPECT_EQ(group.denied(1), "the heir is not a candidate");
  group.work_stops_at_once = false;
  group.say(1, Transfer{NodeId(2)});
  group.say(1, Transfer{NodeId(2)});
  EXPECT_EQ(group.denied(1), "it is handing over already: it hands over to node 2");
}

TEST(VoteHandover, an_heir_that_does_not_take_over_leaves_the_office_to_who_had_it) {
  VoteGroup group(4);
  ASSERT_EQ(group.lead(), 1u);
  group.run(Duration::seconds(2));
  // The node that would win by scores now.
  Claim better = group.claims[3];
  better.resources.cpu_used = 0;
  group.say(3, Measured{better});
  group.say(1, Transfer{NodeId(2)});
  group.stop(2);
  group.run(Duration::millis(10));
  EXPECT_EQ(group.admin(), 0u);
  EXPECT_TRUE(group.run_until(kLan.transfer + Duration::millis(50), [&] { return group.admin() == 1; }));
  EXPECT_GT(group[1].admin_term(), Term(1));
  EXPECT_TRUE(group.was_noted(1, "the heir did not take over in time"));
  expect_sound(group);
}

TEST_F(LedVoteHandover, work_that_does_not_stop_ends_the_term_all_the_same) {
  group.run(Duration::seconds(5));
  group.work_stops_at_once = false;
  group.say(1, Transfer{NodeId(2)});
  group.run(Duration::seconds(29));
  EXPECT_EQ(group.admin(), 1u);
  EXPECT_TRUE(group.run_until(Duration::seconds(10), [&] { return group.admin() == 2; }));
  EXPECT_EQ(group.all<TermEnded>(1).at(0).reason, election::EndReason::kUnhealthy);
  EXPECT_EQ(group[1].office(), Office::kStopping);
  group.say(1, WorkStopped{});
  EXPECT_EQ(group[1].office(), Office::kNone);
}

TEST_F(LedVoteHandover, one_that_leaves_does_not_stand_again) {
  group.say(1, Leave{"it is stopped"});
  EXPECT_TRUE(group.run_until(Duration::seconds(1), [&] { return group.admin() == 2; }));
  EXPECT_EQ(group.all<Left>(1).size(), 1u);
  expect_sound(group);
}

}  // namespace
}  // namespace bellwether::vote
