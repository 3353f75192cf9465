// Shares that run for longer than they may.
#include "jobs/dispatch/worker_desk_testing.h"

namespace bellwether::dispatch {
namespace {

constexpr Duration kSecond = Duration::seconds(1);

class DeskTime : public WorkerDeskTest {
 protected:
  void run_for_20_s(plan::OnOvertime on_overtime = plan::OnOvertime::kKill) {
    ShareOrder short_one = order(1);
    short_one.execution_limit = Duration::seconds(20);
    short_one.on_overtime = on_overtime;
    run(short_one);
    begun_ = now_;
  }
  // Ticks when the desk wants them, as its driver does, and looks for an effect.
  template <class Effect>
  Duration until(Duration at_most = Duration::minutes(2)) {
    const Instant end = now_ + at_most;
    while (desk_->wake() <= end) {
      now_ = std::max(now_, desk_->wake());
      hear();
      step(desk_event::Tick{});
      if (first<Effect>() != nullptr) return now_ - begun_;
    }
    ADD_FAILURE() << "it does not happen";
    return {};
  }
  void answer_with(const MoreTime& more) { step(desk_event::TimeGiven{key(1), more}); }
  ShareEnd end(ShareOutcome outcome) {
    tell_end(1, outcome);
    const auto* told = first<desk_effect::TellEnd>();
    return told == nullptr ? ShareEnd() : told->end;
  }
  Instant begun_;
};

TEST_F(DeskTime, without_an_answer_it_is_warned_then_stopped_then_killed) {
  run_for_20_s();
  EXPECT_EQ(until<desk_effect::AskForTime>(), Duration::seconds(15));
  EXPECT_EQ(first<desk_effect::AskForTime>()->left, Duration::seconds(5));
  EXPECT_EQ(until<desk_effect::AskForTime>(), Duration::seconds(16)) << "and again";
  EXPECT_EQ(until<desk_effect::Warn>(), Duration::seconds(20));
  EXPECT_EQ(count<desk_effect::Stop>(), 0u);
  EXPECT_EQ(until<desk_effect::Stop>(), Duration::seconds(30));
  EXPECT_EQ(first<desk_effect::Stop>()->how, StopHow::kAtOnce);
  EXPECT_EQ(until<desk_effect::Kill>(), Duration::seconds(35));
  const ShareEnd told = end(ShareOutcome::kKilled);
  EXPECT_EQ(told.outcome, ShareOutcome::kKilled);
  EXPECT_THAT(told.detail, testing::HasSubstr("20.0 s, as long as it may"));
}

TEST_F(DeskTime, one_that_obeys_after_the_grace_ran_over_its_time) {
  run_for_20_s();
  until<desk_effect::Stop>();
  EXPECT_EQ(end(ShareOutcome::kStopped).outcome, ShareOutcome::kOvertime);
}

TEST_F(DeskTime, what_ends_within_the_grace_has_completed) {
  run_for_20_s();
  until<desk_effect::Warn>();
  EXPECT_EQ(end(ShareOutcome::kCompleted).outcome, ShareOutcome::kCompleted);
}

TEST_F(DeskTime, what_is_granted_moves_the_end_and_more_is_asked_for_in_time) {
  run_for_20_s();
  until<desk_effect::AskForTime>();
  answer_with({.granted = Duration::seconds(15), .remaining = 4});
  EXPECT_EQ(count<desk_effect::Warn>(), 0u);
  EXPECT_EQ(until<desk_effect::AskForTime>(), Duration::seconds(30));
  answer_with({.granted = Duration::seconds(1), .remaining = 1, .warning = true});
  EXPECT_EQ(count<desk_effect::Warn>(), 1u) << "it should save what it can";
  EXPECT_EQ(until<desk_effect::AskForTime>(), Duration::millis(35'500)) << "half of the last grant before";
  EXPECT_EQ(until<desk_effect::Warn>(), Duration::seconds(36));
  answer_with({.granted = Duration::minutes(1)});
  EXPECT_EQ(until<desk_effect::Stop>(), Duration::seconds(46)) << "an answer that comes too late is none";
}

TEST_F(DeskTime, an_owner_may_end_its_time_early) {
  run_for_20_s();
  until<desk_effect::AskForTime>();
  answer_with({.why = "no progress"});
  EXPECT_EQ(until<desk_effect::AskForTime>(), Duration::seconds(16)) << "once is nothing";
  answer_with({.over = true, .why = "no progress"});
  EXPECT_EQ(until<desk_effect::Warn>(), Duration::seconds(16));
  EXPECT_EQ(until<desk_effect::Stop>(), Duration::seconds(26));
}

TEST_F(DeskTime, what_is_paused_starts_nothing_new_and_is_not_killed) {
  run_for_20_s(plan::OnOvertime::kPause);
  EXPECT_EQ(until<desk_effect::Stop>(), Duration::seconds(30));
  EXPECT_EQ(first<desk_effect::Stop>()->how, StopHow::kGraceful);
  for (int i = 0; i < 100; ++i) {
    hear();
    pass(Duration::seconds(50));
    EXPECT_EQ(count<desk_effect::Kill>() + count<desk_effect::Stop>(), 0u);
  }
  write(StopLetter{"j1", JobFence(5), ShareId(1), StopHow::kAtOnce, "the rest has ended"});
  EXPECT_EQ(count<desk_effect::Stop>(), 1u) << "its owner may end it";
  EXPECT_EQ(desk_->wake(), now_ + Duration::seconds(5));
}

TEST_F(DeskTime, what_was_paused_and_ends_ran_over_its_time) {
  run_for_20_s(plan::OnOvertime::kPause);
  until<desk_effect::Stop>();
  EXPECT_EQ(end(ShareOutcome::kStopped).outcome, ShareOutcome::kOvertime) << "and its worker has not left";
}

TEST_F(DeskTime, what_is_only_told_of_runs_on_until_it_completes) {
  run_for_20_s(plan::OnOvertime::kNotify);
  until<desk_effect::Warn>();
  for (int i = 0; i < 100; ++i) {
    hear();
    pass(Duration::seconds(50));
    EXPECT_EQ(count<desk_effect::Kill>() + count<desk_effect::Stop>() + count<desk_effect::AskForTime>(), 0u);
  }
  EXPECT_EQ(end(ShareOutcome::kCompleted).outcome, ShareOutcome::kCompleted);
}

TEST_F(DeskTime, an_isolated_one_is_stopped_whatever_becomes_of_its_time) {
  run_for_20_s(plan::OnOvertime::kNotify);
  until<desk_effect::Warn>();
  pass(kSecond * 10);
  pass(kSecond * 50);
  ASSERT_EQ(count<desk_effect::Stop>(), 1u);
  EXPECT_EQ(end(ShareOutcome::kStopped).outcome, ShareOutcome::kIsolated);
}

}  // namespace
}  // namespace bellwether::dispatch
