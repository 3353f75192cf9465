// Who stands, who gives way, and how leadership is handed on.
#include <gmock/gmock.h>

#include "election/quorum/group_testing.h"

namespace bellwether::quorum {
namespace {

using election::EndReason;
using testing::HasSubstr;

TEST(QuorumHandOver, reaches_the_heir_within_a_round_trip_and_the_time_of_its_disks) {
  Group group(5);
  const uint64_t first = group.lead();
  const uint64_t heir = first == 4 ? 5 : 4;
  group.say(first, StepDown{"asked to", MemberId(heir)});
  group.run(Duration::millis(8));
  EXPECT_EQ(group.leader(), heir);
  EXPECT_EQ(group.last<TermEnded>(first)->reason, EndReason::kResigned);
}

using LedQuorumHandOver = LedGroup<3>;

TEST_F(LedQuorumHandOver, needs_somebody_who_answers) {
  EXPECT_TRUE(group[first].has_heir(group.now));
  for (uint64_t id = 1; id <= 3; ++id) {
    if (id != first) group.stop(id);
  }
  group.run(QuorumTiming::lan().lease);
  EXPECT_FALSE(group[first].has_heir(group.now));
  Group one(1);
  EXPECT_FALSE(one[one.lead()].has_heir(one.now));
}

TEST(QuorumHandOver, waits_for_the_work_to_stop) {
  Group group(3);
  group.work_stops_at_once = false;
  const uint64_t first = group.lead();
  group.say(first, StepDown{"asked to"});
  group.run(Duration::seconds(5));
  EXPECT_EQ(group.leader(), first);
  EXPECT_EQ(group.last_sent<StandNow>(first), nullptr);
  group.say(first, WorkStopped{});
  group.run(Duration::millis(20));
  EXPECT_NE(group.leader(), first);
  EXPECT_NE(group.leader(), 0u);
}

TEST(QuorumHandOver, does_not_wait_for_ever_for_work_that_hangs) {
  Group group(3);
  group.work_stops_at_once = false;
  const uint64_t first = group.lead();
  group.say(first, LocalHealth{.load = Load::kCritical});
  group.run(Duration::seconds(33));
  EXPECT_NE(group.leader(), first);
  EXPECT_NE(group.leader(), 0u);
  EXPECT_EQ(group.last<TermEnded>(first)->reason, EndReason::kUnhealthy);
  EXPECT_TRUE(group.last<TermEnded>(first)->work_runs);
}

TEST_F(LedQuorumHandOver, lets_anybody_stand_when_the_heir_does_not) {
  const uint64_t heir = first == 1 ? 2 : 1;
  group.isolate(heir);
  group.say(first, StepDown{"asked to", MemberId(heir)});
  group.run(Duration::seconds(2));
  EXPECT_NE(group.leader(), 0u);
  EXPECT_NE(group.leader(), heir);
}

TEST_F(LedQuorumHandOver, of_a_leaving_member_ends_with_another_leader) {
  group.say(first, StepDown{"the machine is taken down", kNobody, true});
  group.run(Duration::millis(20));
  EXPECT_EQ(group.count<Left>(first), 1u);
  EXPECT_NE(group.leader(), first);
  group.run(Duration::seconds(5));
  EXPECT_NE(group.leader(), 0u);
}

using LedQuorumHealth = LedGroup<3>;

TEST_F(LedQuorumHealth, over_the_bound_gives_way_only_to_a_better_member) {
  for (uint64_t id = 1; id <= 3; ++id) {
    if (id != first) group.say(id, LocalHealth{.score = 6});
  }
  group.run(Duration::seconds(1));
  group.say(first, LocalHealth{.score = 6});
  group.run(Duration::seconds(1));
  EXPECT_EQ(group.leader(), first) << "the others are no better";
  const uint64_t better = first == 3 ? 2 : 3;
  group.say(better, LocalHealth{.score = 1});
  group.run(Duration::seconds(1));
  group.say(first, LocalHealth{.score = 6});
  group.run(Duration::seconds(1));
  EXPECT_EQ(group.leader(), better);
}

TEST(QuorumHealth, severe_at_three_checks_gives_way_and_critical_at_once) {
  for (const auto& [load, checks] : {std::pair(Load::kSevere, 3), std::pair(Load::kCritical, 1)}) {
    Group group(3);
    const uint64_t first = group.lead();
    for (int check = 1; check <= checks; ++check) {
      EXPECT_EQ(group.leader(), first);
      group.say(first, LocalHealth{.score = 3, .load = load});
      group.run(Duration::millis(50));
    }
    EXPECT_NE(group.leader(), first);
    EXPECT_NE(group.leader(), 0u);
  }
}

TEST_F(LedQuorumHealth, of_a_disk_that_does_not_answer_gives_way) {
  group.say(first, LocalHealth{.disk = false});
  group.run(Duration::millis(50));
  EXPECT_NE(group.leader(), first);
  EXPECT_THAT(group.last<TermEnded>(first)->why, HasSubstr("disk"));
}

// A slowdown of everybody must not leave a group without a leader: the least bad one leads.
TEST(QuorumHealth, bad_everywhere_lets_the_least_bad_lead_after_some_rounds) {
  Group group(3);
  group.start_all();
  for (uint64_t id = 1; id <= 3; ++id) group.say(id, Synced{});
  group.say(1, LocalHealth{.score = 8});
  group.say(2, LocalHealth{.score = 6});
  group.say(3, LocalHealth{.score = 8});
  group.run(Duration::seconds(5));
  EXPECT_EQ(group.leader(), 2u);
}

TEST(QuorumOrder, lets_a_lone_survivor_of_low_priority_win) {
  Group group(3);
  for (uint64_t id = 1; id <= 3; ++id) {
    QuorumConfig config = group.config(id);
    config.priority = static_cast<uint8_t>(id == 2 ? 0 : 7);
    group.start(id, config);
    group.say(id, Synced{});
  }
  group.run(Duration::seconds(2));
  EXPECT_EQ(group.leader(), 2u);
  group.stop(2);
  group.run(Duration::seconds(2));
  EXPECT_NE(group.leader(), 0u);
}

TEST(QuorumOrder, never_lets_a_witness_stand) {
  Group group(3);
  for (uint64_t id = 1; id <= 3; ++id) {
    QuorumConfig config = group.config(id);
    config.witness = id != 3;
    group.start(id, config);
  }
  group.run(Duration::seconds(3));
  EXPECT_EQ(group.leader(), 3u);
  group.stop(3);
  group.run(Duration::seconds(10));
  EXPECT_EQ(group.leader(), 0u);
}

TEST(QuorumOrder, lets_nobody_stand_that_may_not_and_moves_no_leader_by_it) {
  Group group(3);
  const uint64_t first = group.lead();
  const uint64_t second = first == 1 ? 2 : 1;
  group.say(first, Stand{false});
  group.run(Duration::seconds(2));
  EXPECT_EQ(group.leader(), first);
  group.say(second, Stand{false});
  group.run(Duration::seconds(1));
  group.say(first, StepDown{"asked to"});
  group.run(Duration::seconds(5));
  const uint64_t third = 6 - first - second;
  EXPECT_EQ(group.leader(), third) << "the others give it their votes";
  group.stop(third);
  group.run(Duration::seconds(10));
  EXPECT_EQ(group.leader(), 0u);
  group.say(second, Stand{true});
  group.run(Duration::seconds(5));
  EXPECT_EQ(group.leader(), second);
}

using QuorumSuspicion = LedGroup<5>;

TEST_F(QuorumSuspicion, never_ends_a_promise) {
  const Term term = group[first].term();
  for (int round = 0; round < 50; ++round) {
    for (uint64_t id = 1; id <= 5; ++id) group.say(id, LeaderSuspected{MemberId(first)});
    group.run(Duration::millis(97));
  }
  EXPECT_EQ(group.leader(), first);
  EXPECT_EQ(group[first].term(), term);
}

TEST_F(QuorumSuspicion, proof_of_death_of_that_very_process_ends_a_promise_at_once) {
  const uint64_t life = group[first].life();
  group.stop(first);
  for (uint64_t id = 1; id <= 5; ++id) {
    if (id != first) group.say(id, LeaderDead{MemberId(first), life + 2});
  }
  group.run(Duration::millis(150));
  EXPECT_EQ(group.leader(), 0u) << "another process was meant";
  for (uint64_t id = 1; id <= 5; ++id) {
    if (id != first) group.say(id, LeaderDead{MemberId(first), life});
  }
  group.run(Duration::millis(150));
  EXPECT_NE(group.leader(), 0u);
}

TEST(QuorumSyncing, does_not_stand_while_somebody_has_the_state_of_the_group) {
  Group group(3);
  group.start_all();
  group.say(2, Synced{});
  group.run(Duration::seconds(3));
  EXPECT_EQ(group.leader(), 2u);
}

TEST(QuorumSyncing, lets_the_newest_durable_state_lead_when_nobody_has_the_state_of_the_group) {
  for (uint64_t newest = 1; newest <= 5; ++newest) {
    Group group(5);
    group.start_all();
    for (uint64_t id = 1; id <= 5; ++id) group.say(id, StateWritten{id == newest ? 9u : 4u});
    group.run(Duration::seconds(4));
    EXPECT_EQ(group.leader(), newest);
  }
}

TEST(QuorumSyncing, that_fails_leaves_it_syncing_with_a_warning) {
  Group group(3);
  group.start_all();
  group.say(1, SyncFailed{"nobody answered"});
  EXPECT_FALSE(group[1].active());
  ASSERT_NE(group.last<Note>(1), nullptr);
  EXPECT_TRUE(group.last<Note>(1)->warning);
  EXPECT_THAT(group.last<Note>(1)->text, HasSubstr("nobody answered"));
}

using QuorumMembers = LedGroup<3>;

TEST_F(QuorumMembers, change_one_at_a_time_and_then_count) {
  QuorumConfig fourth = group.config(4);
  fourth.bootstrap.clear();
  group.start(4, fourth);
  group.say(first, ChangeMembers{{MemberChange::Kind::kAdd, MemberId(4)}});
  group.say(first, ChangeMembers{{MemberChange::Kind::kRemove, MemberId(2)}});
  EXPECT_EQ(group.count<ChangeRefused>(first), 1u);
  group.run(Duration::seconds(1));
  for (uint64_t id = 1; id <= 4; ++id) EXPECT_EQ(group[id].members().voters.size(), 4u) << id;
  // Three of four are needed now.
  group.stop(first == 1 ? 2 : 1);
  group.run(Duration::seconds(1));
  EXPECT_EQ(group.leader(), first);
  group.stop(4);
  group.run(Duration::seconds(1));
  EXPECT_EQ(group.leader(), 0u);
}

TEST_F(QuorumMembers, that_remove_their_leader_get_another_one) {
  group.say(first, ChangeMembers{{MemberChange::Kind::kRemove, MemberId(first)}});
  group.run(Duration::seconds(2));
  ASSERT_NE(group.leader(), 0u);
  EXPECT_NE(group.leader(), first);
  EXPECT_EQ(group[group.leader()].members().voters.size(), 2u);
}

class QuorumFlapping : public testing::Test {
 protected:
  // Three members whose leader has changed too often.
  void SetUp() override {
    leader_ = group_.lead();
    for (int change = 0; change < 3; ++change) {
      group_.say(leader_, StepDown{"asked to"});
      group_.run(Duration::seconds(1));
      leader_ = group_.leader();
      ASSERT_NE(leader_, 0u);
    }
  }
  static QuorumTiming timing() {
    QuorumTiming timing;
    timing.flap = {2, Duration::seconds(60), Duration::minutes(10)};
    return timing;
  }
  Group group_{3, timing()};
  uint64_t leader_ = 0;
};

TEST_F(QuorumFlapping, keeps_everybody_from_being_challenged) {
  group_.say(leader_, LocalHealth{.score = 7});
  group_.run(Duration::seconds(1));
  EXPECT_EQ(group_.leader(), leader_);
}

TEST_F(QuorumFlapping, delays_an_election_and_does_not_prevent_it) {
  group_.stop(leader_);
  group_.run(Duration::seconds(1));
  EXPECT_EQ(group_.leader(), 0u) << "it may come back";
  group_.run(Duration::seconds(1));
  EXPECT_NE(group_.leader(), 0u);
}

TEST_F(QuorumFlapping, delays_nothing_when_membership_misses_the_leader_as_well) {
  for (uint64_t id = 1; id <= 3; ++id) {
    if (id != leader_) group_.say(id, LeaderSuspected{MemberId(leader_)});
  }
  group_.stop(leader_);
  group_.run(Duration::seconds(1));
  EXPECT_NE(group_.leader(), 0u);
}

}  // namespace
}  // namespace bellwether::quorum
