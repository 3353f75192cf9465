#include "load/plan/sequence.h"

#include <gtest/gtest.h>

#include "load/plan/load_testing.h"

namespace bellwether::plan {
namespace {

using enum WorkflowProgress;

// Workflows 0 and 1, and one that waits for both.
bool begins(bool is_teardown, WorkflowProgress first, WorkflowProgress second) {
  const Links links{.name = "w", .depends = {0, 1}, .is_teardown = is_teardown};
  return may_begin(links, [&](uint16_t need) { return need == 0 ? first : second; });
}
std::optional<uint16_t> in_vain(bool is_teardown, WorkflowProgress first, WorkflowProgress second) {
  const Links links{.name = "w", .depends = {0, 1}, .is_teardown = is_teardown};
  return waits_in_vain_for(links, [&](uint16_t need) { return need == 0 ? first : second; });
}

TEST(Sequence, a_workflow_begins_when_all_that_it_waits_for_has_completed) {
  EXPECT_TRUE(begins(false, kCompleted, kCompleted));
  EXPECT_FALSE(begins(false, kCompleted, kOpen));
  EXPECT_FALSE(begins(false, kCompleted, kEnded));
}

TEST(Sequence, it_is_left_out_for_the_first_that_ended_in_another_way) {
  EXPECT_EQ(in_vain(false, kCompleted, kOpen), std::nullopt);
  EXPECT_EQ(in_vain(false, kOpen, kEnded), 1);
  EXPECT_EQ(in_vain(false, kEnded, kEnded), 0);
}

TEST(Sequence, a_teardown_follows_whatever_has_ended_and_is_never_left_out) {
  EXPECT_TRUE(begins(true, kCompleted, kEnded));
  EXPECT_FALSE(begins(true, kEnded, kOpen));
  EXPECT_EQ(in_vain(true, kEnded, kEnded), std::nullopt);
}

TEST(Sequence, what_a_workflow_waits_for_gives_and_takes_is_in_the_plan) {
  TestSources sources(
      "workflows:\n"
      "  a: {vus: 1, duration: 1s, steps: {s: {http: {get: 'http://h/'}, extract: {id: {json: $.id}}}},\n"
      "      provide: {b: {one: '${id}', all: {value: '${id}', collect: all}}}}\n"
      "  b: {vus: 1, duration: 1s, depends: a, use: {a: [one, all]}, steps: {s: {http: {get: 'http://h/${one}'}}}}\n");
  const auto plan = sources.load();
  ASSERT_TRUE(plan) << sources.errors();
  const Links a = links_of(plan->workflows[0]);
  EXPECT_EQ(a.provides.size(), 2u);
  EXPECT_EQ(a.lists.size(), 1u);
  const Links b = links_of(plan->workflows[1]);
  EXPECT_EQ(b.depends, std::vector<uint16_t>{0});
  EXPECT_EQ(b.uses.size(), 2u);
  EXPECT_TRUE(b.uses[0].required);
}

TEST(Sequence, whose_users_are_meant_is_found_by_name_or_because_there_is_no_other) {
  const std::vector<Told> one{{3, "a", 20}};
  const std::vector<Told> two{{3, "a", 20}, {5, "b", 7}};
  EXPECT_EQ(find_told(one, "", 20).value(), 3);
  EXPECT_EQ(find_told(two, "b", 7).value(), 5);
  const auto why = [](const Result<uint16_t>& found) { return found ? "found" : found.error().message; };
  EXPECT_EQ(why(find_told({}, "", 1)), "no workflow is controlled from outside (executor: externally-controlled)");
  EXPECT_EQ(why(find_told(two, "", 1)), "several workflows are controlled from outside; name one: a, b");
  EXPECT_EQ(why(find_told(two, "c", 1)), "no workflow 'c' is controlled from outside; there is: a, b");
  EXPECT_EQ(why(find_told(two, "b", 8)), "workflow 'b' may have at most 7 virtual users ('max_vus'), not 8");
}

TEST(Sequence, what_is_missing_or_was_cut_is_told) {
  const std::vector<Links> all{{.name = "a", .provides = {"one", "list"}, .lists = {1}},
                               {.name = "b", .uses = {{0, 0, "one", true}, {0, 1, "list", true}}},
                               {.name = "c", .uses = {{0, 0, "one", false}}}};
  Values values;
  EXPECT_EQ(remarks_on_values(values, all, 1),
            (std::vector<Remark>{{"value_missing", "workflow 'a' provided no 'one' for 'b'"},
                                 {"value_missing", "workflow 'a' provided no 'list' for 'b'"}}));
  EXPECT_TRUE(remarks_on_values(values, all, 2).empty()) << "something stands for it";
  EXPECT_EQ(lack_of(values, all, 1), "workflow 'a' provided no 'one' for 'b', and 'use' has no default");
  EXPECT_FALSE(lack_of(values, all, 2));
  auto teardown = all;
  teardown[1].is_teardown = true;
  EXPECT_FALSE(lack_of(values, teardown, 1)) << "a teardown begins without";
  values.merge(0, 1, {0, 1, Duration::seconds(1), "x"});
  values.merge(0, 1, {1, 1, Duration::seconds(1), "y", false, true});
  values.merge(0, 1, {1, 2, Duration::seconds(1), "", true, true});
  EXPECT_FALSE(lack_of(values, all, 1));
  const auto told = remarks_on_values(values, all, 1);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].kind, "list_cut");
  EXPECT_EQ(remark_on_too_large(all[0], 0).text, "'one' of workflow 'a' is longer than 64 KiB, and is left out");
}

