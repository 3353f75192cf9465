#include "election/quorum/configuration.h"

#include <gtest/gtest.h>

namespace bellwether::quorum {
namespace {

std::vector<MemberId> ids(std::initializer_list<uint64_t> numbers) {
  std::vector<MemberId> out;
  for (const uint64_t number : numbers) out.emplace_back(number);
  return out;
}

TEST(Configuration, is_declared_in_order_and_without_repetition) {
  const auto members = declare(ids({3, 1, 3, 2}));
  ASSERT_TRUE(members.has_value());
  EXPECT_EQ(members->voters, ids({1, 2, 3}));
  EXPECT_FALSE(declare({}).has_value());
  EXPECT_FALSE(declare(ids({0, 1})).has_value());
  EXPECT_EQ(declare([] {
              std::vector<MemberId> many;
              for (uint64_t id = 1; id <= kMaxMembers + 1; ++id) many.emplace_back(id);
              return many;
            }())
                .error()
                .code,
            Errc::kTooLarge);
}

TEST(Configuration, changes_by_one_member_through_a_joint_one) {
  const Configuration from = *declare(ids({1, 2, 3}));
  const auto joint = begin_change(from, {MemberChange::Kind::kAdd, MemberId(4)}, Term(5));
  ASSERT_TRUE(joint.has_value());
  EXPECT_TRUE(joint->joint());
  EXPECT_EQ(joint->voters, ids({1, 2, 3}));
  EXPECT_EQ(joint->next, ids({1, 2, 3, 4}));
  EXPECT_GT(joint->stamp, from.stamp);
  EXPECT_FALSE(begin_change(*joint, {MemberChange::Kind::kRemove, MemberId(1)}, Term(5)).has_value());
  const Configuration to = end_change(*joint, Term(5));
  EXPECT_EQ(to.voters, ids({1, 2, 3, 4}));
  EXPECT_FALSE(to.joint());
  EXPECT_GT(to.stamp, joint->stamp);
}

TEST(Configuration, refuses_what_would_change_nothing_or_end_the_group) {
  const Configuration one = *declare(ids({1}));
  EXPECT_FALSE(begin_change(one, {MemberChange::Kind::kRemove, MemberId(1)}, Term(1)).has_value());
  EXPECT_FALSE(begin_change(one, {MemberChange::Kind::kRemove, MemberId(2)}, Term(1)).has_value());
  EXPECT_FALSE(begin_change(one, {MemberChange::Kind::kAdd, MemberId(1)}, Term(1)).has_value());
  EXPECT_FALSE(begin_change(one, {MemberChange::Kind::kAdd, kNobody}, Term(1)).has_value());
}

TEST(Configuration, of_a_later_leader_is_newer_whatever_the_earlier_one_had_begun) {
  const Configuration from = *declare(ids({1, 2, 3}));
  const Configuration begun = *begin_change(from, {MemberChange::Kind::kAdd, MemberId(4)}, Term(5));
  EXPECT_GT(confirm(from, Term(6)).stamp, begun.stamp);
}

TEST(Configuration, majority_is_more_than_half_of_the_declared_members) {
  EXPECT_EQ(majority_of(1), 1u);
  EXPECT_EQ(majority_of(2), 2u);
  EXPECT_EQ(majority_of(3), 2u);
  EXPECT_EQ(majority_of(4), 3u);
  EXPECT_EQ(majority_of(5), 3u);
}

}  // namespace
}  // namespace bellwether::quorum
