#include <algorithm>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "load/plan/context.h"

namespace bellwether::plan {
namespace {

std::vector<std::string> texts(const Collection& list) {
  const auto given = list.given(0);
  return given ? given->list : std::vector<std::string>();
}

struct CollectionTest : testing::Test {
  Collection list;
};

TEST_F(CollectionTest, has_the_last_value_of_each_user_in_the_order_of_their_numbers) {
  EXPECT_FALSE(list.given(3)) << "of nobody there is no list";
  EXPECT_TRUE(list.add(10, Duration::seconds(1), "ten"));
  EXPECT_TRUE(list.add(2, Duration::seconds(5), "two"));
  EXPECT_TRUE(list.add(10, Duration::seconds(4), "ten again"));
  EXPECT_FALSE(list.add(10, Duration::seconds(2), "ten before that"));
  EXPECT_EQ(texts(list), (std::vector<std::string>{"two", "ten again"}));
  EXPECT_EQ(list.given(3)->use, 3);
  EXPECT_EQ(list.given(3)->text, "");
}

TEST_F(CollectionTest, of_one_user_and_moment_the_value_of_the_later_share_stays) {
  list.add(1, Duration::seconds(1), "of share 2", 2);
  EXPECT_FALSE(list.add(1, Duration::seconds(1), "of share 1", 1));
  EXPECT_FALSE(list.add(1, Duration::seconds(1), "of share 2", 2)) << "told twice";
  EXPECT_TRUE(list.add(1, Duration::seconds(1), "of share 3", 3));
  EXPECT_EQ(texts(list), std::vector<std::string>{"of share 3"});
}

TEST_F(CollectionTest, has_the_lowest_users_when_there_are_too_many) {
  for (uint32_t vu = kMaxListValues + 5; vu > 0; --vu) list.add(vu, {}, "x");
  EXPECT_EQ(list.items().size(), kMaxListValues);
  EXPECT_EQ(list.cut(), kMaxListValues + 1);
  EXPECT_FALSE(list.takes(kMaxListValues + 1));
  EXPECT_TRUE(list.takes(kMaxListValues));
}

TEST_F(CollectionTest, has_the_lowest_users_when_they_are_too_long) {
  const std::string half(kMaxListText / 4, 'a');
  for (const uint32_t vu : {5, 4, 3, 2}) list.add(vu, {}, half);
  EXPECT_FALSE(list.cut());
  list.add(1, {}, "b");
  EXPECT_EQ(list.cut(), 5u);
  EXPECT_EQ(texts(list), (std::vector<std::string>{"b", half, half, half}));
  EXPECT_FALSE(list.add(5, Duration::seconds(9), "short now")) << "a list that was cut has no gap";
  EXPECT_EQ(texts(list).size(), 4u);
}

TEST_F(CollectionTest, what_was_replaced_takes_no_room) {
  const std::string half(kMaxListText / 4, 'a');
  for (int64_t i = 1; i <= 20; ++i) list.add(1, Duration::seconds(i), half);
  EXPECT_FALSE(list.cut());
  EXPECT_EQ(texts(list).size(), 1u);
}

TEST_F(CollectionTest, ends_before_a_value_that_is_too_long_for_any_list) {
  list.add(1, {}, "a");
  list.add(2, {}, std::string(kMaxContextText + 1, 'b'));
  list.add(3, {}, "c");
  EXPECT_EQ(list.cut(), 2u);
  EXPECT_EQ(texts(list), std::vector<std::string>{"a"});
}

TEST_F(CollectionTest, says_how_many_it_has_when_it_was_cut) {
  list.add(1, {}, "a");
  list.add({0, 7, {}, {}, true, true});
  EXPECT_EQ(
      cut_text("tokens", "auth", list),
      "'tokens' of workflow 'auth' has the values of its first 1 virtual users: from virtual user 7 on they do not "
      "fit into 10000 values and 256 KiB");
}

// The report of one engine, or one assignment, about these values.
RC_GTEST_PROP(CollectionProperty, is_the_same_however_its_parts_come, ()) {
  const auto sizes = *rc::gen::container<std::vector<uint32_t>>(rc::gen::inRange<uint32_t>(1, kMaxListText / 4));
  const auto parts = *rc::gen::inRange<std::size_t>(1, 5);
  Collection whole;
  std::vector<Collection> cut(parts);
  std::vector<Provided> all;
  for (uint32_t i = 0; i < sizes.size(); ++i) {
    const std::string text(sizes[i], static_cast<char>('a' + i % 26));
    whole.add(i + 1, Duration::seconds(i), text);
    cut[i % parts].add(i + 1, Duration::seconds(i), text);
  }
  for (const Collection& part : cut) {
    for (const Provided& one : part.provided(0)) all.push_back(one);
  }
  const auto order = *rc::gen::container<std::vector<uint32_t>>(all.size(), rc::gen::arbitrary<uint32_t>());
  std::vector<std::size_t> turn(all.size());
  for (std::size_t i = 0; i < turn.size(); ++i) turn[i] = i;
  std::stable_sort(turn.begin(), turn.end(), [&](std::size_t a, std::size_t b) { return order[a] < order[b]; });
  Collection merged;
  for (const std::size_t i : turn) merged.add(all[i]);
  for (const std::size_t i : turn) RC_ASSERT(!merged.add(all[i]));
  RC_ASSERT(texts(merged) == texts(whole));
  RC_ASSERT(merged.cut().has_value() == whole.cut().has_value());
  RC_ASSERT(merged.cut() == whole.cut());
}

}  // namespace
}  // namespace bellwether::plan
