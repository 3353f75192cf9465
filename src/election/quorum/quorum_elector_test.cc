#include "election/quorum/quorum_elector.h"

#include <gmock/gmock.h>

#include "election/quorum/group_testing.h"

namespace bellwether::quorum {
namespace {

using election::EndReason;

class ColdStart : public testing::TestWithParam<std::size_t> {};

// All members are syncing, and none has the state.
TEST_P(ColdStart, gives_one_leader) {
  Group group(GetParam());
  group.start_all();
  group.run(Duration::seconds(2));
  ASSERT_NE(group.leader(), 0u);
  EXPECT_FALSE(group[group.leader()].active());
  EXPECT_EQ(group.count<Elected>(group.leader()), 1u);
}

INSTANTIATE_TEST_SUITE_P(Of, ColdStart, testing::Values(std::size_t{1}, std::size_t{3}, std::size_t{5}));

TEST(QuorumElector, elects_at_once_among_new_members_that_have_all_answered) {
  Group group(3);
  group.start_all();
  EXPECT_TRUE(group.run_until(Duration::millis(300), [&] { return group.leader() != 0; }));

  for (uint64_t id = 1; id <= 3; ++id) group.stop(id);
  group.start_all();
  EXPECT_FALSE(group.run_until(Duration::millis(500), [&] { return group.leader() != 0; })) << "they may have promised";
  EXPECT_TRUE(group.run_until(Duration::millis(300), [&] { return group.leader() != 0; }));
}

TEST(QuorumElector, waits_among_new_members_for_one_that_has_not_answered) {
  Group group(3);
  group.start(1);
  group.start(2);
  EXPECT_FALSE(group.run_until(Duration::millis(500), [&] { return group.leader() != 0; }));
  EXPECT_TRUE(group.run_until(Duration::millis(300), [&] { return group.leader() != 0; }));
}

TEST(QuorumElector, elects_again_in_a_later_term_after_all_have_restarted) {
  Group group(5);
  const uint64_t first = group.lead();
  const Term term = group[first].term();
  for (uint64_t id = 1; id <= 5; ++id) group.stop(id);
  group.start_all();
  group.run(Duration::seconds(2));
  ASSERT_NE(group.leader(), 0u);
  EXPECT_GT(group[group.leader()].term(), term);
}

// The pitfall of two leaders in one term because a second vote was granted after a restart.
TEST(QuorumElector, gives_a_vote_only_once_it_is_durable) {
  Group group(3);
  group.start_all();
  group.run(Duration::millis(50));
  group.hanging_disks = {1, 2, 3};
  group.run(Duration::seconds(2));
  for (uint64_t id = 1; id <= 3; ++id) {
    EXPECT_EQ(group.last_sent<Vote>(id), nullptr);
    EXPECT_EQ(group.last_sent<VoteAnswer>(id), nullptr);
  }
  EXPECT_EQ(group.leader(), 0u);
}

using LedQuorumElector = LedGroup<3>;

TEST_F(LedQuorumElector, does_not_vote_for_another_one_in_the_same_term_after_a_restart) {
  const uint64_t voter = first == 1 ? 2 : 1;
  const uint64_t third = 6 - first - voter;
  const Term term = group[voter].term();
  ASSERT_EQ(group[voter].record().vote, MemberId(first));
  group.stop(first);
  group.stop(voter);
  group.start(voter);
  group.run(QuorumTiming::lan().promise(QuorumTiming::lan().lease));  // it is quiet for so long
  group.say_message(voter, third, term, Vote{7, group[third].members().stamp, {.active = true}, std::nullopt});
  ASSERT_NE(group.last_sent<VoteAnswer>(voter), nullptr);
  EXPECT_EQ(group.last_sent<VoteAnswer>(voter)->refusal, Refusal::kVoted);
}

TEST(QuorumElector, says_so_and_abstains_when_its_record_cannot_be_written) {
  Group group(3);
  group.start_all();
  group.run(Duration::millis(100));
  group.failing_disks = {2, 3};
  group.run(Duration::seconds(2));
  EXPECT_EQ(group.leader(), 0u);
  ASSERT_NE(group.last<Note>(2), nullptr);
  bool told = false;
  for (uint64_t id = 2; id <= 3; ++id) told |= group[id].failed_rounds() >= 0 && group.count<Note>(id) > 0;
  EXPECT_TRUE(told);
  group.failing_disks.clear();
  group.run(Duration::seconds(3));
  EXPECT_NE(group.leader(), 0u);
}

// An unreadable record is not that of a new member.
TEST_F(LedQuorumElector, neither_votes_nor_stands_without_its_record) {
  const uint64_t lost = first == 1 ? 2 : 1;
  group.stop(lost);
  group.start(lost, group.config(lost), Start{Start::Found::kUnreadable, {}});
  group.run(Duration::seconds(1));
  EXPECT_TRUE(group[lost].follows_only());
  EXPECT_EQ(group[lost].leader(), MemberId(first));
  group.forget();
  group.stop(first);
  group.run(Duration::minutes(3));
  EXPECT_EQ(group.leader(), 0u);
  EXPECT_EQ(group.last_sent<VoteAnswer>(lost), nullptr);
  EXPECT_EQ(group.last_sent<PreVoteAnswer>(lost), nullptr);
  EXPECT_EQ(group.last_sent<HeartbeatAnswer>(lost), nullptr);
}

TEST_F(LedQuorumElector, finds_out_that_its_disk_went_back_in_time) {
  const uint64_t older = first == 1 ? 2 : 1;
  Record record = group.disks_[older];
  ASSERT_GT(record.version, 1u);
  record.version = 1;
  record.vote = kNobody;
  group.stop(older);
  group.start(older, group.config(older), Start{Start::Found::kRecord, record});
  group.run(Duration::millis(50));
  EXPECT_TRUE(group[older].follows_only());
}

TEST_F(LedQuorumElector, listens_to_one_process_of_a_member_only) {
  const uint64_t doubled = first == 1 ? 2 : 1;
  const uint64_t old_life = group[doubled].life();
  group.stop(doubled);
  group.start(doubled);
  group.run(Duration::millis(50));
  group.forget();
  // What the first process still says.
  group.say(first, Received{{MemberId(doubled), group[first].term(), old_life, 9, Resigned{}}});
  const auto* told = group.last_sent<Superseded>(first);
  ASSERT_NE(told, nullptr);
  EXPECT_EQ(told->life, old_life);
}

// The first process has answered the challenge of one who had just started, was killed, and its answer took long.
TEST(QuorumElector, does_not_take_a_late_answer_of_an_ended_process_for_a_new_one) {
  Group group(3);
  group.start(1);
  constexpr uint64_t kEnded = 101;
  constexpr uint64_t kPresent = 103;
  const auto hear = [&](uint64_t life, Body body) {
    group.say(1, Received{{MemberId(2), Term(), life, 0, std::move(body)}});
  };
  hear(kEnded, Greeting{});
  const uint64_t challenge = group.last_sent<GreetingAnswer>(1)->challenge;
  ASSERT_NE(challenge, 0u);
  hear(kPresent, PreVoteAnswer{});
  hear(kEnded, Greeting{challenge});
  hear(kPresent, PreVoteAnswer{});
  EXPECT_EQ(group.last_sent<Superseded>(1), nullptr);
}

TEST(QuorumElector, needs_a_majority_of_the_declared_members_not_of_the_live_ones) {
  Group group(5);
  group.start(1);
  group.start(2);
  group.run(Duration::minutes(2));
  EXPECT_EQ(group.leader(), 0u);
  group.start(3);
  group.run(Duration::seconds(3));
  EXPECT_NE(group.leader(), 0u);
}

TEST(QuorumElector, is_not_disturbed_by_a_member_that_heard_nothing_for_a_while) {
  Group group(5);
  const uint64_t first = group.lead();
  const uint64_t apart = first == 1 ? 2 : 1;
  const Term term = group[first].term();
  group.isolate(apart);
  group.run(Duration::seconds(5));
  group.mend();
  group.run(Duration::seconds(5));
  EXPECT_EQ(group.leader(), first);
  EXPECT_EQ(group[first].term(), term);
}

// A pre-vote must not count as a sign of life, nor raise the term.
TEST_F(LedQuorumElector, is_left_as_it_was_by_a_pre_vote) {
  const uint64_t voter = first == 1 ? 2 : 1;
  const uint64_t third = 6 - first - voter;
  group.stop(first);
  group.run(Duration::millis(300));
  const Instant wake = group[voter].wake();
  const Record record = group[voter].record();
  group.say_message(voter, third, Term(40), PreVote{7, Term(41), group[third].members().stamp, {.active = true}});
  EXPECT_EQ(group.last_sent<PreVoteAnswer>(voter)->refusal, Refusal::kPromised);
  EXPECT_EQ(group[voter].wake(), wake);
  EXPECT_EQ(group[voter].record(), record);
}

TEST_F(LedQuorumElector, gives_no_vote_under_a_promise_and_keeps_its_leader) {
  const uint64_t voter = first == 1 ? 2 : 1;
  const uint64_t third = 6 - first - voter;
  const Term term = group[first].term();
  group.say_message(voter, third, Term(40), Vote{7, group[third].members().stamp, {.active = true}, std::nullopt});
  EXPECT_EQ(group.last_sent<VoteAnswer>(voter)->refusal, Refusal::kPromised);
  EXPECT_EQ(group[voter].term(), term);
}

// One-way links: a leader must receive what a quorum says, and stops before any follower may vote for another.
TEST(QuorumElector, stops_leading_without_answers_before_anybody_may_vote_for_another) {
  Group group(5);
  const uint64_t first = group.lead();
  group.run(Duration::millis(37));
  for (uint64_t id = 1; id <= 5; ++id) group.cut(id, first);
  const Instant hard_end = group[first].stopped_by();
  group.forget();
  while (group.count<TermEnded>(first) == 0) group.run(Duration::millis(1));
  EXPECT_LE(group.last<TermEnded>(first)->stop_by, hard_end + Duration::millis(110));
  EXPECT_EQ(group.last<TermEnded>(first)->reason, EndReason::kExpired);
  for (uint64_t id = 1; id <= 5; ++id) {
    if (id == first) continue;
    group.say_message(id, id % 5 + 1 == first ? (id + 1) % 5 + 1 : id % 5 + 1, Term(90),
                      PreVote{7, Term(91), group[id].members().stamp, {.active = true}});
    EXPECT_EQ(group.last_sent<PreVoteAnswer>(id)->refusal, Refusal::kPromised);
  }
}

TEST_F(LedQuorumElector, counts_its_lease_from_the_sending_of_what_was_answered) {
  const auto timing = QuorumTiming::lan();
  const Instant before = group[first].ends();
  ASSERT_TRUE(group.run_until(Duration::seconds(10), [&] { return group[first].ends() != before; }));
  // An answer came within the last millisecond; the end is that much after the heartbeat, two milliseconds before it.
  const Instant longest = group.now + timing.longest_act() - timing.stop_grace;
  EXPECT_LE(group[first].ends(), longest - Duration::millis(1));
  EXPECT_GE(group[first].ends(), longest - Duration::millis(10));
}

TEST_F(LedQuorumElector, counts_no_answer_to_another_life_or_an_unknown_round) {
  const uint64_t other = first == 1 ? 2 : 1;
  group.isolate(first);
  group.run(Duration::millis(300));
  const Instant ends = group[first].ends();
  const Term term = group[first].term();
  HeartbeatAnswer answer{1'000'000, group[first].life(), true, {}, {}};
  group.say_message(first, other, term, answer);
  answer = {group.last_sent<Heartbeat>(first)->round, group[first].life() + 2, true, {}, {}};
  group.say_message(first, other, term, answer);
  EXPECT_EQ(group[first].ends(), ends);
}

// Groups that were started together must not beat together for ever; and a lease that is three heartbeats long must not
// come to be a little shorter than that.
TEST_F(LedQuorumElector, beats_at_uneven_times_and_never_later_than_said) {
  const Duration most = QuorumTiming::lan().heartbeat;
  std::set<Duration> seen;
  for (int i = 0; i < 50; ++i) {
    const uint64_t round = group.last_sent<Heartbeat>(first)->round;
    const Instant since = group.now;
    ASSERT_TRUE(group.run_until(most, [&] { return group.last_sent<Heartbeat>(first)->round > round; }));
    if (i > 0) seen.insert(group.now - since);
  }
  EXPECT_GE(*seen.begin(), most - most / 10);
  EXPECT_GT(seen.size(), 5u);
}

TEST_F(LedQuorumElector, is_not_changed_by_an_earlier_term_and_demoted_by_a_later_one) {
  const uint64_t other = first == 1 ? 2 : 1;
  const Term term = group[first].term();
  group.say_message(first, other, Term(term.value() - 1), Heartbeat{1, Duration::millis(500), {}});
  group.say_message(first, other, Term(term.value() - 1), StandNow{});
  EXPECT_EQ(group.leader(), first);
  group.say_message(first, other, Term(term.value() + 3), HeartbeatAnswer{1, 0, false, {}, {}});
  EXPECT_EQ(group.leader(), 0u);
  EXPECT_EQ(group[first].term(), Term(term.value() + 3));
  EXPECT_EQ(group.last<TermEnded>(first)->reason, EndReason::kTaken);
  EXPECT_FALSE(group[first].is_in_order(term));
}

// A stopped process does not act as the leader when it continues, in spite of all events that have piled up.
TEST_F(LedQuorumElector, finds_out_first_that_it_slept_past_its_term) {
  group.now += Duration::seconds(2);
  EXPECT_FALSE(group[first].leads(group.now));
  group.say(first, Synced{});
  EXPECT_EQ(group.last<TermEnded>(first)->reason, EndReason::kExpired);
  EXPECT_NE(group[first].role(), Role::kLeader);
}

TEST(QuorumElector, begins_no_term_before_its_work_has_stopped) {
  Group group(1);
  group.work_stops_at_once = false;
  group.start_all();
  group.run(Duration::seconds(2));
  ASSERT_EQ(group.leader(), 1u);
  group.now += Duration::seconds(2);
  group.run(Duration::seconds(5));
  EXPECT_EQ(group[1].role(), Role::kStopping);
  group.say(1, WorkStopped{});
  group.run(Duration::seconds(3));
  EXPECT_EQ(group.leader(), 1u);
}

}  // namespace
}  // namespace bellwether::quorum
