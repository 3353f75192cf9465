#include "cluster/membership/membership.h"

#include <gtest/gtest.h>

#include "cluster/membership/membership_testing.h"

namespace bellwether::membership {
namespace {

// Five members that know each other.
SmallGroup five(const Figures& figures = lan()) {
  SmallGroup group(figures);
  for (std::size_t i = 0; i < 5; ++i) {
    group.add("m" + std::to_string(i), i == 0 ? std::vector<std::size_t>{} : std::vector<std::size_t>{0});
    group.run(Duration::millis(100));
  }
  group.run(Duration::seconds(5));
  return group;
}

struct MembershipOfFive : testing::Test {
  SmallGroup group = five();
};

TEST_F(MembershipOfFive, who_joins_through_one_member_is_soon_known_to_all) {
  const Instant asked = group.now;
  group.add("late", {2});
  group.run(Duration::millis(900));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(group.state(i, "late"), MemberState::kAlive) << i;
  EXPECT_EQ(group[5].table().present(), 6U);
  ASSERT_EQ(group.all<JoinedGroup>(5).size(), 1U);
  EXPECT_LT(group.now - asked, Duration::seconds(1));
}

TEST_F(MembershipOfFive, a_seed_that_is_down_does_not_keep_anybody_out) {
  group.kill(1);
  group.add("late", {1, 2});
  group.run(Duration::millis(100));
  EXPECT_EQ(group[5].state(), Membership::State::kMember);
}

TEST_F(MembershipOfFive, a_crashed_member_is_suspected_then_dead_and_its_accusers_are_named) {
  group.kill(3);
  group.run(Duration::seconds(4));
  for (const std::size_t i : {0, 1, 2, 4}) {
    EXPECT_EQ(group.state(i, "m3"), MemberState::kDead);
    EXPECT_EQ(group.told(i, MemberChange::kSuspected, "m3"), 1);
    EXPECT_EQ(group.told(i, MemberChange::kDied, "m3"), 1);
  }
  for (const MemberEvent& event : group.all<MemberEvent>(0)) {
    if (event.change != MemberChange::kSuspected) continue;
    // The nacks of three proxies testify.
    ASSERT_GE(event.accusers.size(), 3U);
    EXPECT_NE(group[0].name_of(*event.accusers.begin()), "");
  }
}

TEST_F(MembershipOfFive, a_member_that_one_cannot_reach_is_saved_by_proxies) {
  group.cut(0, 3);
  group.cut(3, 0);
  group.run(Duration::seconds(20));
  EXPECT_GT(group.sent_of(0, PacketKind::kPingReq), 0);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(group.told(i, MemberChange::kSuspected, "m3"), 0) << i;
}

TEST_F(MembershipOfFive, a_false_accusation_is_refuted_with_a_higher_incarnation) {
  std::string lie;
  PacketWriter writer(lie);
  write_head(writer, {.kind = PacketKind::kNews, .from = node_id("m1")});
  Update accusation{.kind = UpdateKind::kDead, .node = node_id("m3"), .incarnation = 0};
  accusation.accusers.add(1);
  writer.update(accusation);
  group.step(0, DatagramArrived{SmallGroup::where(1), lie});
  EXPECT_EQ(group.state(0, "m3"), MemberState::kDead);
  group.run(Duration::seconds(3));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(group.state(i, "m3"), MemberState::kAlive) << i;
  EXPECT_EQ(group[3].incarnation(), 1U);
  ASSERT_EQ(group.all<IncarnationRaised>(3).size(), 1U);
  group.step(0, DatagramArrived{SmallGroup::where(1), lie});
  EXPECT_EQ(group.state(0, "m3"), MemberState::kAlive) << "the accusation is outdated";
}

TEST_F(MembershipOfFive, a_suspicion_waits_while_nobody_is_heard) {
  std::string lie;
  PacketWriter writer(lie);
  write_head(writer, {.kind = PacketKind::kNews, .from = node_id("m1")});
  Update accusation{.kind = UpdateKind::kSuspect, .node = node_id("m3"), .incarnation = 0};
  for (AccuserMark mark = 1; mark <= 4; ++mark) accusation.accusers.add(mark);
  writer.update(accusation);
  for (std::size_t i = 1; i < 5; ++i) group.cut(i, 0);
  group.step(0, DatagramArrived{SmallGroup::where(1), lie});
  group.run(Duration::seconds(25));
  EXPECT_EQ(group.state(0, "m3"), MemberState::kSuspect);
  group.heal();
  group.run(Duration::seconds(10));
  EXPECT_EQ(group.state(0, "m3"), MemberState::kAlive);
  EXPECT_EQ(group.told(0, MemberChange::kDied, "m3"), 0);
}

TEST_F(MembershipOfFive, a_member_that_restarts_without_memory_is_not_stuck_dead) {
  group.kill(3);
  group.run(Duration::seconds(5));
  ASSERT_EQ(group.state(0, "m3"), MemberState::kDead);
  group.start(3, {0}, 2);
  group.run(Duration::seconds(2));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(group.state(i, "m3"), MemberState::kAlive) << i;
  EXPECT_GE(group[3].incarnation(), 1U);
}

TEST_F(MembershipOfFive, a_member_whose_seeds_are_all_down_joins_through_those_that_still_ask_it) {
  group.kill(2);
  group.kill(3);
  group.start(3, {2}, 2);
  group.run(Duration::seconds(10));
  for (const std::size_t i : {0, 1, 4}) {
    EXPECT_EQ(group.state(3, "m" + std::to_string(i)), MemberState::kAlive) << i;
    EXPECT_EQ(group.state(i, "m3"), MemberState::kAlive) << i;
  }
}

TEST_F(MembershipOfFive, an_accusation_that_was_refuted_long_ago_is_answered_with_what_is_true) {
  std::string old;
  PacketWriter writer(old);
  write_head(writer, {.kind = PacketKind::kNews, .from = node_id("m1")});
  Update accusation{.kind = UpdateKind::kDead, .node = node_id("m3"), .incarnation = 0};
  accusation.accusers.add(1);
  writer.update(accusation);
  group.step(3, DatagramArrived{SmallGroup::where(1), old});
  group.run(Duration::seconds(3));
  ASSERT_EQ(group[3].incarnation(), 1U);

  group.sent.clear();
  group.step(3, DatagramArrived{SmallGroup::where(1), old});
  ASSERT_EQ(group.sent.size(), 1U);
  PacketReader in(group.sent.front().second);
  PacketHead head;
  Update told;
  ASSERT_TRUE(read_head(in, head) && in.update(told));
  EXPECT_EQ(told.kind, UpdateKind::kAlive);
  EXPECT_EQ(told.node, node_id("m3"));
  EXPECT_EQ(told.incarnation, 1U);
}

TEST_F(MembershipOfFive, a_restart_faster_than_any_suspicion_is_told_as_a_restart) {
  group.kill(3);
  group.start(3, {0}, 2);
  group.run(Duration::seconds(2));
  for (const std::size_t i : {0, 1, 2, 4}) {
    EXPECT_EQ(group.told(i, MemberChange::kRestarted, "m3"), 1) << i;
    EXPECT_EQ(group.told(i, MemberChange::kDied, "m3"), 0) << i;
  }
}

TEST_F(MembershipOfFive, who_leaves_is_told_as_left_and_never_suspected) {
  group.step(3, Leave{});
  group.run(Duration::seconds(6));
  EXPECT_EQ(group.all<LeftGroup>(3).size(), 1U);
  EXPECT_EQ(group[3].wake(), Instant::never());
  for (const std::size_t i : {0, 1, 2, 4}) {
    EXPECT_EQ(group.state(i, "m3"), MemberState::kLeft);
    EXPECT_EQ(group.told(i, MemberChange::kSuspected, "m3"), 0);
  }
}

TEST_F(MembershipOfFive, a_proven_death_is_believed_at_once_and_by_all) {
  group.kill(3);
  group.step(0, ProofOfDeath{"m3", SmallGroup::where(3)});
  EXPECT_EQ(group.state(0, "m3"), MemberState::kDead);
  group.run(Duration::millis(800));
  for (const std::size_t i : {1, 2, 4}) EXPECT_EQ(group.state(i, "m3"), MemberState::kDead) << i;
}

TEST_F(MembershipOfFive, a_proof_about_another_address_is_no_proof) {
  group.step(0, ProofOfDeath{"m3", SmallGroup::where(9)});
  EXPECT_EQ(group.state(0, "m3"), MemberState::kAlive);
}

TEST_F(MembershipOfFive, silent_failures_of_most_members_are_held_and_proven_ones_are_not) {
  for (const std::size_t i : {1, 2, 3}) group.kill(i);
  group.run(Duration::seconds(10));
  EXPECT_NE(group.state(0, "m1"), MemberState::kDead);
  EXPECT_FALSE(group.all<GuardChanged>(0).empty());
  group.step(0, ProofOfDeath{"m2", SmallGroup::where(2)});
  EXPECT_EQ(group.state(0, "m2"), MemberState::kDead);
  group.run(Duration::seconds(60));
  EXPECT_EQ(group.state(0, "m1"), MemberState::kDead) << "the guard ends";
}

TEST(Membership, one_of_two_that_dies_is_found_dead) {
  SmallGroup group(lan());
  group.add("m0", {});
  group.add("m1", {0});
  group.run(Duration::seconds(3));
  group.kill(1);
  group.run(Duration::seconds(5));
  EXPECT_EQ(group.state(0, "m1"), MemberState::kDead);
}

TEST_F(MembershipOfFive, a_node_that_hears_nobody_accuses_nobody) {
  for (std::size_t i = 1; i < 5; ++i) group.cut(i, 0);
  group.run(Duration::seconds(15));
  std::ptrdiff_t suspected = 0;
  for (std::size_t i = 1; i < 5; ++i) suspected += group.told(0, MemberChange::kSuspected, "m" + std::to_string(i));
  EXPECT_LE(suspected, 1) << "but for a probe that was under way";
  EXPECT_EQ(group[0].health_score(), 8);
  EXPECT_EQ(group[0].degradation(), Degradation::kCritical);
}

TEST_F(MembershipOfFive, a_process_that_was_stopped_reads_before_it_judges) {
  // Stopped for ten seconds with a question on its way: its timers are all late when it goes on.
  const auto before = group.sent_of(0, PacketKind::kPing);
  while (group.sent_of(0, PacketKind::kPing) == before) group.run(Duration::millis(1));
  Effects out;
  group[0].step(group.now + Duration::seconds(10), Tick{}, out);
  for (const Effect& effect : out) {
    EXPECT_FALSE(std::holds_alternative<MemberEvent>(effect));
    const auto* datagram = std::get_if<SendDatagram>(&effect);
    if (!datagram) continue;
    PacketReader in(datagram->bytes);
    PacketHead head;
    ASSERT_TRUE(read_head(in, head));
    EXPECT_NE(head.kind, PacketKind::kPingReq);
  }
  EXPECT_EQ(group[0].health_score(), 2);
}

TEST_F(MembershipOfFive, state_that_the_asker_has_is_not_sent_again) {
  group.step(2, SetState{"cores: 8"});
  for (const uint64_t known : {0, 1}) {
    std::string question;
    PacketWriter writer(question);
    PacketHead ping{.kind = PacketKind::kPing, .from = node_id("m0"), .sequence = 99, .to = node_id("m2"), .life = 1};
    ping.state_version = known;
    write_head(writer, ping);
    group.step(2, DatagramArrived{SmallGroup::where(0), question});
    PacketReader in(group.sent.back().second);
    PacketHead answer;
    ASSERT_TRUE(read_head(in, answer));
    ASSERT_EQ(answer.kind, PacketKind::kAck);
    EXPECT_EQ(answer.state, known == 0 ? "cores: 8" : "");
  }
}

TEST_F(MembershipOfFive, state_rides_on_acks_and_arrives_once_in_each_version) {
  group.step(2, SetState{"cores: 8"});
  group.run(Duration::seconds(8));
  const auto arrived = group.all<StateArrived>(0);
  ASSERT_EQ(arrived.size(), 1U);
  EXPECT_EQ(arrived[0].name, "m2");
  EXPECT_EQ(arrived[0].bytes, "cores: 8");
  group.step(2, SetState{"cores: 7"});
  group.run(Duration::seconds(8));
  EXPECT_EQ(group.all<StateArrived>(0).size(), 2U);
}

TEST(Membership, the_state_of_a_member_that_has_started_again_arrives_whatever_its_clock_says) {
  for (const uint32_t life : {2U, 9U}) {
    SmallGroup group(lan());
    group.add("m0", {});
    group.add("m1", {0}, 5);
    for (int i = 0; i < 50; ++i) group.step(1, SetState{"before " + std::to_string(i)});
    group.run(Duration::seconds(5));
    ASSERT_EQ(group.all<StateArrived>(0).back().bytes, "before 49");
    group.kill(1);
    group.run(Duration::seconds(10));
    group.start(1, {0}, life);
    group.step(1, SetState{"after"});
    group.run(Duration::seconds(5));
    EXPECT_EQ(group.all<StateArrived>(0).back().bytes, "after") << life;
  }
}

TEST_F(MembershipOfFive, changed_meta_reaches_all) {
  group.step(2, SetMeta{"dc=north"});
  group.run(Duration::seconds(2));
  for (const std::size_t i : {0, 1, 3, 4}) {
    const auto found = group[i].table().find(node_id("m2"));
    EXPECT_EQ(group[i].table().profile(*found).meta, "dc=north");
    EXPECT_EQ(group.told(i, MemberChange::kUpdated, "m2"), 1);
  }
}

TEST(Membership, two_halves_that_held_each_other_dead_are_one_again_after_the_partition) {
  Figures figures = lan();
  figures.island_interval = Duration::hours(1);
  SmallGroup group = five(figures);
  for (const std::size_t a : {0, 1}) {
    for (const std::size_t b : {2, 3, 4}) {
      group.cut(a, b);
      group.cut(b, a);
    }
  }
  group.run(Duration::seconds(60));
  ASSERT_EQ(group[0].table().present(), 2U);
  ASSERT_EQ(group[2].table().present(), 3U);
  group.heal();
  group.run(Duration::seconds(30));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(group[i].table().present(), 5U) << i;
  // The other half's view of one's own half killed no member in it.
  EXPECT_EQ(group.told(0, MemberChange::kDied, "m1"), 0);
  EXPECT_EQ(group.told(2, MemberChange::kDied, "m3") + group.told(2, MemberChange::kDied, "m4"), 0);
}

TEST(Membership, islands_that_forgot_each_other_find_together_again) {
  Figures figures = lan();
  figures.tombstone_ttl = Duration::seconds(20);
  figures.island_interval = Duration::seconds(10);
  SmallGroup group = five(figures);
  for (const std::size_t a : {0, 1}) {
    for (const std::size_t b : {2, 3, 4}) {
      group.cut(a, b);
      group.cut(b, a);
    }
  }
  group.run(Duration::seconds(120));
  ASSERT_EQ(group.state(0, "m3"), MemberState::kUnknown);
  ASSERT_EQ(group.state(3, "m0"), MemberState::kUnknown);
  group.heal();
  group.run(Duration::seconds(60));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(group[i].table().present(), 5U) << i;
}

TEST(Membership, a_stranger_that_asks_is_met_before_the_view_is_quiet) {
  Figures figures = lan();
  figures.sync_settle = Duration::hours(1);
  figures.island_interval = Duration::hours(1);
  SmallGroup group = five(figures);
  for (const std::size_t i : {0, 1, 2}) group.kill(i);
  group.run(Duration::seconds(60));
  ASSERT_EQ(group[3].table().present(), 2U);
  // They begin anew, and know of each other only.
  group.begin(0, {.seeds = {SmallGroup::where(1)}, .founds = true, .remembered = {}}, 2);
  group.begin(1, {.seeds = {SmallGroup::where(0)}, .founds = false, .remembered = {}}, 2);
  group.begin(2, {.seeds = {SmallGroup::where(0)}, .founds = false, .remembered = {}}, 2);
  group.run(Duration::seconds(20));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(group[i].table().present(), 5U) << i;
}

TEST(Membership, who_founded_a_group_in_error_joins_the_one_that_its_seeds_are_in) {
  Figures figures = lan();
  figures.island_interval = Duration::seconds(10);
  SmallGroup group = five(figures);
  const std::size_t founder = group.add("m5", {});
  group.kill(founder);
  group.begin(founder, {.seeds = {SmallGroup::where(2)}, .founds = true, .remembered = {}}, 2);
  group.run(Duration::millis(50));
  EXPECT_EQ(group[founder].table().present(), 1U) << "it is the first of its own";
  group.run(Duration::seconds(30));
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(group[i].table().present(), 6U) << i;
}

TEST_F(MembershipOfFive, what_gossip_lost_a_comparison_of_views_brings) {
  // m0 hears of m9 from no member: its record is put into the others' views only.
  std::string news;
  PacketWriter writer(news);
  write_head(writer, {.kind = PacketKind::kNews, .from = node_id("m1")});
  group.add("m9", {});
  group.run(Duration::seconds(2));
  group.step(4, DatagramArrived{SmallGroup::where(1), news});
  ASSERT_EQ(group.state(0, "m9"), MemberState::kUnknown);
  std::string hello;
  PacketWriter ping(hello);
  write_head(ping, {.kind = PacketKind::kPing, .from = node_id("m9"), .sequence = 7, .to = node_id("m4"), .life = 1});
  group.run(Duration::seconds(20));
  group.step(4, DatagramArrived{SmallGroup::where(5), hello});
  group.run(Duration::seconds(20));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(group.state(i, "m9"), MemberState::kAlive) << i;
}

TEST(Membership, the_view_is_bounded) {
  Figures figures = lan();
  figures.max_members = 4;
  SmallGroup group = five(figures);
  EXPECT_LE(group[0].table().size(), 4U);
}

TEST_F(MembershipOfFive, garbage_changes_nothing_and_is_counted) {
  const uint32_t digest = group[0].table().digest();
  for (const char* bytes : {"", "x", "\x01\x09garbage", "\x01\x01too short"}) {
    group.step(0, DatagramArrived{SmallGroup::where(1), bytes});
    group.step(0, StreamAsked{1, bytes});
  }
  EXPECT_EQ(group[0].table().digest(), digest);
  EXPECT_EQ(group[0].malformed(), 8U);
}

TEST_F(MembershipOfFive, lag_of_the_loop_lowers_the_trust_in_oneself_and_recovery_restores_it) {
  group.step(0, LoopLag{2.5});
  EXPECT_EQ(group[0].health_score(), 2);
  EXPECT_EQ(group[0].degradation(), Degradation::kSevere);
  group.step(0, LoopLag{0.1});
  EXPECT_EQ(group[0].health_score(), 1);
  EXPECT_EQ(group[0].degradation(), Degradation::kNormal);
  ASSERT_EQ(group.all<DegradationChanged>(0).size(), 2U);
}

}  // namespace
}  // namespace bellwether::membership
