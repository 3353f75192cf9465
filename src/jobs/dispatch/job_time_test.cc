// Shares that run for longer than they may, as the owner of their job sees it.
#include <gmock/gmock.h>

#include "jobs/dispatch/job_testing.h"
#include "jobs/dispatch/letters.h"

namespace bellwether::dispatch {
namespace {

using testing::Contains;
using testing::HasSubstr;

class JobTime : public testing::Test {
 protected:
  static constexpr Duration kLength = Duration::seconds(10);
  // With graceful_stop and overtime.
  static constexpr Duration kTime = Duration::seconds(75);

  void start(plan::OnOvertime on_overtime, bool with_another = false) {
    JobSpec spec{load_spec("slow", kLength)};
    spec[0].on_overtime = on_overtime;
    if (with_another) spec.push_back(load_spec("long", Duration::minutes(5)));
    world_ = std::make_unique<JobWorld>(spec, 1);
    world_->ends_itself = [](uint16_t workflow) { return workflow != 0; };
    world_->add("w1", 2);
    world_->begin();
    ASSERT_TRUE(world_->run_until_begun());
    begun_ = world_->now();
  }
  const ShareSheet& slow() const {
    for (const ShareSheet& share : world_->sheet().shares) {
      if (share.workflow == 0) return share;
    }
    check(false, "there is a share of it");
    return world_->sheet().shares[0];
  }
  void run_until(Duration since_begin) {
    while (world_->now() < begun_ + since_begin) world_->step(Duration::millis(100));
  }
  MoreTime ask(double progress, bool suspect = false) {
    ExtendLetter letter;
    letter.job = "job";
    letter.share = slow().id;
    letter.left = Duration::seconds(5);
    letter.request.progress = progress;
    JobEffects out;
    const MoreTime answer = world_->job().more_time(world_->now(), letter, suspect, out);
    world_->carry_out(out);
    return answer;
  }
  std::vector<std::string> events(const std::string& kind) const {
    std::vector<std::string> out;
    for (const JobEvent& one : world_->sheet().events) {
      if (one.kind == kind) out.push_back(one.detail);
    }
    return out;
  }
  WorkflowState state() const { return world_->sheet().workflows[0].state; }

