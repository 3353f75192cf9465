#include "election/vote/vote_elector.h"
#include "election/vote/vote_testing.h"

namespace bellwether::vote {
namespace {

using LedVoteDiscovery = LedVote<3>;

TEST_F(LedVoteDiscovery, an_admin_that_is_known_from_hearsay_alone_is_not_believed_for_ever) {
  group.stop(3);
  group.start(3);
  group.part(1, 3);
  EXPECT_TRUE(group.run_until(Duration::seconds(2), [&] { return group[3].admin() == NodeId(1); }));
  EXPECT_EQ(group.all<AdminChanged>(3).back().evidence, "node 2 reports an admin");
  EXPECT_TRUE(group.run_until(kLan.heartbeat_timeout * 2, [&] { return group[3].admin() == kNobody; }));
  EXPECT_EQ(group.admin(), 1u);
}

// Two that believe each other, one always a little longer than the other.
TEST(VoteDiscovery, hearsay_does_not_go_in_a_circle) {
  VoteGroup group(4);
  ASSERT_EQ(group.lead(), 1u);
  group.part(1, 2), group.part(1, 3);
  for (const uint64_t id : {2u, 3u}) {
    group.stop(id);
    group.start(id);
    ASSERT_TRUE(group.run_until(Duration::seconds(5), [&] { return group[id].admin() == NodeId(1); }));
    // Longer than it takes one to ask the other after it has given the admin up.
    if (id == 2) group.run(kLan.heartbeat_timeout * 2 / 3);
  }
  group.stop(1), group.stop(4);
  group.forget();
  group.run(kLan.heartbeat_timeout * 5);
  for (const uint64_t id : {2u, 3u}) {
    for (const AdminChanged& one : group.all<AdminChanged>(id)) {
      EXPECT_EQ(one.new_admin, kNobody) << id << ": " << one.evidence;
    }
  }
}

TEST_F(LedVoteDiscovery, hearsay_is_forgotten_when_an_election_brings_nobody) {
  group.stop(3);
  group.claims[3].uptime = Duration::zero();
  group.start(3);
  group.part(1, 3);
  // Node 2 repeats it while it hears the admin; after its quiet time node 3 could join an election.
  group.run(kLan.promise() * 2);
  ASSERT_TRUE(group.run_until(Duration::seconds(2), [&] { return group[3].admin() == NodeId(1); }));
  group.part(2, 3);
  group.hear(3, group.forged(2, ElectionStarted{Term(2), Trigger::kManual, std::nullopt}));
  ASSERT_EQ(group[3].state(), State::kElecting);
  group.run(Duration::seconds(10));
  EXPECT_EQ(group[3].admin(), kNobody);
}

TEST(VoteDiscovery, who_cannot_hear_the_admin_does_not_depose_it) {
  VoteGroup group(5);
  ASSERT_EQ(group.lead(), 1u);
  // One way only: 5 hears no node, and all nodes hear 5.
  for (uint64_t id = 1; id <= 4; ++id) group.cut(id, 5);
  group.run(Duration::minutes(2));
  EXPECT_EQ(group.admin(), 1u);
  EXPECT_EQ(group.count<Elected>(), 1u);
  EXPECT_EQ(group[5].record().term, Term(1)) << "a term is not used up without a majority";
  group.mend();
  group.run(Duration::seconds(3));
  EXPECT_TRUE(group.all_know(1));
  EXPECT_EQ(group.count<Elected>(), 1u);
}

TEST(VoteDiscovery, who_sees_a_majority_again_does_not_wait_for_discovery) {
  VoteTiming timing = VoteTiming::standard();
  VoteGroup group(3, timing);
  ASSERT_EQ(group.lead(), 1u);
  group.part(1, 2), group.part(2, 3), group.part(1, 3);
  group.run(Duration::minutes(5));
  EXPECT_EQ(group.admin(), 0u);
  group.mend();
  EXPECT_TRUE(group.run_until(timing.discovery + timing.gather * 3, [&] { return group.admin() != 0; }));
  std::size_t restored = 0;
  for (uint64_t id = 1; id <= 3; ++id) {
    for (const Broadcast& one : group.all<Broadcast>(id)) {
      const auto* started = std::get_if<ElectionStarted>(&one.message.body);
      restored += started != nullptr && started->trigger == Trigger::kQuorumRestored;
    }
  }
  EXPECT_GE(restored, 1u);
}

TEST_F(LedVoteDiscovery, an_election_that_is_called_respects_the_windows_unless_it_is_forced) {
  group.say(2, CallElection{});
  EXPECT_EQ(group.denied(2), "node 1 is the admin: send the request to it");
  group.say(1, CallElection{});
  EXPECT_NE(group.denied(1).find("the last election was too recent"), std::string::npos);
  EXPECT_EQ(group.all<Drain>(1).size(), 0u);
  group.say(1, CallElection{true});
  EXPECT_TRUE(group.run_until(Duration::seconds(1), [&] { return group[1].admin_term() == Term(2); }));
  group.run(kLan.leader_min_term);
  group.say(group.admin(), CallElection{});
  EXPECT_TRUE(group.run_until(Duration::seconds(1), [&] { return group[1].admin_term() == Term(3); }));
  expect_sound(group);
}

TEST(VoteDiscovery, an_election_that_is_called_during_another_follows_when_that_brings_nobody) {
  VoteGroup group(3);
  group.start_all();
  ASSERT_TRUE(group.run_until(Duration::seconds(3), [&] { return group[1].state() == State::kElecting; }));
  group.part(1, 2), group.part(1, 3), group.part(2, 3);
  group.say(1, CallElection{});
  EXPECT_TRUE(group.was_noted(1, "the requested one follows if it has no winner"));
  group.run(kLan.election);
  group.mend();
  group.forget();
  ASSERT_TRUE(group.run_until(Duration::seconds(10), [&] { return group.admin() != 0; }));
  bool called = false;
  for (const Broadcast& one : group.all<Broadcast>(1)) {
    const auto* started = std::get_if<ElectionStarted>(&one.message.body);
    called |= started != nullptr && started->trigger == Trigger::kManual;
  }
  EXPECT_TRUE(called);
}

}  // namespace
}  // namespace bellwether::vote
