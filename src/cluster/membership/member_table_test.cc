#include "cluster/membership/member_table.h"

#include <gtest/gtest.h>

#include "core/base/prng.h"

namespace bellwether::membership {
namespace {

Member alive(uint32_t incarnation) { return {.incarnation = incarnation, .life = 1, .state = MemberState::kAlive}; }

TEST(MemberTable, digests_agree_whatever_the_order_and_differ_with_the_view) {
  Directory directory;
  MemberTable one(directory);
  MemberTable other(directory);
  one.enter("a", alive(1), {});
  const auto b = one.enter("b", alive(2), {});
  other.enter("b", alive(2), {});
  EXPECT_NE(one.digest(), other.digest());
  other.enter("a", alive(1), {});
  EXPECT_EQ(one.digest(), other.digest());
  one.set_state(*b, MemberState::kSuspect, 2);
  EXPECT_EQ(one.digest(), other.digest()) << "suspicion is no difference";
  one.set_state(*b, MemberState::kAlive, 3);
  EXPECT_NE(one.digest(), other.digest());
  const uint32_t bucket = MemberTable::bucket_of(node_id("b"));
  EXPECT_NE(one.bucket_digest(bucket), other.bucket_digest(bucket));
}

TEST(MemberTable, tombstones_do_not_count_in_the_digest) {
  Directory directory;
  MemberTable one(directory);
  one.enter("a", alive(1), {});
  const uint32_t digest = one.digest();
  const auto b = one.enter("b", alive(2), {});
  one.set_state(*b, MemberState::kDead, 2);
  EXPECT_EQ(one.digest(), digest);
  one.forget(*b);
  EXPECT_EQ(one.digest(), digest);
  EXPECT_FALSE(one.find(node_id("b")));
  EXPECT_EQ(one.size(), 1U);
}

TEST(MemberTable, counts_members_by_state_and_role) {
  Directory directory;
  MemberTable table(directory);
  const auto a = table.enter("a", alive(1), {.endpoint = {}, .role = 3, .meta = {}});
  table.enter("b", alive(1), {.endpoint = {}, .role = 3, .meta = {}});
  table.set_state(*a, MemberState::kSuspect, 1);
  EXPECT_EQ(table.count(uint8_t{3}, false), 1U);
  EXPECT_EQ(table.count(uint8_t{3}, true), 1U);
  EXPECT_EQ(table.present(), 2U);
  table.set_identity(*a, 1, {.endpoint = {}, .role = 4, .meta = {}});
  EXPECT_EQ(table.count(uint8_t{3}, true), 0U);
  EXPECT_EQ(table.count(uint8_t{4}, true), 1U);
}

TEST(MemberTable, views_that_share_a_directory_are_independent) {
  Directory directory;
  MemberTable one(directory);
  const auto a = one.enter("a", alive(1), {});
  {
    MemberTable other(directory);
    other.enter("a", alive(9), {});
    EXPECT_EQ(one.at(*a).incarnation, 1U);
  }
  EXPECT_EQ(one.name(*a), "a");
}

TEST(MemberTable, finds_who_shares_an_endpoint_as_a_look_at_all_members_does) {
  Directory directory;
  MemberTable table(directory);
  Prng prng(1);
  const auto any_endpoint = [&] {
    return Profile{Endpoint::v4({10, 0, 0, 1}, static_cast<uint16_t>(prng.below(8))), 0, {}};
  };
  int shared = 0;
  for (int i = 0; i < 2'000; ++i) {
    const std::string name = std::to_string(prng.below(12));
    const auto known = table.find(node_id(name));
    const uint64_t what = prng.below(4);
    if (!known) {
      table.enter(name, alive(1), any_endpoint());
    } else if (what == 0) {
      table.forget(*known);
    } else if (what == 1) {
      table.set_state(*known, prng.below(2) == 0 ? MemberState::kDead : MemberState::kAlive, 1);
    } else {
      table.set_identity(*known, 1, any_endpoint());
    }
    for (NodeIndex node = 0; node < table.slots(); ++node) {
      if (!table.has(node)) continue;
      std::optional<NodeIndex> first;
      for (NodeIndex other = table.slots(); other-- > 0;) {
        const bool counts = other != node && table.has(other) && is_present(table.at(other).state);
        if (counts && table.endpoint(other) == table.endpoint(node)) first = other;
      }
      ASSERT_EQ(table.with_endpoint_of(node), first);
      shared += first ? 1 : 0;
    }
  }
  EXPECT_GT(shared, 1'000);
}

}  // namespace
}  // namespace bellwether::membership
