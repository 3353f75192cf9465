#include "election/vote/vote_elector.h"

#include "election/vote/vote_testing.h"

namespace bellwether::vote {
namespace {

TEST(VoteElector, one_alone_elects_itself) {
  VoteGroup group(1);
  EXPECT_EQ(group.lead(), 1u);
  group.run(Duration::seconds(30));
  EXPECT_EQ(group.admin(), 1u);
  EXPECT_EQ(group.all<Elected>(1).size(), 1u);
}

using VoteElectorOfThree = VoteOf<3>;

TEST_F(VoteElectorOfThree, of_three_the_best_is_elected_and_all_are_told) {
  EXPECT_EQ(group.lead(), 1u);
  for (uint64_t id = 1; id <= 3; ++id) {
    EXPECT_EQ(group[id].state(), State::kIdle);
    EXPECT_EQ(group[id].admin(), NodeId(1));
    const auto changes = group.all<AdminChanged>(id);
    ASSERT_EQ(changes.size(), 1u) << id;
    EXPECT_EQ(changes[0].old_admin, kNobody);
    EXPECT_EQ(changes[0].new_admin, NodeId(1));
    const auto complete = group.all<ElectionComplete>(id);
    ASSERT_EQ(complete.size(), 1u) << id;
    EXPECT_EQ(complete[0].winner, NodeId(1));
    EXPECT_EQ(complete[0].term, Term(1));
  }
  EXPECT_EQ(group.all<Elected>(1).at(0).epoch, election::Epoch(1));
  group.run(Duration::minutes(10));
  EXPECT_EQ(group.count<Elected>(), 1u);
  EXPECT_EQ(group.admin(), 1u);
  expect_sound(group);
}

TEST_F(VoteElectorOfThree, it_goes_through_its_states) {
  group.lead();
  std::vector<State> states;
  for (const StateChanged& one : group.all<StateChanged>(1)) states.push_back(one.to);
  EXPECT_EQ(states, (std::vector<State>{State::kDiscovering, State::kElecting, State::kComplete, State::kIdle}));
}

TEST(VoteElector, an_election_takes_few_messages) {
  for (const std::size_t nodes : {1u, 3u, 5u, 10u, 50u, 100u}) {
    VoteGroup group(nodes);
    ASSERT_EQ(group.lead(), 1u);
    group.run(Duration::millis(10));
    std::size_t messages = 0;
    std::size_t begun = 0;
    for (uint64_t id = 1; id <= nodes; ++id) {
      begun += group.sent<ElectionStarted>(id);
      messages += group.sent<ElectionStarted>(id) + group.sent<Candidacy>(id) + group.sent<Vote>(id) +
                  group.sent<Winner>(id) + group.sent<HeartbeatAnswer>(id);
    }
    EXPECT_EQ(begun, 1u) << nodes;
    EXPECT_EQ(messages, 3 * nodes + 1) << "one begins, all take part, all vote, one has won, the others promise";
  }
}

TEST(VoteElector, among_equals_the_lowest_id_is_elected) {
  VoteGroup group(5);
  for (uint64_t id = 1; id <= 5; ++id) group.claims[id] = group.claims[4];
  EXPECT_EQ(group.lead(), 1u);
}

using LedVoteElector = LedVote<3>;
using LedVoteElectorOfFive = LedVote<5>;

TEST_F(LedVoteElector, who_missed_an_election_is_told_of_the_term_of_the_same_admin) {
  const Term first = group[1].admin_term();
  group.isolate(3);
  group.say(1, CallElection{true});
  ASSERT_TRUE(
      group.run_until(Duration::millis(900), [&] { return group.admin() == 1 && group[1].admin_term() > first; }));
  ASSERT_EQ(group[3].admin(), NodeId(1)) << "it does not know that there was an end";
  group.mend();
  group.run(Duration::seconds(1));
  EXPECT_EQ(group.all<AdminChanged>(3).back().term, group[1].admin_term());
}

TEST_F(LedVoteElectorOfFive, another_one_follows_a_dead_admin) {
  group.run(Duration::seconds(10));
  group.stop(1);
  const auto budget = budget_of(kLan, {});
  EXPECT_TRUE(group.run_until(budget.crash_worst.total, [&] { return group.admin() == 2; }));
  const auto complete = group.all<ElectionComplete>(2);
  EXPECT_EQ(complete.back().winner, NodeId(2));
  EXPECT_EQ(group[2].admin_term(), Term(2));
  expect_sound(group);
}

TEST(VoteElector, the_default_times_give_an_admin_within_their_budget) {
  VoteGroup group(5, VoteTiming::standard());
  ASSERT_EQ(group.lead(), 1u);
  group.run(Duration::minutes(1));
  group.stop(1);
  EXPECT_TRUE(
      group.run_until(budget_of(VoteTiming::standard(), {}).crash_worst.total, [&] { return group.admin() == 2; }));
}

TEST(VoteElector, no_window_protects_a_dead_admin) {
  VoteGroup group(5, VoteTiming::standard());
  ASSERT_EQ(group.lead(), 1u);
  group.run(Duration::seconds(1));
  group.stop(1);
  EXPECT_TRUE(
      group.run_until(budget_of(VoteTiming::standard(), {}).crash_worst.total, [&] { return group.admin() == 2; }));
}

TEST_F(VoteElectorOfThree, a_vote_is_durable_before_it_is_sent) {
  group.start_all();
  group.run(Duration::millis(10));
  group.hanging_disks = {2};
  group.run_until(Duration::seconds(5), [&] { return group.admin() == 1; });
  EXPECT_EQ(group.admin(), 1u);
  EXPECT_EQ(group.sent<Vote>(2), 0u);
  EXPECT_EQ(group.sent<HeartbeatAnswer>(2), 0u) << "neither is a promise that is not durable";
  EXPECT_EQ(group.sent<Vote>(3), 1u);
}

TEST_F(VoteElectorOfThree, a_node_whose_disk_fails_abstains_and_comes_back) {
  group.start_all();
  group.run(Duration::millis(10));
  group.failing_disks = {1};
  EXPECT_TRUE(group.run_until(Duration::seconds(5), [&] { return group.admin() == 2; }));
  EXPECT_EQ(group.sent<Vote>(1), 0u);
  EXPECT_TRUE(group.was_noted(1, "abstains: the record could not be made durable: no space left"));
  group.failing_disks.clear();
  group.run(Duration::seconds(2));
  EXPECT_GT(group.sent<HeartbeatAnswer>(1), 0u);
}

// As while settings are changed, node by node.
TEST_F(VoteElectorOfThree, an_admin_counts_on_promises_only_as_long_as_those_who_gave_them) {
  VoteConfig patient = group.config(1);
  patient.timing.heartbeat_timeout = patient.timing.heartbeat_timeout * 4;
  group.start(1, patient);
  group.start(2);
  group.start(3);
  ASSERT_TRUE(group.run_until(Duration::seconds(8), [&] { return group.admin() == 1; }));
  const std::size_t elected = group.count<Elected>();
  group.run(Duration::seconds(20));
  EXPECT_EQ(group.count<Elected>(), elected) << "its heartbeats come in time for the shorter promises";
  group.isolate(1);
  EXPECT_TRUE(group.run_until(Duration::seconds(8), [&] { return group[2].leads(group.local(2)); }));
  EXPECT_FALSE(group[1].leads(group.local(1)));
}

TEST_F(LedVoteElector, a_node_that_was_started_again_keeps_its_vote_and_its_promise) {
  group.run(Duration::seconds(2));
  EXPECT_EQ(group.disks.at(2).term, Term(1));
  EXPECT_EQ(group.disks.at(2).vote, NodeId(1));
  EXPECT_EQ(group.disks.at(2).promised, Term(1));
  // Only 2 and 3 are left, and 2 does not know its promises any more.
  group.stop(1);
  group.stop(2);
  group.claims[2].uptime = Duration::zero();
  group.start(2);
  const Instant before = group.now;
  EXPECT_TRUE(group.run_until(Duration::seconds(10), [&] { return group.admin() == 3; }));
  EXPECT_GE(group.now - before, kLan.promise());
  expect_sound(group);
}

// What it has promised before, it does not know any more; the admin counts on it all the same.
TEST_F(LedVoteElector, a_node_that_was_started_again_is_quiet_for_as_long_as_a_promise_lasts) {
  group.part(1, 3);
  group.run(Duration::seconds(5));
  ASSERT_EQ(group.admin(), 1u) << "node 2 answers it, and tells node 3 of it";
  group.part(1, 2);
  group.stop(2);
  group.claims[2].uptime = Duration::zero();
  group.start(2);
  const Instant started = group.now;
  EXPECT_TRUE(
      group.run_until(Duration::seconds(20), [&] { return group[2].leads(group.now) || group[3].leads(group.now); }));
  EXPECT_GE(group.now - started, kLan.promise());
  expect_sound(group);
}

TEST_F(VoteElectorOfThree, who_is_not_eligible_votes_and_neither_stands_nor_calls) {
  group.claims[1].capabilities = {"semantic_analysis"};
  group.claims[2].capabilities = {};
  EXPECT_EQ(group.lead(), 3u);
  EXPECT_EQ(group.sent<ElectionStarted>(1) + group.sent<ElectionStarted>(2), 0u);
  EXPECT_EQ(group.sent<Vote>(1), 1u);
  group.stop(3);
  group.run(Duration::minutes(1));
  EXPECT_EQ(group.admin(), 0u);
  EXPECT_EQ(group.sent<ElectionStarted>(1) + group.sent<ElectionStarted>(2), 0u);
}

TEST_F(VoteElectorOfThree, a_better_candidate_that_comes_takes_nothing_away) {
  group.claims[1].resources.cpu_used = 0.9;
  group.start(2);
  group.start(3);
  EXPECT_TRUE(group.run_until(Duration::seconds(5), [&] { return group.admin() == 2; }));
  group.claims[1].resources.cpu_used = 0;
  group.start(1);
  group.run(Duration::minutes(5));
  EXPECT_EQ(group.admin(), 2u);
  EXPECT_EQ(group.count<Elected>(), 1u);
}

TEST_F(LedVoteElectorOfFive, without_a_majority_nobody_leads_and_the_others_elect) {
  for (const uint64_t a : {1u, 2u}) {
    for (const uint64_t b : {3u, 4u, 5u}) group.part(a, b);
  }
  EXPECT_TRUE(group.run_until(Duration::seconds(3), [&] { return group.admin() == 3; }));
  EXPECT_FALSE(group[1].leads(group.now));
  EXPECT_EQ(group.all<TermEnded>(1).at(0).reason, election::EndReason::kExpired);
  group.run(Duration::seconds(30));
  EXPECT_EQ(group.admin(), 3u);
  group.mend();
  group.run(Duration::seconds(3));
  EXPECT_TRUE(group.all_know(3));
  EXPECT_EQ(group.count<Elected>(), 2u);
  expect_sound(group);
}

TEST(VoteElector, noisy_scores_change_nothing_for_a_day) {
  VoteGroup group(5, VoteTiming::standard());
  ASSERT_EQ(group.lead(), 1u);
  Prng noise(7);
  for (int minute = 0; minute < 24 * 60; ++minute) {
    for (uint64_t id = 1; id <= 5; ++id) {
      Claim claim = group.claims[id];
      claim.resources.cpu_used = noise.unit();
      claim.resources.network_quality = 0.7 + 0.3 * noise.unit();
      group.say(id, Measured{claim});
    }
    group.run(Duration::minutes(1));
  }
  EXPECT_EQ(group.count<Elected>(), 1u);
  EXPECT_EQ(group.count<Drain>(), 0u);
}

TEST_F(LedVoteElector, a_heartbeat_that_was_lost_is_said_again) {
  group.run(Duration::seconds(2));
  group.cut(1, 2), group.cut(1, 3);
  const std::size_t before = group.sent<Heartbeat>(1);
  ASSERT_TRUE(group.run_until(Duration::seconds(1), [&] { return group.sent<Heartbeat>(1) > before; }));
  group.mend();
  group.run(Duration::seconds(2));
  EXPECT_EQ(group.admin(), 1u);
  EXPECT_EQ(group[1].admin_term(), Term(1));
}

TEST_F(VoteElectorOfThree, candidacies_and_votes_that_were_lost_are_said_again) {
  group.start_all();
  ASSERT_TRUE(group.run_until(Duration::seconds(3),
                              [&] { return group.count<ElectionComplete>() + group.sent<Candidacy>(1) > 0; }));
  group.part(1, 2), group.part(1, 3), group.part(2, 3);
  group.run(Duration::millis(50));
  group.mend();
  EXPECT_TRUE(group.run_until(kLan.gather * 4, [&] { return group.admin() == 1; }));
  EXPECT_EQ(group[1].admin_term(), Term(1));
}

TEST_F(LedVoteElector, an_admin_that_was_paused_finds_out_before_it_acts) {
  group.paused = {1};
  EXPECT_TRUE(group.run_until(Duration::seconds(3), [&] { return group[2].leads(group.now); }));
  EXPECT_FALSE(group[1].leads(group.now));
  group.paused.clear();
  group.run(Duration::seconds(2));
  EXPECT_TRUE(group.all_know(2));
  expect_sound(group);
}

TEST_F(VoteElectorOfThree, an_admin_whose_key_cannot_be_put_together_does_not_act) {
  const auto with_keys = [&](uint64_t id) {
    VoteConfig config = group.config(id);
    config.reconstructs_keys = true;
    return config;
  };
  group.keys_are_ready = false;
  for (uint64_t id = 1; id <= 3; ++id) group.start(id, with_keys(id));
  ASSERT_TRUE(group.run_until(Duration::seconds(5), [&] { return group[1].state() == State::kReconstructing; }));
  group.run(Duration::millis(1500));
  EXPECT_EQ(group[1].state(), State::kReconstructing) << "it keeps its promises meanwhile";
  EXPECT_FALSE(group[1].leads(group.now));
  group.say(1, KeysReady{group[1].record().term, false, "two of three shares"});
  EXPECT_EQ(group[1].office(), Office::kNone);
  EXPECT_EQ(group.all<ElectionComplete>(1).back().why, "the key could not be restored: two of three shares");
  group.keys_are_ready = true;
  EXPECT_TRUE(group.run_until(Duration::seconds(10), [&] { return group.admin() != 0; }));
  expect_sound(group);
}

TEST_F(VoteElectorOfThree, a_key_that_nobody_brings_is_waited_for_no_longer_than_an_election_takes) {
  group.keys_are_ready = false;
  for (uint64_t id = 1; id <= 3; ++id) {
    VoteConfig config = group.config(id);
    config.reconstructs_keys = true;
    group.start(id, config);
  }
  ASSERT_TRUE(group.run_until(Duration::seconds(5), [&] { return group[1].state() == State::kReconstructing; }));
  ASSERT_TRUE(group.run_until(VoteTiming::lan().election + Duration::millis(1),
                              [&] { return group[1].office() == Office::kNone; }));
  EXPECT_EQ(group.all<ElectionComplete>(1).back().why, "the key was not restored in time");
  group.keys_are_ready = true;
  ASSERT_TRUE(group.run_until(Duration::seconds(10), [&] { return group.admin() != 0; }));
  EXPECT_NE(group.admin(), 1u) << "others try before it does so again";
  expect_sound(group);
}

TEST(VoteElector, unsafe_rules_give_two_admins_and_mend_it) {
  VoteGroup group(2);
  group.rule = QuorumRule::kPlurality;
  group.start_all();
  group.part(1, 2);
  EXPECT_TRUE(group.run_until(Duration::seconds(30), [&] { return group.admins() == 2; }));
  group.mend();
  EXPECT_TRUE(group.run_until(Duration::seconds(10), [&] { return group.admins() == 1; }));
  group.run(Duration::seconds(5));
  EXPECT_EQ(group.admins(), 1u);
  EXPECT_TRUE(group.all_know(group.admin()));
}

TEST(VoteElector, the_highest_score_wins_without_any_vote_only_where_that_is_the_rule) {
  for (const QuorumRule rule : {QuorumRule::kMajority, QuorumRule::kPlurality, QuorumRule::kHighestScore}) {
    VoteGroup group(2);
    group.rule = rule;
    group.start(1);
    group.run(Duration::seconds(30));
    EXPECT_EQ(group.admin(), rule == QuorumRule::kMajority ? 0u : 1u) << to_string(rule);
  }
}

}  // namespace
}  // namespace bellwether::vote
