// Names and addresses that two processes claim.
#include <gtest/gtest.h>

#include "cluster/membership/membership_testing.h"

namespace bellwether::membership {
namespace {

SmallGroup four() {
  SmallGroup group(lan());
  for (std::size_t i = 0; i < 4; ++i) {
    group.add("m" + std::to_string(i), i == 0 ? std::vector<std::size_t>{} : std::vector<std::size_t>{0}, 10);
    group.run(Duration::millis(100));
  }
  group.run(Duration::seconds(3));
  return group;
}

TEST(MembershipConflict, a_second_process_under_a_living_name_is_refused_and_both_sides_are_told) {
  SmallGroup group = four();
  const std::size_t clone = group.add("m2", {0}, 20);
  group.run(Duration::seconds(5));
  ASSERT_EQ(group.all<Refused>(clone).size(), 1U);
  EXPECT_EQ(group.all<Refused>(clone)[0].holder, SmallGroup::where(2));
  EXPECT_FALSE(group.all<Conflict>(clone).empty());
  EXPECT_EQ(group[clone].wake(), Instant::never());
  EXPECT_TRUE(group.all<Refused>(2).empty());
  for (const std::size_t i : {0, 1, 3}) {
    const auto found = group[i].table().find(node_id("m2"));
    EXPECT_EQ(group[i].table().endpoint(*found), SmallGroup::where(2)) << i;
  }
}

TEST(MembershipConflict, a_clone_with_the_incarnation_of_a_stolen_memory_is_refused_too) {
  SmallGroup group = four();
  const std::size_t clone = group.add("m2", {0}, 20, 50);
  group.run(Duration::seconds(5));
  EXPECT_EQ(group.all<Refused>(clone).size(), 1U);
  EXPECT_TRUE(group.all<Refused>(2).empty());
  EXPECT_EQ(group.state(0, "m2"), MemberState::kAlive);
}

TEST(MembershipConflict, a_process_that_moved_to_another_address_takes_its_name_along) {
  SmallGroup group = four();
  group.kill(2);
  const std::size_t moved = group.add("m2", {0}, 20);
  group.run(Duration::seconds(5));
  EXPECT_TRUE(group.all<Refused>(moved).empty());
  for (const std::size_t i : {0, 1, 3}) {
    const auto found = group[i].table().find(node_id("m2"));
    EXPECT_EQ(group[i].table().endpoint(*found), SmallGroup::where(moved)) << i;
    EXPECT_EQ(group[i].table().at(*found).state, MemberState::kAlive) << i;
  }
}

TEST(MembershipConflict, the_age_of_who_answers_counts_and_not_of_who_ran_there_before) {
  SmallGroup group = four();
  group.kill(2);
  const std::size_t moved = group.add("m2", {}, 20);
  group.start(2, {}, 30);
  const auto hear = [&](std::size_t node, std::size_t where, uint32_t life) {
    std::string news;
    PacketWriter writer(news);
    write_head(writer, {.kind = PacketKind::kNews, .from = node_id("m1")});
    writer.update({.kind = UpdateKind::kAlive,
                   .node = node_id("m2"),
                   .incarnation = 0,
                   .name = "m2",
                   .life = life,
                   .profile = {.endpoint = SmallGroup::where(where), .role = 0, .meta = {}},
                   .accusers = {}});
    group.step(node, DatagramArrived{SmallGroup::where(1), news});
  };
  hear(moved, 2, 10);
  hear(2, moved, 20);
  group.run(Duration::millis(10));
  EXPECT_TRUE(group.all<Refused>(moved).empty());
  EXPECT_EQ(group.all<Refused>(2).size(), 1U);
}

TEST(MembershipConflict, two_names_at_one_address_are_told) {
  SmallGroup group = four();
  std::string news;
  PacketWriter writer(news);
  write_head(writer, {.kind = PacketKind::kNews, .from = node_id("m1")});
  writer.update({.kind = UpdateKind::kJoin,
                 .node = node_id("other"),
                 .name = "other",
                 .life = 1,
                 .profile = {.endpoint = SmallGroup::where(3), .role = 0, .meta = {}},
                 .accusers = {}});
  group.step(0, DatagramArrived{SmallGroup::where(1), news});
  const auto conflicts = group.all<Conflict>(0);
  ASSERT_EQ(conflicts.size(), 1U);
  EXPECT_EQ(conflicts[0].kind, ConflictKind::kAddress);
  EXPECT_EQ(conflicts[0].name, "other");
  EXPECT_EQ(conflicts[0].other, "m3");
}

}  // namespace
}  // namespace bellwether::membership
