// What a leader of contexts does with requests and jobs.
#include "lead/context_driver/context_driver_testing.h"

namespace bellwether::cluster {
namespace {

using namespace context_lead;
using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(ContextDriverTest, a_second_context_manager_is_an_error) {
  ASSERT_TRUE(register_manager());
  const Status second = register_manager();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kExists);
  EXPECT_THAT(second.error().message, testing::HasSubstr("'fake' is registered"));
  EXPECT_EQ(driver_->view().manager, "fake");
}

TEST_F(ContextDriverTest, a_manager_without_name_or_slots_is_refused) {
  EXPECT_EQ(register_manager({"fake", 0}).error().code, Errc::kInvalid);
  EXPECT_EQ(register_manager({"", 1}).error().code, Errc::kInvalid);
}

TEST_F(ContextDriverTest, a_request_is_done_and_its_result_is_there_for_whoever_asks) {
  lead();
  EXPECT_EQ(outcome({1, 99}).state, OutcomeAnswer::State::kUnknown);
  const RequestId id = submit(1);
  until([&] { return jobs_.begun.size() == 1; });
  EXPECT_EQ(outcome(id).state, OutcomeAnswer::State::kActive);
  EXPECT_EQ(driver_->view().jobs.size(), 1u);
  jobs_.waits = false;
  until([&] { return outcome(id).state == OutcomeAnswer::State::kCompleted; });
  EXPECT_EQ(outcome(id).result, "made of clay");
  EXPECT_EQ(outcome(id).epoch, 5u);
  EXPECT_EQ(driver_->view().completed, 1u);
  EXPECT_EQ(driver_->view().fitness->score, 0.5);
  EXPECT_EQ(submit(1), id) << "the same again is the one that is done";
  EXPECT_THAT(jobs_.begun, ElementsAre(id));
}

TEST_F(ContextDriverTest, what_was_told_long_ago_is_not_kept_any_longer) {
  lead();
  jobs_.waits = false;
  const RequestId id = submit(1);
  until([&] { return outcome(id).state == OutcomeAnswer::State::kCompleted; });
  machine_.run_for(Duration::minutes(9));
  EXPECT_EQ(outcome(id).result, "made of clay");
  end_->move_to(runtime_.boot_now() + Duration::minutes(10));
  machine_.run_for(Duration::minutes(2));
  EXPECT_TRUE(outcome(id).result_gone);
}

TEST_F(ContextDriverTest, who_does_not_lead_says_whom_to_ask) {
  driver_->on_leader_changed("b", election::Term(4));
  const auto answer = ask(operator_, Request{{1, 1}, 0, runtime_.wall_now(), "clay"});
  ASSERT_TRUE(std::holds_alternative<ContextRefused>(answer));
  EXPECT_EQ(std::get<ContextRefused>(answer).code, Errc::kRefused);
  EXPECT_EQ(std::get<ContextRefused>(answer).leader, "b");
  EXPECT_TRUE(std::holds_alternative<ContextRefused>(ask(operator_, AskOutcome{{1, 1}})));
  EXPECT_EQ(driver_->view().leader, "b");
}

TEST_F(ContextDriverTest, a_drain_stops_the_jobs_and_is_answered_once_when_none_is_left) {
  lead();
  submit(1);
  until([&] { return jobs_.begun.size() == 1; });
  EXPECT_EQ(leadership_.stopped, 0);
  driver_->on_drain("a test");
  until([&] { return leadership_.stopped == 1; });
  EXPECT_EQ(jobs_.stopped, 1);
  EXPECT_THAT(driver_->view().jobs, IsEmpty());
  EXPECT_EQ(driver_->view().queued, 1u) << "it goes back into the queue";
}

TEST_F(ContextDriverTest, with_the_term_jobs_are_killed_and_the_register_is_given_back) {
  lead();
  submit(1);
  until([&] { return jobs_.begun.size() == 1; });
  EXPECT_TRUE(store_.held);
  driver_->on_term_ended({Epoch(5), election::EndReason::kExpired, "a test", runtime_.boot_now(), true});
  until([&] { return leadership_.stopped == 1 && !store_.held; });
  EXPECT_EQ(jobs_.killed, 1);
  EXPECT_FALSE(driver_->leads());
  EXPECT_TRUE(has_said("context_lost"));
}

TEST_F(ContextDriverTest, who_winds_up_goes_on_as_soon_as_no_job_is_left) {
  lead();
  submit(1);
  until([&] { return jobs_.begun.size() == 1; });
  const Instant before = runtime_.read_clock();
  machine_.run(driver_->wind_up(before + Duration::minutes(1)));
  EXPECT_LT(runtime_.read_clock(), before + Duration::seconds(1));
  EXPECT_EQ(jobs_.stopped, 1);
  EXPECT_EQ(jobs_.killed, 0);
}

TEST_F(ContextDriverTest, an_end_that_nobody_waits_for_is_not_told_to_the_election) {
  lead();
  driver_->on_term_ended({Epoch(5), election::EndReason::kResigned, "a test", runtime_.boot_now(), false});
  until([&] { return !store_.held; });
  EXPECT_EQ(leadership_.stopped, 0) << "it would take that for a resignation";
}

TEST_F(ContextDriverTest, only_operators_move_the_leadership) {
  lead();
  for (const ContextQuestion& question :
       {ContextQuestion(AskTransfer{"b", "m2", ""}), ContextQuestion(AskGeneration{})}) {
    const auto answer = ask(other_, question);
    ASSERT_TRUE(std::holds_alternative<ContextRefused>(answer));
    EXPECT_THAT(std::get<ContextRefused>(answer).why, testing::HasSubstr("only an operator"));
  }
  EXPECT_EQ(driver_->view().duty, "generating");
}

TEST_F(ContextDriverTest, a_transfer_offers_the_state_and_gives_the_office_when_it_is_accepted) {
  lead();
  EXPECT_TRUE(std::holds_alternative<ContextDone>(ask(operator_, AskTransfer{"b", "ann", ""})));
  until([&] {
    return std::any_of(other_.heard.begin(), other_.heard.end(),
                       [](const auto& one) { return std::holds_alternative<StateOffer>(one); });
  });
  const auto again = ask(operator_, AskTransfer{"b", "ann", ""});
  ASSERT_TRUE(std::holds_alternative<ContextRefused>(again));
  EXPECT_EQ(std::get<ContextRefused>(again).code, Errc::kExists);
  EXPECT_THAT(leadership_.heirs, IsEmpty());
  for (const ContextMessage& one : other_.heard) {
    const auto* offer = std::get_if<StateOffer>(&one);
    if (offer == nullptr) continue;
    say(other_, StateReceived{offer->id});
    say(other_, StateVerdict{offer->id, true, "", {}});
  }
  until([&] { return !leadership_.heirs.empty(); });
  EXPECT_THAT(leadership_.heirs, ElementsAre("b"));
}

}  // namespace
}  // namespace bellwether::cluster