  std::unique_ptr<JobWorld> world_;
  Instant begun_;
};

TEST_F(JobTime, a_share_gets_more_time_five_times_and_the_report_says_so) {
  start(plan::OnOvertime::kKill);
  const std::vector<int64_t> grants{15'000, 7'500, 3'750, 1'875, 1'000};
  for (std::size_t i = 0; i < grants.size(); ++i) {
    const MoreTime answer = ask(0.1 * static_cast<double>(i + 1));
    EXPECT_EQ(answer.granted.ms(), grants[i]);
    EXPECT_EQ(answer.remaining, 4 - i);
    EXPECT_EQ(answer.warning, i >= 3);
  }
  EXPECT_EQ(slow().extensions, 5u);
  EXPECT_EQ(slow().extended, Duration::millis(29'125));
  EXPECT_THAT(events("share_extended"), testing::SizeIs(5));
  EXPECT_THAT(events("share_extended").front(), HasSubstr("15.0 s more, for a long workflow"));
  const MoreTime last = ask(0.9);
  EXPECT_EQ(last.granted, Duration::zero());
  EXPECT_THAT(last.why, HasSubstr("all extensions"));
}

TEST_F(JobTime, who_makes_no_progress_or_is_suspect_gets_none_and_three_refusals_end_its_time) {
  start(plan::OnOvertime::kKill);
  EXPECT_GT(ask(0.5).granted, Duration::zero());
  EXPECT_THAT(ask(0.5).why, HasSubstr("no progress"));
  EXPECT_THAT(ask(0.6, true).why, HasSubstr("suspect"));
  const MoreTime third = ask(0.5);
  EXPECT_TRUE(third.over);
  EXPECT_THAT(events("share_not_extended"), testing::SizeIs(1));
}

TEST_F(JobTime, its_owner_waits_for_the_result_as_much_longer) {
  start(plan::OnOvertime::kKill);
  ask(0.5);
  // Planned end, graceful_stop, overtime, grace; then kill_grace, graceful_stop and the wait for the result.
  const Duration without = kTime + Duration::seconds(10) + Duration::seconds(40);
  run_until(without + Duration::seconds(14));
  EXPECT_EQ(state(), WorkflowState::kRunning);
  run_until(without + Duration::seconds(17));
  EXPECT_EQ(state(), WorkflowState::kFailed) << "its worker gave no result";
}

TEST_F(JobTime, another_owner_knows_how_often_it_was_extended) {
  start(plan::OnOvertime::kKill);
  for (int i = 0; i < 4; ++i) ask(0.1 * (i + 1));
  world_->step(Duration::seconds(1));
  world_->step(Duration::millis(100));
  world_->replace_owner();
  const MoreTime answer = ask(0.5);
  EXPECT_EQ(answer.granted, Duration::seconds(1)) << "the fifth";
  EXPECT_EQ(answer.remaining, 0u);
}

TEST_F(JobTime, what_is_paused_is_ended_with_the_rest_of_the_job) {
  start(plan::OnOvertime::kPause, true);
  run_until(Duration::minutes(4));
  EXPECT_EQ(state(), WorkflowState::kRunning);
  EXPECT_THAT(events("share_overtime"), Contains(HasSubstr("'slow' has used its time, and starts nothing new")));
  EXPECT_TRUE(world_->run(Duration::minutes(3)));
  EXPECT_EQ(state(), WorkflowState::kTimedOut);
  EXPECT_EQ(world_->sheet().workflows[1].state, WorkflowState::kCompleted);
  EXPECT_EQ(world_->sheet().state, JobState::kPartial);
  EXPECT_TRUE(world_->all_cores_free());
}

TEST_F(JobTime, what_is_only_told_of_keeps_the_job_going_until_it_ends) {
  start(plan::OnOvertime::kNotify);
  run_until(Duration::hours(2));
  EXPECT_EQ(state(), WorkflowState::kRunning);
  EXPECT_THAT(events("share_overtime"), testing::SizeIs(1));
  EXPECT_THAT(events("share_overtime").front(), HasSubstr("runs on"));
  world_->ends_itself = [](uint16_t) { return true; };
  EXPECT_TRUE(world_->run(Duration::minutes(1)));
  EXPECT_EQ(state(), WorkflowState::kCompleted);
}

TEST(JobTimeout, a_job_that_takes_longer_is_ended_and_says_so) {
  JobRules rules;
  rules.timeout = Duration::seconds(20);
  JobWorld world({load_spec("long", Duration::minutes(5)), load_spec("later", Duration::minutes(1), {0})}, 1, rules);
  world.add("w1", 2);
  ASSERT_TRUE(world.begins());
  const Instant begun = world.now();
  EXPECT_TRUE(world.run(Duration::minutes(2)));
  EXPECT_LT(world.now() - begun, Duration::seconds(22));
  EXPECT_EQ(world.sheet().state, JobState::kTimedOut);
  EXPECT_EQ(world.sheet().why, "its timeout of 20s is over");
  EXPECT_EQ(world.sheet().workflows[0].state, WorkflowState::kTimedOut);
  EXPECT_EQ(world.sheet().workflows[1].state, WorkflowState::kSkipped);
  EXPECT_TRUE(world.all_cores_free());
}

TEST(JobTimeout, another_owner_keeps_to_it_and_one_that_completes_in_time_never_hears_of_it) {
  JobRules rules;
  rules.timeout = Duration::seconds(40);
  JobWorld slow({load_spec("long", Duration::minutes(5))}, 1, rules);
  slow.add("w1", 1);
  ASSERT_TRUE(slow.begins());
  const Instant begun = slow.now();
  for (int i = 0; i < 200; ++i) slow.step(Duration::millis(100));
  slow.replace_owner();
  EXPECT_TRUE(slow.run(Duration::minutes(2)));
  EXPECT_LT(slow.now() - begun, Duration::seconds(42));
  EXPECT_EQ(slow.sheet().state, JobState::kTimedOut);

  JobWorld fast({load_spec("short", Duration::seconds(30))}, 1, rules);
  fast.add("w1", 1);
  fast.begin();
  EXPECT_TRUE(fast.run(Duration::minutes(2)));
  EXPECT_EQ(fast.sheet().state, JobState::kCompleted);
}

TEST(JobTimeout, what_was_cancelled_before_stays_cancelled) {
  JobRules rules;
  rules.timeout = Duration::seconds(20);
  JobWorld world({load_spec("long", Duration::minutes(5))}, 1, rules);
  world.add("w1", 1);
  ASSERT_TRUE(world.begins());
  world.cancel({});
  expect_end(world, Duration::minutes(2), JobState::kCancelled);
}

// Of two workflows one has a timeout, and a third depends on that.
JobSpec with_timeout(Duration timeout) {
  JobSpec spec{load_spec("slow", Duration::minutes(5)), load_spec("other", Duration::minutes(1)),
               load_spec("later", Duration::minutes(1), {0})};
  spec[0].timeout = timeout;
  return spec;
}

TEST(WorkflowTimeout, ends_that_workflow_and_skips_what_depends_on_it) {
  JobWorld world(with_timeout(Duration::seconds(20)), 1);
  world.add("w1", 2);
  ASSERT_TRUE(world.begins());
  EXPECT_TRUE(world.run(Duration::minutes(3)));
  const JobSheet& sheet = world.sheet();
  EXPECT_EQ(sheet.state, JobState::kPartial);
  EXPECT_EQ(sheet.workflows[0].state, WorkflowState::kTimedOut);
  EXPECT_EQ(sheet.workflows[0].why, "its timeout of 20s is over");
  EXPECT_EQ(sheet.workflows[1].state, WorkflowState::kCompleted);
  EXPECT_EQ(sheet.workflows[2].state, WorkflowState::kSkipped);
  EXPECT_TRUE(sheet.losses.empty()) << "what would have come later was not to be";
  const auto said = std::count_if(sheet.events.begin(), sheet.events.end(),
                                  [](const JobEvent& one) { return one.kind == "workflow_timed_out"; });
  EXPECT_EQ(said, 1);
  EXPECT_TRUE(world.all_cores_free());
}

TEST(WorkflowTimeout, the_owner_keeps_to_it_where_workers_do_not_and_another_owner_too) {
  JobWorld world(with_timeout(Duration::seconds(20)), 1);
  world.keep_to_timeouts = false;
  world.add("w1", 2);
  ASSERT_TRUE(world.begins());
  const Instant begun = world.now();
  while (world.now() < begun + Duration::seconds(10)) world.step(Duration::millis(100));
  world.replace_owner();
  while (world.now() < begun + Duration::seconds(23)) world.step(Duration::millis(100));
  EXPECT_EQ(world.sheet().workflows[0].state, WorkflowState::kRunning) << "they have kill_grace to say so";
  while (world.now() < begun + Duration::seconds(27)) world.step(Duration::millis(100));
  EXPECT_EQ(world.sheet().workflows[0].state, WorkflowState::kTimedOut);
  EXPECT_TRUE(world.run(Duration::minutes(3)));
  EXPECT_EQ(world.sheet().workflows[1].state, WorkflowState::kCompleted);
}

}  // namespace
}  // namespace bellwether::dispatch
