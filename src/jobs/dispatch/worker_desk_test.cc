#include "jobs/dispatch/worker_desk.h"

#include "jobs/dispatch/worker_desk_testing.h"

namespace bellwether::dispatch {
namespace {

using Kind = Refusal::Kind;

using Desk = WorkerDeskTest;

TEST_F(Desk, an_offer_is_answered_when_it_is_prepared) {
  bring_bundle();
  EXPECT_TRUE(noted());
  offer(order(1, 5, 2));
  ASSERT_NE(first<desk_effect::Start>(), nullptr);
  EXPECT_THAT(first<desk_effect::Start>()->core_of_part, testing::ElementsAre(0, 1));
  EXPECT_EQ(*first<desk_effect::Start>()->bundle, "the bytes");
  EXPECT_EQ(answer(), nullptr);
  EXPECT_EQ(desk_->free_cores(), 2u);
  step(desk_event::Prepared{key(1), Duration::zero()});
  EXPECT_TRUE(noted());
  EXPECT_EQ(count<desk_effect::Report>(), 1u);
}

TEST_F(Desk, an_offer_of_a_bundle_that_is_not_here_takes_nothing) {
  offer(order(1));
  expect_refused(Kind::kUnknown, "bundle b0b0");
  EXPECT_EQ(desk_->free_cores(), 4u);
  bring_bundle();
  offer(order(1));
  EXPECT_NE(first<desk_effect::Start>(), nullptr) << "the same offer, behind its bundle";
}

TEST_F(Desk, an_offer_beyond_the_free_cores_is_refused_and_may_come_again) {
  prepare(order(1, 5, 3));
  offer(order(2, 5, 2));
  expect_refused(Kind::kBusy, "1 of 4 cores are free, and 2");
  begin(1);
  tell_end(1, ShareOutcome::kCompleted);
  offer(order(2, 5, 2));
  EXPECT_NE(first<desk_effect::Start>(), nullptr);
}

TEST_F(Desk, a_share_in_the_place_of_another_one_is_squeezed_in) {
  prepare(order(1, 5, 4));
  ShareOrder squeezed = order(2, 5, 2);
  squeezed.squeeze = true;
  offer(squeezed);
  ASSERT_NE(first<desk_effect::Start>(), nullptr);
  EXPECT_EQ(first<desk_effect::Start>()->core_of_part.size(), 2u);
  EXPECT_EQ(desk_->free_cores(), 0u);
}

TEST_F(Desk, an_offer_that_makes_no_sense_is_refused) {
  const auto wrong = [this](auto change) {
    ShareOrder made = order(1);
    change(made);
    offer(made);
    expect_refused(Kind::kInvalid, "makes no sense");
  };
  bring_bundle();
  wrong([](ShareOrder& one) { one.parts = {16, 1, 16}; });
  wrong([](ShareOrder& one) { one.cores = 0; });
  wrong([](ShareOrder& one) { one.share = ShareId(0); });
  wrong([](ShareOrder& one) { one.workflow = kMostWorkflows; });
  wrong([](ShareOrder& one) { one.isolation_limit = Duration::zero(); });
  wrong([](ShareOrder& one) { one.execution_limit = Duration::zero(); });
  wrong([](ShareOrder& one) { one.kill_grace = Duration::nanos(-1); });
  EXPECT_EQ(held(), 0u);
}

TEST_F(Desk, letters_for_others_are_refused) {
  write(ListWorkers{});
  expect_refused(Kind::kInvalid, "not for a worker");
}

TEST_F(Desk, the_same_offer_twice_is_prepared_once_and_answered_twice) {
  bring_bundle();
  offer(order(1));
  const uint64_t earlier = ticket_;
  offer(order(1));
  EXPECT_EQ(first<desk_effect::Start>(), nullptr);
  EXPECT_EQ(answer(), nullptr);
  step(desk_event::Prepared{key(1), Duration::zero()});
  EXPECT_TRUE(noted(earlier));
  EXPECT_TRUE(noted());
  offer(order(1));
  EXPECT_TRUE(noted());
  begin(1);
  offer(order(1));
  EXPECT_TRUE(noted());
  tell_end(1, ShareOutcome::kCompleted);
  offer(order(1));
  EXPECT_TRUE(noted());
  EXPECT_EQ(first<desk_effect::Start>(), nullptr);
}

TEST_F(Desk, a_share_that_changed_between_two_offers_is_refused) {
  prepare(order(1));
  ShareOrder other = order(1);
  other.parts.first = 7;
  offer(other);
  expect_refused(Kind::kInvalid, "something else");
}

TEST_F(Desk, a_later_owner_may_offer_the_share_again_and_say_where_its_clock_begins) {
  prepare(order(1, 5));
  ShareOrder again = order(1, 6);
  again.base_second = 40;
  offer(again, "m2");
  EXPECT_TRUE(noted());
  EXPECT_EQ(first<desk_effect::Start>(), nullptr);
  write(BeginLetter{"j1", JobFence(6), ShareId(1), Duration::millis(2500), true, 42}, "m2");
  ASSERT_NE(first<desk_effect::Begin>(), nullptr);
  EXPECT_EQ(first<desk_effect::Begin>()->base, 40u);
  EXPECT_EQ(first<desk_effect::Begin>()->from, 42u);
}

TEST_F(Desk, an_attempt_that_is_not_in_order_is_refused) {
  prepare(order(7));
  offer(order(6));
  expect_refused(Kind::kStale, "a later share");
  ShareOrder elsewhere = order(6);
  elsewhere.workflow = 1;
  offer(elsewhere);
  EXPECT_NE(first<desk_effect::Start>(), nullptr) << "each workflow has attempts of its own";
  offer(order(8));
  EXPECT_NE(first<desk_effect::Start>(), nullptr);
}

TEST_F(Desk, a_number_of_users_is_told_to_the_process_of_the_share_for_as_long_as_there_is_one) {
  run(order(1, 5));
  write(ScaleLetter{"j1", JobFence(5), ShareId(1), 12});
  const auto* scale = first<desk_effect::Scale>();
  ASSERT_NE(scale, nullptr);
  EXPECT_EQ(scale->vus, 12u);
  write(ScaleLetter{"j1", JobFence(5), ShareId(9), 12});
  expect_refused(Kind::kUnknown, "");
  step(desk_event::Ended{{"j1", ShareId(1)}, {ShareOutcome::kCompleted, {}, 0, {}}});
  write(ScaleLetter{"j1", JobFence(5), ShareId(1), 13});
  EXPECT_EQ(first<desk_effect::Scale>(), nullptr);
}

TEST_F(Desk, an_owner_that_is_none_any_more_is_refused_whatever_it_writes) {
  run(order(1, 5));
  write(AdoptLetter{"j1", JobFence(6), {}}, "m2");
  const std::vector<Letter> letters{Offer{order(2, 5)},
                                    BeginLetter{"j1", JobFence(5), ShareId(1), Duration::zero(), false, 0},
                                    StopLetter{"j1", JobFence(5), ShareId(1), StopHow::kAtOnce, "old"},
                                    ScaleLetter{"j1", JobFence(5), ShareId(1), 3},
                                    AdoptLetter{"j1", JobFence(5), {}},
                                    RetireLetter{"j1", JobFence(5)}};
  for (const Letter& letter : letters) {
    write(letter);
    expect_refused(Kind::kStale, "'m2'");
    EXPECT_EQ(refused()->owner, "m2");
    EXPECT_EQ(refused()->fence, JobFence(6));
    EXPECT_EQ(out_.size(), 1u) << "a refusal, and nothing else";
  }
}

TEST_F(Desk, what_cannot_be_prepared_is_broken_and_nothing_of_it_stays) {
  bring_bundle();
  offer(order(1));
  step(desk_event::NotPrepared{key(1), {Errc::kInvalid, "first.yaml:3:1: no such step"}});
  expect_refused(Kind::kBroken, "first.yaml:3:1");
  EXPECT_EQ(count<desk_effect::Kill>(), 1u);
  EXPECT_EQ(held(), 0u);
  EXPECT_EQ(desk_->free_cores(), 3u) << "until its process is gone";
  tell_end(1, ShareOutcome::kFailed);
  EXPECT_EQ(count<desk_effect::Forget>(), 1u);
  EXPECT_EQ(first<desk_effect::TellEnd>(), nullptr);
  EXPECT_EQ(desk_->free_cores(), 4u);
  offer(order(1));
  expect_refused(Kind::kBroken, "first.yaml:3:1");
}

TEST_F(Desk, a_process_that_ends_while_it_prepares_is_broken_too) {
  bring_bundle();
  offer(order(1));
  tell_end(1, ShareOutcome::kCrashed, "ended by signal 11");
  expect_refused(Kind::kBroken, "signal 11");
  EXPECT_EQ(count<desk_effect::Forget>(), 1u);
  EXPECT_EQ(desk_->free_cores(), 4u);
}

TEST_F(Desk, a_worker_that_cannot_start_a_process_is_busy) {
  bring_bundle();
  offer(order(1));
  step(desk_event::NotPrepared{key(1), {Errc::kExhausted, "no more processes"}});
  expect_refused(Kind::kBusy, "no more processes");
}

TEST_F(Desk, refuses_what_belongs_to_a_layer_that_has_ended) {
  ShareOrder later = order(1);
  later.context_version = 2;
  prepare(later);
  ShareOrder earlier = order(2);
  earlier.workflow = 1;
  earlier.context_version = 1;
  offer(earlier);
  expect_refused(Kind::kStale, "a layer that has ended");
  earlier.context_version = 2;
  offer(earlier);
  EXPECT_NE(first<desk_effect::Start>(), nullptr);
}

TEST_F(Desk, begins_once) {
  prepare(order(1));
  write(BeginLetter{"j1", JobFence(5), ShareId(1), Duration::millis(-25), false, 3});
  EXPECT_TRUE(noted());
  ASSERT_NE(first<desk_effect::Begin>(), nullptr);
  EXPECT_EQ(first<desk_effect::Begin>()->origin, now_ + Duration::millis(25));
  EXPECT_EQ(first<desk_effect::Begin>()->base, 3u) << "its clock begins with its stream";
  EXPECT_FALSE(first<desk_effect::Begin>()->resumes);
  now_ += Duration::seconds(2);
  begin(1);
  EXPECT_TRUE(noted());
  EXPECT_EQ(first<desk_effect::Begin>(), nullptr);
}

TEST_F(Desk, refuses_to_begin_what_it_does_not_have_or_has_not_prepared) {
  begin(1);
  expect_refused(Kind::kUnknown, "share 1 of job 'j1'");
  bring_bundle();
  offer(order(1));
  begin(1);
  expect_refused(Kind::kBusy, "still being prepared");
  step(desk_event::Prepared{key(1), Duration::zero()});
  ShareOrder resumed = order(1);
  resumed.base_second = 10;
  offer(resumed);
  write(BeginLetter{"j1", JobFence(5), ShareId(1), Duration::seconds(1), true, 9});
  expect_refused(Kind::kInvalid, "second 9");
  write(BeginLetter{"j1", JobFence(5), ShareId(1), Duration::max(), false, 0});
  expect_refused(Kind::kInvalid, "cannot begin");
}

TEST_F(Desk, a_share_whose_process_dies_before_it_begins_says_so) {
  prepare(order(1));
  tell_end(1, ShareOutcome::kCrashed, "ended by signal 9");
  ASSERT_NE(first<desk_effect::TellEnd>(), nullptr);
  EXPECT_EQ(first<desk_effect::TellEnd>()->end.outcome, ShareOutcome::kCrashed);
  EXPECT_EQ(first<desk_effect::TellEnd>()->end.ran, Duration::zero());
  begin(1);
  expect_refused(Kind::kUnknown, "signal 9");
  offer(order(1));
  expect_refused(Kind::kBroken, "signal 9");
}

TEST_F(Desk, what_has_ended_is_told_and_kept_and_its_cores_are_free) {
  run(order(1, 5, 4));
  step(desk_event::Measured{key(1), 17});
  tell_end(1, ShareOutcome::kCompleted);
  ASSERT_NE(first<desk_effect::TellEnd>(), nullptr);
  EXPECT_EQ(first<desk_effect::TellEnd>()->end.last_number, 17u);
  EXPECT_EQ(first<desk_effect::TellEnd>()->end.ran, Duration::seconds(3));
  EXPECT_EQ(desk_->free_cores(), 4u);
  ASSERT_EQ(held(), 1u);
  EXPECT_EQ(desk_->report().held[0].phase, SharePhase::kEnded);
  pass(Duration::hours(5));
  EXPECT_EQ(held(), 1u) << "until it is retired";
}

TEST_F(Desk, a_crash_frees_its_cores_and_leaves_the_others_alone) {
  run(order(1));
  run(order(2));
  now_ += Duration::seconds(9);
  tell_end(1, ShareOutcome::kCrashed, "ended by signal 11");
  EXPECT_EQ(first<desk_effect::TellEnd>()->end.outcome, ShareOutcome::kCrashed);
  EXPECT_EQ(first<desk_effect::TellEnd>()->end.ran, Duration::seconds(9)) << "it could not say";
  EXPECT_EQ(desk_->free_cores(), 3u);
  EXPECT_EQ(desk_->report().held[1].phase, SharePhase::kRunning);
  EXPECT_EQ(count<desk_effect::Kill>() + count<desk_effect::Stop>(), 0u);
}

TEST_F(Desk, a_new_owner_learns_what_runs_and_gets_what_it_lacks) {
  run(order(1));
  run(order(2));
  prepare(order(3));
  step(desk_event::Measured{key(1), 4});
  step(desk_event::Measured{key(2), 9});
  tell_end(2, ShareOutcome::kAborted, "login");
  now_ += Duration::seconds(2);
  write(AdoptLetter{"j1", JobFence(9), {{ShareId(1), 3}}}, "m2");
  const auto* adopted = std::get_if<Adopted>(answer());
  ASSERT_NE(adopted, nullptr);
  ASSERT_EQ(adopted->shares.size(), 3u);
  EXPECT_EQ(adopted->shares[0].phase, SharePhase::kRunning);
  EXPECT_EQ(adopted->shares[0].clock, Duration::seconds(2));
  EXPECT_EQ(adopted->shares[0].measured, 4u);
  EXPECT_EQ(adopted->shares[1].phase, SharePhase::kEnded);
  EXPECT_EQ(adopted->shares[1].end.outcome, ShareOutcome::kAborted);
  EXPECT_EQ(adopted->shares[1].end.last_number, 9u);
  EXPECT_EQ(adopted->shares[2].phase, SharePhase::kReady);
  EXPECT_EQ(count<desk_effect::Resume>(), 2u);
  EXPECT_EQ(first<desk_effect::Resume>()->applied, 3u);
  EXPECT_EQ(count<desk_effect::TellEnd>(), 1u) << "the new owner may not have heard of it";
  EXPECT_EQ(count<desk_effect::Follow>(), 1u);
  EXPECT_EQ(desk_->owner_of("j1"), "m2");
  EXPECT_EQ(count<desk_effect::Stop>() + count<desk_effect::Kill>(), 0u) << "the load goes on";
}

TEST_F(Desk, a_job_that_is_over_is_forgotten_but_for_its_attempts) {
  run(order(1));
  run(order(2));
  tell_end(2, ShareOutcome::kCompleted);
  prepare(order(3));
  write(RetireLetter{"j1", JobFence(5)});
  EXPECT_TRUE(noted());
  EXPECT_EQ(count<desk_effect::Forget>(), 1u);
  EXPECT_EQ(count<desk_effect::Kill>(), 2u);
  EXPECT_EQ(held(), 0u);
  tell_end(1, ShareOutcome::kKilled);
  EXPECT_EQ(count<desk_effect::Forget>(), 1u);
  EXPECT_EQ(first<desk_effect::TellEnd>(), nullptr);
  tell_end(3, ShareOutcome::kKilled);
  EXPECT_EQ(desk_->free_cores(), 4u);
  offer(order(4));
  expect_refused(Kind::kStale, "is over");
  offer(order(4, 6), "m2");
  EXPECT_NE(first<desk_effect::Start>(), nullptr) << "of a later owner";
}

TEST_F(Desk, offers_of_a_job_that_was_retired_unheard_of_are_refused) {
  write(RetireLetter{"j1", JobFence(5)});
  EXPECT_TRUE(noted());
  bring_bundle();
  offer(order(1));
  expect_refused(Kind::kStale, "is over");
}

TEST_F(Desk, who_waits_for_a_share_that_is_retired_is_told) {
  bring_bundle();
  offer(order(1));
  const uint64_t waiting = ticket_;
  write(RetireLetter{"j1", JobFence(5)});
  ASSERT_NE(refused(waiting), nullptr);
  EXPECT_EQ(refused(waiting)->kind, Kind::kStale);
}

TEST_F(Desk, follows_whoever_is_said_to_own_the_job_unless_it_knows_better) {
  run(order(1, 5));
  step(desk_event::OwnerNamed{"j1", "m3", JobFence(4), "m3"});
  EXPECT_EQ(desk_->owner_of("j1"), "m1");
  step(desk_event::OwnerNamed{"j1", "m2", JobFence(6), "m3"});
  EXPECT_EQ(desk_->owner_of("j1"), "m2");
  EXPECT_EQ(count<desk_effect::Follow>(), 1u);
  write(StopLetter{"j1", JobFence(5), ShareId(1), StopHow::kAtOnce, "old"});
  expect_refused(Kind::kStale, "m2");
  step(desk_event::OwnerNamed{"j1", "", JobFence(), "m1"});
  EXPECT_EQ(desk_->owner_of("j1"), "m2") << "of another one that is no news";
  step(desk_event::OwnerNamed{"j1", "", JobFence(), "m2"});
  EXPECT_EQ(desk_->owner_of("j1"), "");
  hear("m3");
  EXPECT_EQ(desk_->owner_of("j1"), "m3") << "it acts as the owner";
  step(desk_event::OwnerNamed{"j9", "m2", JobFence(6), "m3"});
  EXPECT_EQ(desk_->jobs(), 1u);
}

TEST_F(Desk, a_worker_that_takes_no_work_is_busy_and_goes_on_with_what_it_has) {
  run(order(1));
  step(desk_event::Willing{false, "memory"});
  EXPECT_EQ(count<desk_effect::Report>(), 1u);
  EXPECT_FALSE(desk_->report().takes_work);
  offer(order(2));
  expect_refused(Kind::kBusy, "memory");
  EXPECT_EQ(desk_->report().held[0].phase, SharePhase::kRunning);
  step(desk_event::Willing{true, ""});
  offer(order(2));
  EXPECT_NE(first<desk_effect::Start>(), nullptr);
}

TEST_F(Desk, a_worker_that_drains_says_when_its_last_share_has_ended) {
  run(order(1));
  step(desk_event::Drain{});
  EXPECT_EQ(first<desk_effect::Idle>(), nullptr);
  offer(order(2));
  expect_refused(Kind::kBusy, "to end");
  tell_end(1, ShareOutcome::kCompleted);
  EXPECT_EQ(count<desk_effect::Idle>(), 1u);
  step(desk_event::Drain{});
  EXPECT_EQ(count<desk_effect::Idle>(), 0u) << "said once";
}

TEST_F(Desk, a_worker_that_leaves_stops_what_runs_for_somebody_else_to_go_on) {
  run(order(1));
  offer(order(2));
  step(desk_event::Leave{});
  EXPECT_EQ(count<desk_effect::Stop>(), 1u);
  EXPECT_EQ(count<desk_effect::Kill>(), 1u) << "what has not begun is dropped";
  expect_refused(Kind::kBusy, "leaves");
  tell_end(1, ShareOutcome::kStopped);
  const auto* told = first<desk_effect::TellEnd>();
  ASSERT_NE(told, nullptr);
  EXPECT_EQ(told->end.outcome, ShareOutcome::kLeft);
}

TEST_F(Desk, a_worker_without_work_has_drained_at_once) {
  step(desk_event::Drain{});
  EXPECT_EQ(count<desk_effect::Idle>(), 1u);
}

}  // namespace
}  // namespace bellwether::dispatch
