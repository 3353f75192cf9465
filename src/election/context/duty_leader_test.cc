#include "election/context/duty_leader.h"

#include <gmock/gmock.h>

#include "election/context/duty_testing.h"

namespace bellwether::context_lead {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(DutyTest, generates_five_seconds_after_the_register_is_its_own) {
  ASSERT_TRUE(register_manager());
  say(Elected{Epoch(5)});
  EXPECT_EQ(kernel->duty(), Duty::kStarting);
  run(Duration::millis(4'999));
  EXPECT_EQ(kernel->duty(), Duty::kStarting);
  run(Duration::millis(1));
  EXPECT_EQ(kernel->duty(), Duty::kGenerating);
  EXPECT_THAT(callbacks(), ElementsAre("become", "changed", "started"));
  EXPECT_EQ(all<BecameLeader>()[0].epoch, Epoch(5));
  EXPECT_EQ(all<BecameLeader>()[0].terms, 1u);
}

TEST_F(DutyTest, leads_only_when_the_queue_is_written_under_its_epoch) {
  holds_register = true;
  say(Elected{Epoch(5)});
  say(RegisterTaken{all<TakeRegister>()[0].ticket, ""});
  ASSERT_EQ(all<WriteRegister>().size(), 1u);
  EXPECT_FALSE(kernel->is_leader());
  EXPECT_EQ(submit(1).error().code, Errc::kRefused);
  say(RegisterWritten{all<WriteRegister>()[0].ticket});
  EXPECT_TRUE(kernel->is_leader());
}

TEST_F(DutyTest, a_second_context_manager_is_an_error) {
  ASSERT_TRUE(register_manager());
  const Status second = register_manager();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kExists);
  EXPECT_THAT(second.error().message, HasSubstr("'command' is registered"));
}

TEST_F(DutyTest, a_manager_without_name_or_slots_is_refused) {
  EXPECT_EQ(register_manager(0).error().code, Errc::kInvalid);
  Effects out;
  EXPECT_EQ(kernel->register_manager(at(), {"", 1}, out).error().code, Errc::kInvalid);
}

TEST_F(DutyTest, a_manager_that_comes_late_starts_the_generation) {
  say(Elected{Epoch(5)});
  EXPECT_EQ(kernel->duty(), Duty::kIdle);
  EXPECT_THAT(status().why, HasSubstr("no context manager"));
  ASSERT_TRUE(register_manager());
  run(Duration::seconds(5));
  EXPECT_EQ(kernel->duty(), Duty::kGenerating);
}

TEST_F(DutyTest, without_automatic_start_it_waits_for_the_command) {
  config.settings.auto_start_generation = false;
  make();
  ASSERT_TRUE(register_manager());
  EXPECT_EQ(start().error().code, Errc::kRefused) << "it does not lead yet";
  say(Elected{Epoch(5)});
  run(Duration::minutes(1));
  EXPECT_EQ(kernel->duty(), Duty::kIdle);
  EXPECT_TRUE(start());
  run(Duration::seconds(5));
  EXPECT_EQ(kernel->duty(), Duty::kGenerating);
  EXPECT_EQ(start().error().code, Errc::kExists);
}

TEST_F(DutyTest, a_node_that_leads_no_contexts_does_nothing_when_elected) {
  config.settings.enable_context_leadership = false;
  make();
  say(Elected{Epoch(5)});
  EXPECT_TRUE(log.empty());
}

TEST_F(DutyTest, the_next_leader_runs_again_what_ran_and_tells_again_what_was_not_known) {
  lead(2);
  ASSERT_TRUE(submit(1));
  ASSERT_TRUE(submit(2));
  end(all<RunJob>()[0]);
  config.self = NodeId(2);
  log.clear();
  kernel = std::make_unique<DutyLeader>(config, 8);
  ASSERT_TRUE(register_manager(2));
  say(Elected{Epoch(6)});
  ASSERT_EQ(all<TellOutcome>().size(), 1u);
  EXPECT_EQ(all<TellOutcome>()[0].finished.fence, (AttemptFence{Epoch(5), 1}));
  run(Duration::seconds(5));
  ASSERT_EQ(all<RunJob>().size(), 1u);
  EXPECT_EQ(all<RunJob>()[0].request.id, id_of(2));
  EXPECT_EQ(all<RunJob>()[0].fence, (AttemptFence{Epoch(6), 2}));
  EXPECT_EQ(all<BecameLeader>()[0].terms, 2u);
  ASSERT_EQ(all<FailedOver>().size(), 1u);
  EXPECT_EQ(all<FailedOver>()[0].old_leader, NodeId(1));
}

TEST_F(DutyWithRequest, who_loses_the_office_kills_its_jobs_and_leaves_nobody_without_an_answer) {
  holds_register = true;
  ASSERT_TRUE(submit(2));
  holds_payloads = true;
  ASSERT_TRUE(submit(3));
  log.clear();
  say(LeadershipLost{Epoch(5), "a test"});
  ASSERT_EQ(all<CancelJob>().size(), 1u);
  EXPECT_TRUE(all<CancelJob>()[0].kill);
  EXPECT_EQ(all<SubmitAnswered>().size(), 2u);
  for (const SubmitAnswered& one : all<SubmitAnswered>()) {
    EXPECT_THAT(one.status.error().message, HasSubstr("submit it again"));
  }
  EXPECT_EQ(all<ReleaseRegister>().size(), 1u);
  EXPECT_THAT(callbacks(), ElementsAre("stopped", "lose", "changed"));
  EXPECT_EQ(kernel->wake(), Instant::never());
}

TEST_F(DutyLed, the_end_of_an_earlier_term_does_not_end_this_one) {
  say(LeadershipLost{Epoch(4), "late"});
  EXPECT_EQ(kernel->duty(), Duty::kGenerating);
}

TEST_F(DutyLed, a_later_leader_ends_this_one) {
  say(LeaderSeen{NodeId(2), Epoch(4)});
  EXPECT_TRUE(kernel->is_leader());
  say(LeaderSeen{NodeId(2), Epoch(6)});
  EXPECT_FALSE(kernel->is_leader());
  EXPECT_EQ(status().leader, NodeId(2));
}

TEST_F(DutyTest, who_finds_a_later_epoch_in_the_register_steps_down) {
  RequestQueue queue;
  queue.open(NodeId(2), Epoch(9));
  value = queue.encode();
  say(Elected{Epoch(5)});
  EXPECT_EQ(all<StepDown>().size(), 1u);
  EXPECT_EQ(kernel->duty(), Duty::kNotLeading);
  EXPECT_TRUE(all<WriteRegister>().empty());
}

TEST_F(DutyWithRequest, a_lost_register_is_taken_again_and_nothing_of_before_counts) {
  const RunJob job = all<RunJob>()[0];
  log.clear();
  say(RegisterLost{"somebody else"});
  EXPECT_TRUE(all<CancelJob>()[0].kill);
  end(job);
  EXPECT_EQ(all<CompletionRefused>().size(), 1u);
  run(Duration::seconds(2));
  EXPECT_EQ(all<TakeRegister>().size(), 1u);
  run(Duration::seconds(5));
  EXPECT_EQ(all<RunJob>()[0].fence, (AttemptFence{Epoch(5), 2}));
  EXPECT_TRUE(all<BecameLeader>().empty()) << "it led all the time";
}

TEST_F(DutyWithRequest, what_was_never_written_is_not_told_after_the_register_was_lost) {
  holds_register = true;
  end(all<RunJob>()[0]);
  say(RegisterLost{"somebody else"});
  run(Duration::minutes(2));
  EXPECT_TRUE(all<TellOutcome>().empty());
}

TEST_F(DutyWriting, a_write_that_failed_is_repeated_with_all_that_waits_for_it) {
  say(RegisterFailed{all<WriteRegister>()[0].ticket, "no majority"});
  EXPECT_FALSE(was_accepted(1));
  run(Duration::seconds(2));
  ASSERT_EQ(all<WriteRegister>().size(), 2u);
  say(RegisterWritten{all<WriteRegister>()[0].ticket});
  EXPECT_FALSE(was_accepted(1)) << "that was the one before";
  say(RegisterWritten{all<WriteRegister>()[1].ticket});
  EXPECT_TRUE(was_accepted(1));
}

TEST_F(DutyWriting, a_leader_whose_register_fails_four_times_steps_down) {
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(all<StepDown>().empty());
    say(RegisterFailed{all<WriteRegister>().back().ticket, "no majority"});
    run(Duration::seconds(2));
  }
  EXPECT_EQ(all<StepDown>().size(), 1u);
  EXPECT_EQ(kernel->duty(), Duty::kNotLeading);
}

TEST_F(DutyTest, a_register_that_holds_something_else_is_an_error_and_is_left_alone) {
  value = "something else";
  say(Elected{Epoch(5)});
  run(Duration::seconds(30));
  EXPECT_EQ(all<StepDown>().size(), 1u);
  EXPECT_EQ(all<DutyError>().back().severity, Severity::kCritical);
  EXPECT_EQ(value, "something else");
}

TEST_F(DutyTest, a_register_that_is_taken_too_late_is_given_back) {
  holds_register = true;
  say(Elected{Epoch(5)});
  say(LeadershipLost{Epoch(5), "a test"});
  log.clear();
  say(RegisterTaken{1, ""});
  EXPECT_EQ(all<ReleaseRegister>().size(), 1u);
  EXPECT_TRUE(all<WriteRegister>().empty());
}

TEST_F(DutyTest, stopping_waits_then_cancels_then_kills) {
  lead(2);
  ASSERT_TRUE(submit(1));
  ASSERT_TRUE(submit(2));
  ASSERT_TRUE(submit(3));
  ASSERT_TRUE(stop());
  EXPECT_EQ(stop().error().code, Errc::kExists);
  end(all<RunJob>()[0]);
  run(Duration::millis(59'999));
  EXPECT_TRUE(all<CancelJob>().empty());
  run(Duration::millis(1));
  ASSERT_EQ(all<CancelJob>().size(), 1u);
  EXPECT_FALSE(all<CancelJob>()[0].kill);
  run(Duration::seconds(30));
  ASSERT_EQ(all<CancelJob>().size(), 2u);
  EXPECT_TRUE(all<CancelJob>()[1].kill);
  EXPECT_EQ(kernel->duty(), Duty::kIdle);
  EXPECT_EQ(status().why, "a test");
  EXPECT_EQ(status().queued, 2u);
  EXPECT_EQ(all<RunJob>().size(), 2u);
  EXPECT_EQ(all<GenerationStopped>()[0].reason, "a test");
  EXPECT_FALSE(RequestQueue::decode(value)->find(id_of(2))->is_active());
}

TEST_F(DutyLed, a_stop_by_hand_holds_after_the_register_was_lost) {
  ASSERT_TRUE(stop());
  say(RegisterLost{"somebody else"});
  run(Duration::seconds(30));
  EXPECT_EQ(kernel->duty(), Duty::kIdle);
}

TEST_F(DutyLed, a_poor_cluster_pauses_and_a_better_one_goes_on) {
  health.nodes = {{NodeId(1), 0.9}, {NodeId(2), 0.9}};
  run(Duration::seconds(30));
  EXPECT_EQ(kernel->duty(), Duty::kPaused);
  EXPECT_NEAR(kernel->health().overall, 0.6, 1e-9);
  EXPECT_THAT(kernel->health().unhealthy_nodes, ElementsAre(NodeId(3)));
  ASSERT_TRUE(submit(1));
  EXPECT_TRUE(all<RunJob>().empty());
  health.nodes[NodeId(3)] = 0.4;
  run(Duration::seconds(30));
  EXPECT_EQ(kernel->duty(), Duty::kGenerating);
  EXPECT_EQ(all<RunJob>().size(), 1u);
  EXPECT_EQ(status().pauses, 1u);
}

TEST_F(DutyLed, health_of_an_earlier_term_does_not_pause) {
  health.nodes.clear();
  run(Duration::seconds(30));
  EXPECT_EQ(kernel->duty(), Duty::kPaused);
  say(LeadershipLost{Epoch(5), "a test"});
  health.nodes = {{NodeId(1), 1.0}, {NodeId(2), 1.0}, {NodeId(3), 1.0}};
  say(Elected{Epoch(6)});
  run(Duration::seconds(5));
  EXPECT_EQ(kernel->duty(), Duty::kGenerating);
}

TEST_F(DutyWriting, too_many_who_wait_for_a_write_are_turned_away) {
  Status last;
  for (int i = 0; i < 10'001 && last; ++i) last = submit(1);
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().code, Errc::kExhausted);
}

TEST_F(DutyTest, a_leader_that_is_poor_at_two_checks_hands_over_to_the_healthiest) {
  health.nodes = {{NodeId(1), 0.79}, {NodeId(2), 0.85}, {NodeId(3), 0.95}};
  lead();
  run(Duration::seconds(90));
  ASSERT_GE(all<Send>().size(), 1u);
  EXPECT_EQ(all<Send>()[0].to, NodeId(3));
}

TEST_F(DutyLed, one_poor_check_hands_nothing_over) {
  run(Duration::seconds(30));
  health.nodes[NodeId(1)] = 0.5;
  const std::size_t before = all<CheckHealth>().size();
  while (all<CheckHealth>().size() == before) run(Duration::seconds(1));
  health.nodes[NodeId(1)] = 0.9;
  run(Duration::minutes(2));
  EXPECT_TRUE(all<Send>().empty());
}

TEST_F(DutyLed, what_is_shown_of_a_leader) {
  EXPECT_EQ(status().leader, NodeId(1));
  EXPECT_EQ(status().duty, Duty::kGenerating);
  ASSERT_TRUE(submit(1));
  ASSERT_TRUE(submit(2));
  now += Duration::seconds(8);
  EXPECT_EQ(status().queued, 1u);
  EXPECT_EQ(status().active, 1u);
  EXPECT_EQ(status().oldest_waiting, Duration::seconds(8));
  end(all<RunJob>()[0]);
  EXPECT_EQ(status().longest_job, Duration::seconds(8));
  EXPECT_EQ(status().completed, 1u);
}

}  // namespace
}  // namespace bellwether::context_lead
