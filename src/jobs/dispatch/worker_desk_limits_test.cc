// What a worker ends by itself, and how much it keeps.
#include "jobs/dispatch/worker_desk_testing.h"

namespace bellwether::dispatch {
namespace {

using testing::HasSubstr;
using Kind = Refusal::Kind;

class DeskLimits : public WorkerDeskTest {
 protected:
  void ask_to_stop(StopHow how, uint32_t share = 1) {
    write(StopLetter{"j1", JobFence(5), ShareId(share), how, "somebody wants it"});
  }
  const ShareEnd& end() const {
    static const ShareEnd none;
    const auto* told = first<desk_effect::TellEnd>();
    EXPECT_NE(told, nullptr) << "nobody is told of an end";
    return told == nullptr ? none : told->end;
  }
};

struct DeskLimitsOfShare : DeskLimits {
  DeskLimitsOfShare() { run(order(1)); }
};

TEST_F(DeskLimitsOfShare, a_share_that_obeys_has_been_stopped) {
  ask_to_stop(StopHow::kGraceful);
  EXPECT_TRUE(noted());
  ASSERT_NE(first<desk_effect::Stop>(), nullptr);
  EXPECT_EQ(first<desk_effect::Stop>()->how, StopHow::kGraceful);
  tell_end(1, ShareOutcome::kStopped);
  EXPECT_EQ(end().outcome, ShareOutcome::kStopped);
  EXPECT_EQ(end().detail, "somebody wants it");
  ask_to_stop(StopHow::kAtOnce);
  EXPECT_TRUE(noted()) << "it has";
}

TEST_F(DeskLimitsOfShare, a_graceful_stop_has_the_time_of_its_workflow_and_the_grace) {
  ask_to_stop(StopHow::kGraceful);
  EXPECT_EQ(desk_->wake(), now_ + Duration::seconds(35));
  pass(Duration::millis(34'999));
  EXPECT_EQ(first<desk_effect::Kill>(), nullptr);
  pass(Duration::millis(1));
  EXPECT_EQ(count<desk_effect::Kill>(), 1u);
  pass(Duration::seconds(60));
  EXPECT_EQ(count<desk_effect::Kill>(), 0u) << "killed once";
  tell_end(1, ShareOutcome::kKilled);
  EXPECT_EQ(end().outcome, ShareOutcome::kKilled);
  EXPECT_THAT(end().detail, HasSubstr("within 5.0 s: somebody wants it"));
}

TEST_F(DeskLimitsOfShare, a_stop_may_become_harder_and_never_softer) {
  ask_to_stop(StopHow::kGraceful);
  ask_to_stop(StopHow::kAtOnce);
  ASSERT_NE(first<desk_effect::Stop>(), nullptr);
  EXPECT_EQ(first<desk_effect::Stop>()->how, StopHow::kAtOnce);
  EXPECT_EQ(desk_->wake(), now_ + Duration::seconds(5));
  now_ += Duration::seconds(1);
  ask_to_stop(StopHow::kAtOnce);
  ask_to_stop(StopHow::kGraceful);
  EXPECT_TRUE(noted());
  EXPECT_EQ(first<desk_effect::Stop>(), nullptr);
  EXPECT_EQ(desk_->wake(), now_ + Duration::seconds(4)) << "counted from the first time";
}

TEST_F(DeskLimitsOfShare, one_that_completes_all_the_same_has_completed) {
  ask_to_stop(StopHow::kGraceful);
  tell_end(1, ShareOutcome::kCompleted);
  EXPECT_EQ(end().outcome, ShareOutcome::kCompleted);
}

TEST_F(DeskLimits, a_share_that_is_stopped_before_it_begins_is_gone) {
  bring_bundle();
  offer(order(1));
  const uint64_t waiting = ticket_;
  ask_to_stop(StopHow::kGraceful);
  EXPECT_TRUE(noted());
  ASSERT_NE(refused(waiting), nullptr);
  EXPECT_EQ(refused(waiting)->kind, Kind::kStale);
  EXPECT_EQ(count<desk_effect::Kill>(), 1u);
  step(desk_event::Prepared{key(1), Duration::zero()});
  EXPECT_TRUE(out_.empty()) << "too late";
  tell_end(1, ShareOutcome::kKilled);
  EXPECT_EQ(count<desk_effect::Forget>(), 1u);
  EXPECT_EQ(count<desk_effect::TellEnd>(), 0u);
  offer(order(1));
  expect_refused(Kind::kStale, "was told to stop");
  begin(1);
  expect_refused(Kind::kUnknown, "not here");
  ask_to_stop(StopHow::kAtOnce);
  expect_refused(Kind::kUnknown, "not here");
}

TEST_F(DeskLimitsOfShare, a_share_goes_on_while_its_owner_answers_anything) {
  for (int i = 0; i < 10; ++i) {
    pass(Duration::seconds(50));
    EXPECT_EQ(first<desk_effect::Stop>(), nullptr);
    if (i % 3 == 0) hear();
    if (i % 3 == 1) step(desk_event::ReportNoted{"m1"});
    if (i % 3 == 2) write(BundleLetter{"j1", "c0c0", "another one"});
  }
}

TEST_F(DeskLimitsOfShare, any_letter_of_the_owner_is_a_word_of_it_and_those_of_others_are_not) {
  const std::vector<Letter> letters{
      Offer{order(1)}, BeginLetter{"j1", JobFence(5), ShareId(1), Duration::zero(), false, 0},
      StopLetter{"j1", JobFence(5), ShareId(9), StopHow::kAtOnce, "not here"}, AdoptLetter{"j1", JobFence(5), {}}};
  for (const Letter& letter : letters) {
    pass(Duration::seconds(50));
    write(letter);
  }
  pass(Duration::seconds(50));
  EXPECT_EQ(first<desk_effect::Stop>(), nullptr);
  step(desk_event::Asked{++ticket_, "m9", BundleLetter{"j1", "c0c0", "bytes"}});
  write(RetireLetter{"j1", JobFence(4)}, "m9");
  pass(Duration::seconds(10));
  EXPECT_NE(first<desk_effect::Stop>(), nullptr);
}

TEST_F(DeskLimitsOfShare, an_owner_that_was_started_again_is_followed_anew) {
  write(AdoptLetter{"j1", JobFence(6), {}});
  EXPECT_EQ(count<desk_effect::Follow>(), 1u);
  write(AdoptLetter{"j1", JobFence(6), {}});
  EXPECT_EQ(count<desk_effect::Follow>(), 0u);
}

TEST_F(DeskLimitsOfShare, a_share_whose_owner_is_silent_is_stopped_and_its_results_stay) {
  step(desk_event::Measured{key(1), 50});
  pass(Duration::millis(59'999));
  EXPECT_EQ(first<desk_effect::Stop>(), nullptr);
  step(desk_event::ReportNoted{"m2"});  // who does not own it
  pass(Duration::millis(1));
  ASSERT_NE(first<desk_effect::Stop>(), nullptr);
  EXPECT_EQ(first<desk_effect::Stop>()->how, StopHow::kAtOnce);
  EXPECT_EQ(count<desk_effect::Discard>(), 0u);
  EXPECT_THAT(first<desk_effect::Note>()->text, HasSubstr("60.0 s"));
  tell_end(1, ShareOutcome::kStopped);
  EXPECT_EQ(end().outcome, ShareOutcome::kIsolated);
  EXPECT_THAT(end().detail, HasSubstr("last known 'm1'"));
  EXPECT_EQ(end().last_number, 50u);
  EXPECT_EQ(held(), 1u);
}

TEST_F(DeskLimits, the_silence_before_its_begin_does_not_count) {
  prepare(order(1));
  now_ += Duration::seconds(30);
  write(BeginLetter{"j1", JobFence(5), ShareId(1), Duration::seconds(-50), false, 0});
  pass(Duration::seconds(100));
  EXPECT_EQ(first<desk_effect::Stop>(), nullptr);
  pass(Duration::seconds(10));
  EXPECT_NE(first<desk_effect::Stop>(), nullptr);
}

TEST_F(DeskLimits, a_share_that_nobody_begins_is_dropped_though_its_owner_lives) {
  prepare(order(1));
  for (int i = 0; i < 59; ++i) {
    pass(Duration::seconds(1));
    step(desk_event::ReportNoted{"m1"});
  }
  EXPECT_EQ(held(), 1u);
  pass(Duration::seconds(1));
  EXPECT_EQ(count<desk_effect::Kill>(), 1u);
  tell_end(1, ShareOutcome::kKilled);
  EXPECT_EQ(desk_->free_cores(), 4u);
  begin(1);
  expect_refused(Kind::kUnknown, "not here");
  offer(order(1));
  expect_refused(Kind::kBusy, "nobody has begun it within 60.0 s");
}

TEST_F(DeskLimits, an_owner_keeps_a_prepared_share_by_offering_it_again) {
  prepare(order(1));
  pass(Duration::seconds(59));
  offer(order(1));
  pass(Duration::seconds(59));
  EXPECT_EQ(held(), 1u);
  pass(Duration::seconds(1));
  EXPECT_EQ(held(), 0u);
}

TEST_F(DeskLimits, a_preparation_that_does_not_end_is_given_up) {
  bring_bundle();
  offer(order(1));
  const uint64_t waiting = ticket_;
  pass(Duration::seconds(60));
  ASSERT_NE(refused(waiting), nullptr);
  EXPECT_EQ(refused(waiting)->kind, Kind::kBusy);
  EXPECT_EQ(count<desk_effect::Kill>(), 1u);
}

TEST_F(DeskLimitsOfShare, a_share_whose_load_is_somebody_elses_is_stopped_and_keeps_nothing) {
  step(desk_event::Excess{key(1)});
  EXPECT_EQ(count<desk_effect::Discard>(), 1u);
  EXPECT_EQ(first<desk_effect::Stop>()->how, StopHow::kAtOnce);
  step(desk_event::Excess{key(1)});
  EXPECT_EQ(first<desk_effect::Stop>(), nullptr);
  tell_end(1, ShareOutcome::kStopped);
  EXPECT_EQ(end().outcome, ShareOutcome::kStopped);
  EXPECT_THAT(end().detail, HasSubstr("somebody else"));
}

TEST_F(DeskLimits, many_answers_wait_for_one_preparation_but_not_any_number) {
  bring_bundle();
  for (int i = 0; i < 16; ++i) offer(order(1));
  EXPECT_EQ(answer(), nullptr);
  offer(order(1));
  expect_refused(Kind::kBusy, "many ask");
  step(desk_event::Prepared{key(1), Duration::zero()});
  EXPECT_EQ(count<desk_effect::Answer>(), 16u);
}

TEST_F(DeskLimits, what_is_delivered_makes_room_for_a_new_share_and_the_oldest_first) {
  reset({.cores = 4, .shares_most = 2, .jobs_most = 10});
  for (uint32_t share = 1; share <= 2; ++share) {
    run(order(share));
    tell_end(share, ShareOutcome::kCompleted);
    now_ += Duration::seconds(1);
  }
  offer(order(3));
  expect_refused(Kind::kBusy, "keeps 2 shares already");
  for (uint32_t share = 1; share <= 2; ++share) step(desk_event::Delivered{key(share)});
  offer(order(3));
  EXPECT_NE(first<desk_effect::Start>(), nullptr);
  ASSERT_NE(first<desk_effect::Forget>(), nullptr);
  EXPECT_EQ(first<desk_effect::Forget>()->share, key(1));
  EXPECT_EQ(first<desk_effect::Note>(), nullptr);
}

TEST_F(DeskLimits, a_share_that_was_forgotten_does_not_begin_again_for_a_later_owner) {
  reset({.cores = 4, .shares_most = 1, .jobs_most = 10});
  run(order(1));
  tell_end(1, ShareOutcome::kCompleted);
  step(desk_event::Delivered{key(1)});
  prepare(order(2));
  offer(order(1, 6), "m2");
  expect_refused(Kind::kStale, "was taken: 2");
}

TEST_F(DeskLimits, what_a_new_owner_may_not_have_is_kept_once_more) {
  reset({.cores = 4, .shares_most = 1, .jobs_most = 10});
  run(order(1));
  tell_end(1, ShareOutcome::kCompleted);
  step(desk_event::Delivered{key(1)});
  write(AdoptLetter{"j1", JobFence(6), {}}, "m2");
  offer(order(2, 6), "m2");
  expect_refused(Kind::kBusy, "keeps 1 shares");
}

TEST_F(DeskLimits, results_that_nobody_fetches_make_room_after_an_hour_and_it_is_said) {
  reset({.cores = 4, .shares_most = 1, .jobs_most = 10});
  run(order(1));
  tell_end(1, ShareOutcome::kCompleted);
  now_ += Duration::hours(1) - Duration::nanos(1);
  offer(order(2));
  expect_refused(Kind::kBusy, "keeps");
  now_ += Duration::nanos(1);
  offer(order(2));
  EXPECT_NE(first<desk_effect::Start>(), nullptr);
  ASSERT_NE(first<desk_effect::Note>(), nullptr);
  EXPECT_TRUE(first<desk_effect::Note>()->warning);
}

TEST_F(DeskLimits, the_attempts_of_a_retired_job_are_remembered_for_an_hour) {
  write(RetireLetter{"j1", JobFence(5)});
  for (int minutes = 0; minutes < 59; ++minutes) pass(Duration::minutes(1));
  EXPECT_EQ(desk_->jobs(), 1u);
  for (int minutes = 0; minutes < 2; ++minutes) pass(Duration::minutes(1));
  EXPECT_EQ(desk_->jobs(), 0u);
}

TEST_F(DeskLimits, of_too_many_jobs_the_oldest_without_a_share_is_forgotten) {
  reset({.cores = 4, .shares_most = 3, .jobs_most = 4});
  run(order(1));
  for (const char* job : {"a", "b", "c", "d"}) {
    now_ += Duration::seconds(1);
    write(RetireLetter{job, JobFence(5)});
  }
  EXPECT_EQ(desk_->jobs(), 4u);
  EXPECT_EQ(held(), 1u);
  offer(order(2, 5, 1, "b"));
  expect_refused(Kind::kStale, "over");
  offer(order(2, 5, 1, "j1"));
  EXPECT_NE(first<desk_effect::Start>(), nullptr) << "one with a share stays";
  offer(order(2, 5, 1, "a"));
  EXPECT_NE(first<desk_effect::Start>(), nullptr) << "this one was forgotten";
}

TEST_F(DeskLimits, bundles_beyond_the_room_are_refused_while_they_are_in_use) {
  reset({.cores = 4, .bundle_bytes_most = 4'096});
  run(order(1));
  write(BundleLetter{"j1", "c0c0", std::string(3'000, 'c')});
  expect_refused(Kind::kBusy, "no room");
  write(BundleLetter{"j1", "c0c0", std::string(4'000, 'c')});
  expect_refused(Kind::kInvalid, "4000 bytes");
  tell_end(1, ShareOutcome::kCompleted);
  write(BundleLetter{"j1", "c0c0", std::string(3'000, 'c')});
  EXPECT_TRUE(noted());
}

}  // namespace
}  // namespace bellwether::dispatch
