// What others say that is wrong: of earlier lives, doubled, forged, inflated, contradictory.
#include <gtest/gtest.h>

#include "election/vote/vote_testing.h"

namespace bellwether::vote {
namespace {

using LedVoteMessages = LedVote<3>;

TEST_F(LedVoteMessages, a_stranger_is_not_listened_to) {
  group.hear(2, {NodeId(9), 1, 1, 1, Term(7), Heartbeat{Term(7), 1}});
  EXPECT_TRUE(group.was_refused(2, "it is not a member"));
  EXPECT_EQ(group[2].admin(), NodeId(1));
}

TEST_F(LedVoteMessages, what_was_recorded_counts_once) {
  group.run(Duration::seconds(2));
  const Message beat = group.forged(1, Heartbeat{Term(1), 1});
  const std::size_t before = group.sent<HeartbeatAnswer>(2);
  group.hear(2, beat);
  EXPECT_EQ(group.sent<HeartbeatAnswer>(2), before + 1);
  group.hear(2, beat);
  EXPECT_EQ(group.sent<HeartbeatAnswer>(2), before + 1);
  EXPECT_TRUE(group.was_refused(2, "it was received before"));
}

TEST_F(LedVoteMessages, what_is_refused_counts_each_time_by_its_reason) {
  const auto refused = [&](Refusal why) { return group[2].refusals()[static_cast<std::size_t>(why)]; };
  const Message beat = group.forged(1, Heartbeat{Term(1), 1});
  for (int i = 0; i < 4; ++i) group.hear(2, beat);
  EXPECT_EQ(refused(Refusal::kReplay), 3u) << "told once, and counted each time";
  group.hear(2, {NodeId(9), 1, 1, 1, Term(7), Heartbeat{Term(7), 1}});
  EXPECT_EQ(refused(Refusal::kStranger), 1u);
  Message other = group.forged(1, Heartbeat{Term(1), 1});
  other.mark ^= 6;
  group.hear(2, other);
  EXPECT_EQ(refused(Refusal::kSecondProcess), 1u);
  other.start -= 1;
  group.hear(2, other);
  EXPECT_EQ(refused(Refusal::kEarlierLife), 1u);
  group.hear(2, group.forged(3, Winner{Term(9), 1, {NodeId(3)}}));
  EXPECT_EQ(refused(Refusal::kNotElected), 1u);
  group.hear(2, group.forged(3, Heartbeat{Term(0), 1}));
  EXPECT_EQ(refused(Refusal::kOlderTerm), 1u);
}

TEST_F(LedVoteMessages, an_admin_counts_on_no_promise_for_longer_than_it_was_made) {
  group.run(Duration::seconds(30));
  const auto promises = group[1].promises();
  ASSERT_EQ(promises.size(), 2u);
  for (const auto& [node, until] : promises) {
    EXPECT_EQ(group[node.value()].promised_to(), NodeId(1));
    EXPECT_LT(until, group[node.value()].promised_until());
    EXPECT_GT(until, group.now);
  }
  EXPECT_TRUE(group[2].promises().empty()) << "it is in no office";
}

TEST_F(LedVoteMessages, what_comes_out_of_order_counts_and_what_is_far_too_late_does_not) {
  Message first = group.forged(1, Heartbeat{Term(1), 1});
  Message second = first;
  second.sequence += 63;
  Message late = first;
  late.sequence -= 1;
  const std::size_t before = group.sent<HeartbeatAnswer>(2);
  group.hear(2, second);
  group.hear(2, first);
  EXPECT_EQ(group.sent<HeartbeatAnswer>(2), before + 2);
  group.hear(2, late);
  EXPECT_EQ(group.sent<HeartbeatAnswer>(2), before + 2);
}

TEST_F(LedVoteMessages, an_earlier_life_is_over) {
  const Message old = group.forged(3, Heartbeat{Term(9), 1});
  group.stop(3);
  group.claims[3].uptime = Duration::zero();
  group.start(3);
  group.run(Duration::millis(100));
  group.hear(2, old);
  EXPECT_TRUE(group.was_refused(2, "an earlier life"));
  EXPECT_EQ(group[2].admin(), NodeId(1));
}

// Its votes were given to a name. Two processes that have it may both count them.
TEST_F(LedVoteMessages, a_term_belongs_to_one_life) {
  group.part(1, 2);
  const auto say_as_twin = [&](uint64_t round) {
    Message twin = group.forged(1, Winner{Term(1), round, {NodeId(1), NodeId(2), NodeId(3)}});
    ++twin.start;
    twin.mark ^= 2;
    group.hear(2, twin);
  };
  const std::size_t before = group.sent<HeartbeatAnswer>(2);
  say_as_twin(1);
  EXPECT_TRUE(group.was_refused(2, "another process with its id had this term"));
  group.stop(2);
  group.start(2);
  group.run(Duration::millis(20));
  say_as_twin(2);
  group.run(kLan.promise());
  say_as_twin(3);
  EXPECT_EQ(group.sent<HeartbeatAnswer>(2), before);
}

TEST_F(LedVoteMessages, a_disk_that_was_set_back_is_found_out) {
  const Record old = group.disks.at(3);
  for (int i = 0; i < 2; ++i) group.stop(3), group.start(3), group.run(Duration::seconds(3));
  group.stop(3);
  group.disks[3] = old;
  group.start(3);
  group.run(Duration::seconds(1));
  EXPECT_TRUE(group[3].follows_only());
  EXPECT_TRUE(group.was_noted(3, "the disk of this node was set back"));
  EXPECT_TRUE(group.disks.at(3).lost) << "for ever";
  // It learns who is the admin, and takes part in nothing.
  group.stop(3);
  group.start(3);
  group.run(Duration::seconds(2));
  EXPECT_EQ(group[3].admin(), NodeId(1));
  group.stop(1);
  group.run(Duration::seconds(10));
  EXPECT_EQ(group.admin(), 0u);
}

TEST_F(LedVoteMessages, a_node_whose_disk_was_set_back_is_told_by_whoever_knows_also_when_it_asks_nobody) {
  const Record old = group.disks.at(3);
  group.part(1, 3);
  for (int i = 0; i < 2; ++i) group.stop(3), group.start(3), group.run(Duration::seconds(3));
  group.stop(3);
  group.disks[3] = old;
  group.mend();
  group.part(2, 3);
  group.start(3);
  group.run(Duration::seconds(5));
  ASSERT_FALSE(group[3].follows_only()) << "the admin knows nothing of it";
  ASSERT_EQ(group[3].admin(), NodeId(1));
  group.mend();
  group.stop(1);
  const VoteTiming lan = VoteTiming::lan();
  EXPECT_TRUE(group.run_until(lan.promise() + lan.gather * 2, [&] { return group[3].follows_only(); }))
      << "with its first word in an election";
}

TEST_F(LedVoteMessages, who_finds_out_during_an_election_that_its_disk_was_set_back_does_not_vote_in_it) {
  const Record old = group.disks.at(3);
  for (int i = 0; i < 2; ++i) group.stop(3), group.start(3), group.run(Duration::seconds(3));
  for (uint64_t id = 1; id <= 3; ++id) group.stop(id);
  group.disks[3] = old;
  group.start(3);
  group.run(Duration::seconds(3));
  const Term term(9);
  group.hear(3, group.forged(2, ElectionStarted{term, Trigger::kManual, std::nullopt}));
  ASSERT_EQ(group[3].state(), State::kElecting);
  group.forget();
  group.hear(3, group.forged(2, DiscoveryResponse{kNobody, Term(), 3, 7}));
  EXPECT_TRUE(group[3].follows_only());
  EXPECT_EQ(group[3].state(), State::kDiscovering);
  group.hear(3, group.forged(2, Candidacy{term, true, group.claims[2]}));
  group.run(Duration::seconds(3));
  EXPECT_EQ(group.sent<Vote>(3), 0u);
}

using VoteMessagesOfThree = VoteOf<3>;

TEST_F(VoteMessagesOfThree, a_record_that_cannot_be_read_is_not_that_of_a_new_node) {
  group.start(1);
  group.start(2);
  ASSERT_TRUE(group.run_until(Duration::seconds(5), [&] { return group.admin() == 1; }));
  group.start(3, group.config(3), Start{Start::Found::kUnreadable, {}});
  group.run(Duration::seconds(2));
  EXPECT_TRUE(group[3].follows_only());
  EXPECT_EQ(group[3].admin(), NodeId(1));
  EXPECT_EQ(group.sent<HeartbeatAnswer>(3), 0u);
}

TEST_F(LedVoteMessages, of_two_processes_under_one_id_the_second_is_silent) {
  VoteElector copy(group.config(3), 99);
  Effects effects;
  Record record = group.disks.at(3);
  --record.start;
  copy.step(group.now, Start{Start::Found::kRecord, record}, effects);
  copy.step(group.now, Persisted{record.version + 1, true, {}}, effects);
  const auto request = std::find_if(effects.begin(), effects.end(),
                                    [](const Effect& one) { return std::holds_alternative<Broadcast>(one); });
  ASSERT_NE(request, effects.end());
  group.hear(2, std::get<Broadcast>(*request).message);
  EXPECT_TRUE(group.was_refused(2, "another process has the same id"));
  const Message answer = group.all<Send>(2).back().message;
  effects.clear();
  copy.step(group.now, Received{answer}, effects);
  EXPECT_TRUE(copy.follows_only());
  EXPECT_EQ(copy.wake(), Instant::never());
}

TEST_F(VoteMessagesOfThree, an_inflated_score_is_not_voted_for) {
  group.start_all();
  group.cut(3, 1), group.cut(3, 2);
  ASSERT_TRUE(group.run_until(Duration::seconds(3), [&] { return group[2].state() == State::kElecting; }));
  // Node 3 cheats.
  Claim claim = group.claims[3];
  claim.score = 0.99;
  group.hear(1, group.forged(3, Candidacy{group[2].ballot_term(), true, claim}));
  group.hear(2, group.forged(3, Candidacy{group[2].ballot_term(), true, claim}));
  ASSERT_TRUE(group.run_until(Duration::seconds(3), [&] { return group.admin() == 1; }));
  EXPECT_TRUE(group.was_noted(1, "does not vote for node 3: it claims a score of 0.99"));
  EXPECT_NE(group[2].ballot()->announcements().at(NodeId(3))->doubt.find("a score of 0.99"), std::string::npos);
}

TEST_F(VoteMessagesOfThree, who_may_not_stand_is_not_voted_for) {
  group.start_all();
  group.cut(3, 1), group.cut(3, 2);
  ASSERT_TRUE(group.run_until(Duration::seconds(3), [&] { return group[2].state() == State::kElecting; }));
  Claim claim = group.claims[3];
  claim.capabilities = {"semantic_analysis"};
  claim.resources = {0, 0, 0, 1};
  claim.score = score_of(claim, {});
  group.hear(2, group.forged(3, Candidacy{group[2].ballot_term(), true, claim}));
  EXPECT_TRUE(group.was_noted(2, "no capability that permits a candidacy"));
}

TEST_F(VoteMessagesOfThree, who_votes_twice_is_named_and_counts_for_nobody) {
  group.start_all();
  group.part(1, 3), group.part(2, 3);
  ASSERT_TRUE(group.run_until(Duration::seconds(3), [&] { return group[1].state() == State::kElecting; }));
  const Term term = group[1].ballot_term();
  group.hear(1, group.forged(3, Vote{term, NodeId(1)}));
  group.hear(1, group.forged(3, Vote{term, NodeId(2)}));
  EXPECT_TRUE(group.was_noted(1, "node 3 has voted twice in term 1"));
  EXPECT_EQ(group[1].ballot()->votes_for(NodeId(1)), 0u);
}

TEST_F(LedVoteMessages, only_who_has_the_office_can_give_it_up) {
  group.run(Duration::seconds(1));
  group.hear(2, group.forged(3, ElectionStarted{Term(2), Trigger::kManual, Permission{Term(1), NodeId(3)}}));
  EXPECT_EQ(group[2].state(), State::kIdle);
  EXPECT_EQ(group[2].admin(), NodeId(1));
}

TEST_F(VoteMessagesOfThree, only_who_had_the_office_can_name_an_heir) {
  group.start_all();
  group.run(Duration::millis(10));
  group.hear(2, group.forged(3, ElectionStarted{Term(1), Trigger::kManual, Permission{Term(), NodeId(3)}}));
  EXPECT_TRUE(group.run_until(Duration::seconds(5), [&] { return group.admin() == 1; }));
  EXPECT_EQ(group.disks.at(2).vote, NodeId(1));
}

TEST_F(LedVoteMessages, a_vote_of_an_older_term_counts_for_nothing) {
  group.run(Duration::seconds(1));
  group.stop(1);
  ASSERT_TRUE(group.run_until(Duration::seconds(3), [&] { return group[2].state() == State::kElecting; }));
  group.hear(2, group.forged(3, Vote{Term(1), NodeId(2)}));
  EXPECT_EQ(group[2].ballot()->votes_for(NodeId(2)), 0u);
}

TEST_F(LedVoteMessages, a_winner_shows_who_has_voted_for_it) {
  const auto claim = [&](std::vector<NodeId> voters) {
    group.hear(2, group.forged(3, Winner{Term(5), 1, std::move(voters)}));
  };
  claim({NodeId(3)});
  EXPECT_TRUE(group.was_refused(2, "of fewer than a majority"));
  claim({NodeId(3), NodeId(3)});
  claim({NodeId(3), NodeId(7)});
  EXPECT_TRUE(group.was_refused(2, "of a node that is not a member"));
  EXPECT_EQ(group[2].admin(), NodeId(1));
  group.hear(2, group.forged(3, Winner{Term(1), 1, {NodeId(2), NodeId(3)}}));
  EXPECT_TRUE(group.was_refused(2, "claims the vote of this node, which did not vote for it"));
  EXPECT_EQ(group[2].admin(), NodeId(1));
}

TEST_F(LedVoteMessages, an_admin_of_an_older_term_is_refused_and_told) {
  group.say(1, CallElection{true});
  ASSERT_TRUE(group.run_until(Duration::seconds(1), [&] { return group[2].admin_term() == Term(2); }));
  group.run(Duration::millis(10));
  const std::size_t answers = group.sent<HeartbeatAnswer>(2);
  group.hear(2, group.forged(3, Heartbeat{Term(1), 9}));
  EXPECT_EQ(group.sent<HeartbeatAnswer>(2), answers);
  EXPECT_TRUE(group.was_refused(2, "it was the admin of an older term"));
  const Message told = group.all<Send>(2).back().message;
  EXPECT_EQ(std::get<DiscoveryResponse>(told.body).admin, NodeId(1));
}

TEST(VoteMessages, two_admins_of_one_term_both_go_and_one_follows) {
  VoteGroup group(5);
  ASSERT_EQ(group.lead(), 1u);
  // As if some node had voted twice.
  group.hear(1, group.forged(5, Heartbeat{Term(1), 1}));
  EXPECT_FALSE(group[1].leads(group.now));
  EXPECT_EQ(group.all<TermEnded>(1).at(0).why, "node 5 is the admin of the same term");
  EXPECT_TRUE(group.run_until(Duration::seconds(5), [&] { return group.admin() != 0; }));
  EXPECT_GT(group[1].admin_term(), Term(1));
  expect_sound(group);
}

TEST_F(LedVoteMessages, who_hears_two_admins_of_one_term_tells_both) {
  group.hear(2, group.forged(3, Heartbeat{Term(1), 1}));
  EXPECT_TRUE(group.was_noted(2, "node 1 and node 3 are both the admin of term 1"));
  group.run(Duration::millis(5));
  EXPECT_FALSE(group[1].leads(group.now)) << "it was told";
  expect_sound(group);
}

TEST_F(LedVoteMessages, an_admin_steps_down_on_sight_of_a_later_term) {
  group.hear(1, group.forged(2, DiscoveryResponse{NodeId(3), Term(4), 0, 0}));
  EXPECT_EQ(group.all<TermEnded>(1).at(0).why, "node 3 is the admin of a later term");
}

// A promise that still lasts keeps a node from answering another admin, however late its term.
TEST_F(LedVoteMessages, nobody_answers_two_admins_within_one_promise) {
  group.run(Duration::millis(10));
  const std::size_t answers = group.sent<HeartbeatAnswer>(2);
  const auto other = [&] { return group.forged(3, Winner{Term(5), 1, {NodeId(1), NodeId(3)}}); };
  group.part(1, 2);
  group.hear(2, other());
  EXPECT_EQ(group.sent<HeartbeatAnswer>(2), answers);
  EXPECT_EQ(group[2].admin(), NodeId(3)) << "it knows of it";
  group.run(kLan.promise());
  group.hear(2, other());
  group.run(Duration::millis(5));
  EXPECT_EQ(group.sent<HeartbeatAnswer>(2), answers + 1);
  EXPECT_EQ(group.disks.at(2).promised, Term(5));
}

}  // namespace
}  // namespace bellwether::vote
