#include <gmock/gmock.h>

#include "cluster/node/store_election.h"

namespace bellwether::node {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr Duration kLease = Duration::seconds(5);

Situation situation(std::span<const Rival> rivals, unsigned priority = 8) {
  return {.unfit = {}, .priority = priority, .decided_by = "etcd", .vacant = {}, .lease = kLease, .rivals = rivals};
}

TEST(Eligibility, a_fit_node_stands_beside_its_equals) {
  const std::vector<Rival> rivals{{.name = "b", .electable = true, .decided_by = "etcd"}};
  EXPECT_THAT(why_not_candidate(situation(rivals)), IsEmpty());
}

TEST(Eligibility, who_is_of_lower_priority_waits_for_those_that_can_lead_but_not_for_ever) {
  std::vector<Rival> rivals{{.name = "b", .priority = 8, .electable = true}};
  Situation now = situation(rivals, 5);
  EXPECT_THAT(why_not_candidate(now), HasSubstr("'b' has a higher priority"));
  now.vacant = kLease * 2 - Duration::nanos(1);
  EXPECT_THAT(why_not_candidate(now), HasSubstr("'b'"));
  now.vacant = kLease * 2;
  EXPECT_THAT(why_not_candidate(now), IsEmpty());
  now.vacant.reset();
  now.named = true;
  EXPECT_THAT(why_not_candidate(now), IsEmpty()) << "the leader wants it to";
  now.named = false;
  rivals[0].electable = false;
  EXPECT_THAT(why_not_candidate(now), IsEmpty()) << "whoever cannot lead is not waited for";
}

TEST(Eligibility, of_several_that_go_first_the_fittest_is_named_in_whatever_order_they_came) {
  const std::vector<Rival> rivals{{.name = "c", .priority = 7, .electable = true},
                                  {.name = "a", .priority = 8, .electable = true}};
  EXPECT_EQ(why_not_candidate(situation(rivals, 5)), "'a' has a higher priority");
}

TEST(Eligibility, who_is_unfit_stands_when_nobody_else_has_for_three_leases) {
  Situation now = situation({});
  now.unfit = "it is overloaded";
  now.named = true;
  EXPECT_EQ(why_not_candidate(now), "it is overloaded");
  now.vacant = kLease * 3 - Duration::nanos(1);
  EXPECT_EQ(why_not_candidate(now), "it is overloaded");
  now.vacant = kLease * 3;
  EXPECT_THAT(why_not_candidate(now), IsEmpty());
}

TEST(Eligibility, nobody_stands_beside_a_node_that_leaves_the_decision_to_something_else) {
  std::vector<Rival> rivals{{.name = "b", .electable = true, .decided_by = "quorum"}};
  Situation now = situation(rivals);
  now.vacant = kLease * 100;
  EXPECT_THAT(why_not_candidate(now), HasSubstr("'b' lets quorum"));
  rivals[0].decided_by.clear();
  EXPECT_THAT(why_not_candidate(now), IsEmpty()) << "one that does not say, says nothing else";
}

TEST(Eligibility, the_fittest_is_the_electable_one_of_the_highest_priority_and_the_lowest_score) {
  std::vector<Rival> rivals{{.name = "a", .priority = 8, .electable = false},
                            {.name = "b", .priority = 7, .electable = true, .health_score = 3},
                            {.name = "d", .priority = 7, .electable = true, .health_score = 1},
                            {.name = "c", .priority = 7, .electable = true, .health_score = 1},
                            {.name = "e", .priority = 6, .electable = true}};
  EXPECT_EQ(fittest(rivals)->name, "c");
  rivals.resize(1);
  EXPECT_EQ(fittest(rivals), nullptr);
}

}  // namespace
}  // namespace bellwether::node
