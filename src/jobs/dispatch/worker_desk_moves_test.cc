// How a worker's desk gives what it runs to others, and takes over from them.
#include "jobs/dispatch/worker_desk_testing.h"

namespace bellwether::dispatch {
namespace {

using Kind = Refusal::Kind;

class DeskMoves : public WorkerDeskTest {
 protected:
  // Its clock began so long ago.
  void take_over(uint32_t share, uint64_t from, Duration clock, uint64_t fence = 5) {
    write(TakeOverLetter{"j1", JobFence(fence), ShareId(share), clock, from});
  }
  void hand_over(uint32_t share, uint64_t until, uint64_t fence = 5) {
    write(HandOverLetter{"j1", JobFence(fence), ShareId(share), until});
  }
};

TEST_F(DeskMoves, a_share_takes_over_at_a_second_that_is_to_come) {
  ShareOrder what = order(1);
  what.base_second = 20;
  prepare(what);
  take_over(1, 32, Duration::millis(10'500));
  EXPECT_TRUE(noted());
  const auto* begin = first<desk_effect::Begin>();
  ASSERT_NE(begin, nullptr);
  EXPECT_EQ(begin->at, Duration::seconds(12));
  EXPECT_EQ(begin->origin, now_ - Duration::millis(10'500));
  EXPECT_EQ(begin->from, 32u);
  EXPECT_EQ(begin->base, 20u);
  take_over(1, 32, Duration::millis(10'600));
  EXPECT_TRUE(noted());
  EXPECT_EQ(first<desk_effect::Begin>(), nullptr) << "once";
}

TEST_F(DeskMoves, whoever_hears_too_late_that_it_is_to_take_over_refuses) {
  prepare(order(1));
  take_over(1, 12, Duration::seconds(12));
  expect_refused(Kind::kStale, "too late");
  EXPECT_EQ(first<desk_effect::Begin>(), nullptr);
  take_over(1, 0, Duration::seconds(1));
  expect_refused(Kind::kInvalid, "second 0");
  take_over(1, 12, Duration::seconds(1), 4);
  expect_refused(Kind::kStale, "another owner");
  take_over(2, 12, Duration::seconds(1));
  expect_refused(Kind::kUnknown, "not here");
}

TEST_F(DeskMoves, a_share_that_runs_hands_over_once_and_does_not_take_it_back) {
  run(order(1));
  hand_over(1, 4);
  EXPECT_TRUE(noted());
  const auto* over = first<desk_effect::HandOver>();
  ASSERT_NE(over, nullptr);
  EXPECT_EQ(over->at, Duration::seconds(4));
  EXPECT_EQ(over->until, 4u);
  hand_over(1, 4);
  EXPECT_TRUE(noted());
  EXPECT_EQ(first<desk_effect::HandOver>(), nullptr);
  hand_over(1, 7);
  expect_refused(Kind::kInvalid, "cannot hand over");
  write(AdoptLetter{"j1", JobFence(6), {}}, "m2");
  const auto* adopted = std::get_if<Adopted>(answer());
  ASSERT_NE(adopted, nullptr);
  EXPECT_EQ(adopted->shares.at(0).until, 4u) << "whoever owns the job then learns it";
}

TEST_F(DeskMoves, what_began_later_than_the_run_hands_over_by_the_clock_that_it_began_with) {
  prepare(order(1));  // when nobody knew yet at which second it would begin
  write(BeginLetter{"j1", JobFence(5), ShareId(1), Duration::zero(), false, 8});
  hand_over(1, 12);
  EXPECT_TRUE(noted());
  const auto* over = first<desk_effect::HandOver>();
  ASSERT_NE(over, nullptr);
  EXPECT_EQ(over->at, Duration::seconds(4));
}

TEST_F(DeskMoves, whoever_hears_too_late_that_it_is_to_hand_over_goes_on) {
  run(order(1));
  pass(Duration::millis(3'950));
  hand_over(1, 4);
  expect_refused(Kind::kStale, "too late");
  EXPECT_EQ(first<desk_effect::HandOver>(), nullptr);
  hand_over(1, 5);
  EXPECT_TRUE(noted());
  prepare(order(2));
  hand_over(2, 9);
  expect_refused(Kind::kInvalid, "cannot hand over");
}

TEST_F(DeskMoves, what_does_not_end_after_others_have_gone_on_is_killed) {
  run(order(1));
  hand_over(1, 4);
  for (int i = 0; i < 38; ++i) {
    pass(Duration::seconds(1));
    hear();
  }
  EXPECT_EQ(count<desk_effect::Kill>(), 0u) << "its iterations may take their time";
  pass(Duration::seconds(2));
  EXPECT_EQ(count<desk_effect::Kill>(), 1u);
}

TEST_F(DeskMoves, a_worker_that_leaves_lets_run_what_may_still_be_handed_over) {
  run(order(1));
  prepare(order(2));
  step(desk_event::Leave{now_ + Duration::seconds(10)});
  EXPECT_EQ(count<desk_effect::Stop>(), 0u);
  EXPECT_EQ(count<desk_effect::Kill>(), 1u) << "what has not begun is dropped";
  EXPECT_EQ(count<desk_effect::Report>(), 1u);
  EXPECT_TRUE(desk_->report().leaves);
  EXPECT_FALSE(desk_->report().takes_work);
  for (int i = 0; i < 9; ++i) {
    pass(Duration::seconds(1));
    hear();
    EXPECT_EQ(count<desk_effect::Stop>(), 0u);
  }
  EXPECT_EQ(desk_->wake(), now_ + Duration::seconds(1));
  pass(Duration::seconds(1));
  EXPECT_EQ(count<desk_effect::Stop>(), 1u);
  tell_end(1, ShareOutcome::kStopped);
  EXPECT_EQ(first<desk_effect::TellEnd>()->end.outcome, ShareOutcome::kLeft);
}

TEST_F(DeskMoves, a_worker_that_leaves_does_not_wait_for_an_owner_that_is_silent) {
  run(order(1));
  step(desk_event::Leave{now_ + Duration::seconds(60)});
  pass(Duration::seconds(4));
  EXPECT_EQ(count<desk_effect::Stop>(), 0u);
  pass(Duration::seconds(1));
  EXPECT_EQ(count<desk_effect::Stop>(), 1u);
}

TEST_F(DeskMoves, a_worker_that_leaves_ends_when_what_it_ran_was_handed_over) {
  run(order(1));
  step(desk_event::Leave{now_ + Duration::seconds(10)});
  hand_over(1, 2);
  EXPECT_TRUE(noted());
  pass(Duration::seconds(2));
  tell_end(1, ShareOutcome::kCompleted);
  EXPECT_EQ(first<desk_effect::TellEnd>()->end.outcome, ShareOutcome::kCompleted);
  EXPECT_EQ(count<desk_effect::Idle>(), 1u);
}

}  // namespace
}  // namespace bellwether::dispatch
