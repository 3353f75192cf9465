// The behaviours of every store of jobs whose owners stand still, and whose replicas are gone or start again. What is
// done to the replicas is asked for; what cannot be done is skipped.
#include "cluster/replication/conformance_testing.h"

namespace bellwether::jobs {
namespace {

TEST_F(JobConformance, an_owner_that_stood_still_past_its_lease_has_lost_the_job) {
  begin(kShort);
  Owner one(node(0), key("job"));
  Owner two(node(1), key("job"));
  const auto first = one.take();
  ASSERT_TRUE(first);
  ASSERT_TRUE(one.write("of the first"));
  node(0).pause();
  const auto second = two.take();
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_GT(second->fence, first->fence);
  EXPECT_EQ(second->value, "of the first");
  ASSERT_TRUE(two.write("of the second"));
  node(0).resume();
  EXPECT_FALSE(one.held());
  const auto late = one.write("of one who slept");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().error.code, Errc::kRefused);
  EXPECT_EQ(one.loss().fence, first->fence);
  EXPECT_EQ(value_of(two.read()), "of the second");
  EXPECT_TRUE(two.held());
  EXPECT_EQ(two.losses(), 0u);
}

// Its own clock says that it holds the job; the replicas know better.
TEST_F(JobConformance, a_write_of_a_deposed_owner_is_refused_by_those_who_keep_the_register) {
  begin(kLong);
  Owner one(node(0), key("job"));
  ASSERT_TRUE(one.take());
  ASSERT_TRUE(one.write("of the first life"));
  auto again = world_->second_life(0);
  std::optional<Owner> two(std::in_place, *again, key("job"));
  const auto taken = two->take();
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(taken->value, "of the first life");
  ASSERT_TRUE(two->write("of the second life"));
  world_->reach_first_life(0);
  EXPECT_TRUE(one.held());
  const auto late = one.write("of one that was deposed");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().error.code, Errc::kRefused) << late.error().error.message;
  EXPECT_FALSE(one.held());
  one.loss();
  EXPECT_EQ(one.losses(), 1u);
  two.reset();
  world_->end_second_life(std::move(again));
  Owner three(node(1), key("job"));
  const auto after = three.take();
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(after->value, "of the second life");
  EXPECT_GT(after->fence, taken->fence);
}

// Somebody has removed what says who owns the jobs (`etcdctl del`); the lease itself goes on.
TEST_F(JobConformance, an_owner_that_was_removed_by_hand_writes_nothing_any_more) {
  begin(kLong);
  Owner one(node(0), key("job"));
  const auto first = one.take();
  ASSERT_TRUE(first);
  ASSERT_TRUE(one.write("while it owned the job"));
  OBEY("forget-owners");
  EXPECT_TRUE(one.held());
  const auto late = one.write("while nobody did");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().error.code, Errc::kRefused) << late.error().error.message;
  EXPECT_FALSE(one.held());
  EXPECT_EQ(one.loss().fence, first->fence);
  Owner two(node(1), key("job"));
  const auto second = two.take();
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->value, "while it owned the job");
  EXPECT_GT(second->fence, first->fence);
}

TEST_F(JobConformance, an_owner_that_was_removed_by_hand_learns_it_when_it_renews) {
  begin(kShort);
  Owner one(node(0), key("job"));
  const auto first = one.take();
  ASSERT_TRUE(first);
  OBEY("forget-owners");
  EXPECT_EQ(one.loss().fence, first->fence);
  EXPECT_FALSE(one.held());
}

TEST_F(JobConformance, a_job_is_kept_for_as_long_as_its_owner_lives) {
  begin(kShort);
  Owner one(node(0), key("job"));
  Owner two(node(1), key("job"));
  ASSERT_TRUE(one.take());
  const Instant first = one.held_until();
  EXPECT_EQ(two.take(kShort * 2).error().code, Errc::kTimeout);
  EXPECT_TRUE(one.held());
  EXPECT_GT(one.held_until(), first);
  EXPECT_EQ(one.losses(), 0u);
}

TEST_F(JobConformance, those_who_keep_registers_may_restart_one_after_the_other) {
  begin(kLong);
  Owner one(node(0), key("job"));
  const auto first = one.take();
  ASSERT_TRUE(first);
  ASSERT_TRUE(one.write("before"));
  OBEY("restart-in-turn");
  EXPECT_EQ(value_of(one.read()), "before");
  const auto written = one.write("after");
  ASSERT_TRUE(written) << written.error().error.message;
  ASSERT_TRUE(one.give_back());
  Owner two(node(1), key("job"));
  const auto second = two.take();
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->value, "after");
  EXPECT_GT(second->fence, first->fence);
}

TEST_F(JobConformance, nothing_is_forgotten_when_all_who_keep_registers_restart) {
  begin(kLong);
  Owner one(node(0), key("job"));
  const auto first = one.take();
  ASSERT_TRUE(first);
  ASSERT_TRUE(one.write("before"));
  OBEY("restart-all");
  const auto written = one.write("after");
  ASSERT_TRUE(written) << written.error().error.message;
  Owner two(node(1), key("job"));
  EXPECT_EQ(two.take(Duration::seconds(2)).error().code, Errc::kTimeout) << "the lease goes on";
  ASSERT_TRUE(one.give_back());
  const auto second = two.take();
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->value, "after");
  EXPECT_GT(second->fence, first->fence);
}

TEST_F(JobConformance, goes_on_without_a_minority) {
  begin(kLong);
  Owner one(node(0), key("job"));
  ASSERT_TRUE(one.take());
  OBEY("minority-down");
  const auto written = one.write("with a majority");
  EXPECT_TRUE(written) << written.error().error.message;
  ASSERT_TRUE(one.give_back());
  Owner two(node(1), key("job"));
  const auto taken = two.take();
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(taken->value, "with a majority");
  ASSERT_TRUE(two.give_back());
  ASSERT_TRUE(world_->obey("all-up"));
  EXPECT_TRUE(one.take());
  EXPECT_EQ(value_of(one.read()), "with a majority");
}

TEST_F(JobConformance, without_a_majority_a_write_is_in_doubt_and_the_job_is_lost_in_time) {
  begin(kShort);
  Owner one(node(0), key("job"));
  const auto first = one.take();
  ASSERT_TRUE(first);
  ASSERT_TRUE(one.write("certain"));
  OBEY("majority-down");
  const auto doubt = one.write("in doubt", Duration::seconds(2));
  ASSERT_FALSE(doubt);
  EXPECT_EQ(doubt.error().error.code, Errc::kTimeout) << doubt.error().error.message;
  EXPECT_TRUE(doubt.error().perhaps);
  const LostJob lost = one.loss();
  EXPECT_EQ(lost.fence, first->fence);
  EXPECT_FALSE(one.held());
  Owner two(node(1), key("job"));
  const auto nobody = two.take(Duration::seconds(1));
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Errc::kTimeout);
  ASSERT_TRUE(world_->obey("all-up"));
  const auto second = two.take();
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_GT(second->fence, first->fence);
  EXPECT_THAT(second->value.value_or(""), testing::AnyOf("certain", "in doubt"));
  EXPECT_EQ(value_of(two.read()), second->value) << "what was in doubt is settled";
}

}  // namespace
}  // namespace bellwether::jobs
