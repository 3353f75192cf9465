// Requests and attempts at them.
#include <gmock/gmock.h>

#include "election/context/duty_testing.h"

namespace bellwether::context_lead {
namespace {

using testing::HasSubstr;

TEST_F(DutyWriting, a_request_is_acknowledged_when_the_register_names_it) {
  ASSERT_EQ(all<WriteRegister>().size(), 1u);
  EXPECT_FALSE(was_accepted(1));
  EXPECT_TRUE(RequestQueue::decode(all<WriteRegister>()[0].value)->find(id_of(1)) != nullptr);
  say(RegisterWritten{all<WriteRegister>()[0].ticket});
  EXPECT_TRUE(was_accepted(1));
}

TEST_F(DutyLed, a_request_is_named_only_after_its_payload_is_kept) {
  holds_payloads = true;
  ASSERT_TRUE(submit(1));
  EXPECT_TRUE(all<WriteRegister>().empty());
  say(PayloadKept{id_of(1), false, "two of three are down"});
  ASSERT_EQ(all<SubmitAnswered>().size(), 1u);
  EXPECT_THAT(all<SubmitAnswered>()[0].status.error().message, HasSubstr("two of three are down"));
  EXPECT_TRUE(all<WriteRegister>().empty());
}

TEST_F(DutyWithRequest, who_submits_again_is_answered_for_the_same_request) {
  const std::size_t kept = all<KeepPayload>().size();
  ASSERT_TRUE(submit(1));
  EXPECT_EQ(all<KeepPayload>().size(), kept);
  EXPECT_EQ(all<SubmitAnswered>().size(), 2u);
  EXPECT_EQ(kernel->queue().live().size(), 1u);
}

TEST_F(DutyWriting, who_submits_again_before_the_write_is_confirmed_waits_for_it_too) {
  ASSERT_TRUE(submit(1));
  EXPECT_TRUE(all<SubmitAnswered>().empty());
}

TEST_F(DutyLed, bad_requests_are_refused_with_the_reason) {
  Effects out;
  Request request{id_of(1), 0, at().wall, std::string(kMostPayloadBytes + 1, 'x')};
  EXPECT_EQ(kernel->submit(at(), 1, request, out).error().code, Errc::kTooLarge);
  request.payload = "x";
  request.id = {};
  EXPECT_EQ(kernel->submit(at(), 1, request, out).error().code, Errc::kInvalid);
  request.id = id_of(1);
  request.submitted_at.unix_ns += Duration::minutes(2).ns();
  EXPECT_THAT(kernel->submit(at(), 1, request, out).error().message, HasSubstr("in the future"));
}

TEST_F(DutyTest, a_full_queue_refuses) {
  config.settings.max_queue_transfer_size = 2;
  make();
  lead();
  ASSERT_TRUE(submit(1));
  ASSERT_TRUE(submit(2));
  EXPECT_EQ(submit(3).error().code, Errc::kExhausted);
}

TEST_F(DutyTest, requests_whose_payload_is_under_way_count_for_the_room) {
  config.settings.max_queue_transfer_size = 2;
  make();
  lead();
  holds_payloads = true;
  ASSERT_TRUE(submit(1));
  ASSERT_TRUE(submit(2));
  EXPECT_EQ(submit(3).error().code, Errc::kExhausted);
}

TEST_F(DutyWriting, a_job_begins_after_the_register_knows_its_fence) {
  ASSERT_EQ(all<WriteRegister>().size(), 1u);
  EXPECT_TRUE(all<FetchPayload>().empty());
  EXPECT_EQ(RequestQueue::decode(all<WriteRegister>()[0].value)->find(id_of(1))->fence(), (AttemptFence{Epoch(5), 1}));
  say(RegisterWritten{all<WriteRegister>()[0].ticket});
  ASSERT_EQ(all<RunJob>().size(), 1u);
  EXPECT_EQ(all<RunJob>()[0].request.payload, "do it");
}

TEST_F(DutyTest, as_many_jobs_run_as_the_manager_takes_the_urgent_ones_first) {
  lead(2);
  for (const uint64_t number : {1, 2, 3, 4}) ASSERT_TRUE(submit(number, number == 4 ? 9 : 0));
  ASSERT_EQ(all<RunJob>().size(), 2u);
  end(all<RunJob>()[0]);
  ASSERT_EQ(all<RunJob>().size(), 3u);
  EXPECT_EQ(all<RunJob>()[2].request.id, id_of(4));
  EXPECT_EQ(status().active, 2u);
  EXPECT_EQ(status().queued, 1u);
}

TEST_F(DutyWithRequest, an_outcome_is_told_after_it_is_written) {
  holds_register = true;
  end(all<RunJob>()[0]);
  EXPECT_TRUE(all<TellOutcome>().empty());
  run(Duration::minutes(2));
  EXPECT_TRUE(all<TellOutcome>().empty()) << "not by the repetition either";
  say(RegisterWritten{all<WriteRegister>().back().ticket});
  ASSERT_EQ(all<TellOutcome>().size(), 1u);
  EXPECT_EQ(all<TellOutcome>()[0].finished.fence, (AttemptFence{Epoch(5), 1}));
}

TEST_F(DutyWithRequest, an_outcome_is_told_until_somebody_knows_and_the_payload_is_dropped) {
  end(all<RunJob>()[0]);
  run(Duration::seconds(61));
  EXPECT_GE(all<TellOutcome>().size(), 3u);
  say(OutcomeTold{id_of(1)});
  EXPECT_EQ(all<DropPayload>().size(), 1u);
  say(PayloadDropped{id_of(1)});
  const std::size_t told = all<TellOutcome>().size();
  run(Duration::seconds(61));
  EXPECT_EQ(all<TellOutcome>().size(), told);
}

TEST_F(DutyLed, no_job_begins_whose_end_could_not_be_remembered) {
  for (uint64_t number = 1; number <= kMostFinished + 1; ++number) ASSERT_TRUE(submit(number));
  for (uint64_t number = 1; number <= kMostFinished; ++number) end(all<RunJob>().back());
  EXPECT_EQ(all<RunJob>().size(), kMostFinished);
  say(OutcomeTold{id_of(1)});
  say(PayloadDropped{id_of(1)});
  EXPECT_EQ(all<RunJob>().size(), kMostFinished + 1);
}

TEST_F(DutyWithRequest, a_completion_counts_once) {
  end(all<RunJob>()[0]);
  end(all<RunJob>()[0]);
  ASSERT_EQ(all<CompletionRefused>().size(), 1u);
  EXPECT_EQ(all<CompletionRefused>()[0].why, "the request is finished");
  EXPECT_EQ(status().completions_refused, 1u);
  EXPECT_EQ(status().completed, 1u);
}

TEST_F(DutyWithRequest, a_completion_of_an_older_attempt_is_refused) {
  const RunJob first = all<RunJob>()[0];
  end(first, JobEnded::End::kFailed);
  ASSERT_EQ(all<RunJob>().size(), 2u);
  EXPECT_EQ(all<RunJob>()[1].fence, (AttemptFence{Epoch(5), 2}));
  end(first);
  ASSERT_EQ(all<CompletionRefused>().size(), 1u);
  EXPECT_EQ(status().completed, 0u);
  EXPECT_EQ(status().active, 1u);
}

TEST_F(DutyWithRequest, a_request_that_fails_three_times_has_failed) {
  for (int i = 0; i < 3; ++i) end(all<RunJob>().back(), JobEnded::End::kFailed);
  ASSERT_EQ(all<TellOutcome>().size(), 1u);
  EXPECT_EQ(all<TellOutcome>()[0].finished.outcome, Outcome::kFailed);
  EXPECT_EQ(all<TellOutcome>()[0].finished.reason, "no luck");
  EXPECT_EQ(all<TellOutcome>()[0].finished.fence.attempt, 3u);
}

TEST_F(DutyWithRequest, that_no_leader_survives_is_given_up) {
  for (uint64_t epoch = 6; epoch < 6 + kMostAttempts; ++epoch) {
    say(Elected{Epoch(epoch)});
    run(Duration::seconds(5));
  }
  ASSERT_EQ(all<RunJob>().size(), kMostAttempts);
  ASSERT_EQ(all<TellOutcome>().size(), 1u);
  EXPECT_THAT(all<TellOutcome>()[0].finished.reason, HasSubstr("too many attempts"));
}

TEST_F(DutyWithRequest, a_payload_that_does_not_come_is_asked_for_again_and_a_lost_one_fails) {
  end(all<RunJob>()[0], JobEnded::End::kCancelled);
  holds_payloads = true;
  end(all<RunJob>().back(), JobEnded::End::kCancelled);
  const FetchPayload asked = all<FetchPayload>().back();
  say(PayloadFetched{asked.id, asked.fence, PayloadFetched::Found::kFailed, {}, "slow"});
  run(Duration::seconds(2));
  EXPECT_EQ(all<FetchPayload>().back().fence, asked.fence);
  say(PayloadFetched{asked.id, asked.fence, PayloadFetched::Found::kGone, {}, {}});
  EXPECT_EQ(all<TellOutcome>()[0].finished.reason, "its payload is lost");
  EXPECT_EQ(all<DutyError>().back().severity, Severity::kCritical);
}

}  // namespace
}  // namespace bellwether::context_lead