TEST(Values, keeps_the_lowest_user_s_later_value_in_whatever_order_they_come) {
  const Provided early{0, 1, Duration::seconds(1), "early"};
  const Provided late{0, 1, Duration::seconds(2), "late"};
  const Provided other{0, 2, Duration::seconds(3), "of another user"};
  Values one;
  EXPECT_TRUE(one.merge(3, 1, other));
  EXPECT_TRUE(one.merge(3, 2, early));
  EXPECT_TRUE(one.merge(3, 3, late));
  EXPECT_FALSE(one.merge(3, 2, early));
  EXPECT_EQ(one.version, 3u);
  Values same;
  EXPECT_TRUE(same.merge(3, 3, late));
  EXPECT_FALSE(same.merge(3, 2, early));
  EXPECT_FALSE(same.merge(3, 1, other));
  EXPECT_EQ(one.values, same.values);
  EXPECT_EQ(*one.find(3, 0), "late");
  EXPECT_EQ(one.find(3, 1), nullptr);
  EXPECT_EQ(one.find(2, 0), nullptr);
}

TEST(Values, of_one_user_and_moment_the_later_teller_wins) {
  const Provided a{0, 1, Duration::seconds(1), "a"};
  const Provided b{0, 1, Duration::seconds(1), "b"};
  Values one;
  one.merge(0, 2, b);
  EXPECT_FALSE(one.merge(0, 1, a));
  EXPECT_EQ(*one.find(0, 0), "b");
}

TEST(Values, a_list_has_one_value_of_each_user_whoever_told_it) {
  Values one;
  EXPECT_TRUE(one.merge(3, 1, {0, 2, Duration::seconds(1), "two", false, true}));
  EXPECT_TRUE(one.merge(3, 2, {0, 1, Duration::seconds(1), "one", false, true}));
  EXPECT_FALSE(one.merge(3, 2, {0, 1, Duration::seconds(1), "one", false, true}));
  EXPECT_TRUE(one.merge(3, 4, {0, 2, Duration::seconds(1), "two, told later", false, true}));
  EXPECT_EQ(one.version, 3u);
  const Links user{.name = "w", .uses = {{3, 1, "none", true}, {3, 0, "all", true}}};
  EXPECT_EQ(one.given_to(user), (std::vector<Given>{{1, "", {"one", "two, told later"}}}));
}

}  // namespace
}  // namespace bellwether::plan
