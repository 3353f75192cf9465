// Shares whose workers are there, and do nothing of what they could.
#include <gmock/gmock.h>

#include "jobs/dispatch/job.h"
#include "jobs/dispatch/job_testing.h"

namespace bellwether::dispatch {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

ShareId live_on(const JobWorld& world, const std::string& worker) {
  for (const ShareSheet& share : world.sheet().shares) {
    if (share.worker == worker && is_live(share)) return share.id;
  }
  return {};
}

void evict(JobWorld& world, ShareId share) {
  JobEffects out;
  world.job().evicted(world.now(), share, "stuck for 60 s", out);
  world.carry_out(out);
}

void step_for(JobWorld& world, Duration span) {
  for (int64_t i = 0; i < span / Duration::millis(100); ++i) world.step(Duration::millis(100));
}

TEST(JobEvicts, a_share_goes_on_elsewhere_and_the_others_are_left_alone) {
  JobWorld world({load_spec("browse", kMinute)}, 1);
  for (const char* name : {"w1", "w2", "w3", "w4"}) world.add(name, 2);
  ASSERT_TRUE(world.begins());
  step_for(world, Duration::seconds(10));
  world.worker("w2").silent = true;  // nothing is counted of it from now on
  step_for(world, Duration::seconds(10));
  const ShareId stuck = live_on(world, "w2");
  evict(world, stuck);
  EXPECT_EQ(world.job().find(stuck)->state, ShareState::kGone);
  expect_end(world, kMinute * 2);

  double lost = 0;
  for (const plan::Loss& loss : world.sheet().losses) {
    EXPECT_THAT(loss.cause, HasSubstr("w2"));
    EXPECT_NEAR((loss.to - loss.from).seconds_f(), 10, 2.0) << "from the last second that was counted";
    lost += loss.share;
  }
  EXPECT_DOUBLE_EQ(lost, 0.25);
  for (const auto& part : world.measured(0)) EXPECT_EQ(part.twice, 0u) << "a late comer is not counted";
  const auto& events = world.sheet().events;
  const auto told = std::find_if(events.begin(), events.end(), [](const auto& e) { return e.kind == "share_evicted"; });
  ASSERT_NE(told, events.end());
  EXPECT_EQ(told->detail, "worker 'w2', workflow 'browse': stuck for 60 s");
  EXPECT_THAT(kinds(world.sheet()), Contains("share_moved"));
  EXPECT_THAT(kinds(world.sheet()), testing::Not(Contains("worker_lost")));
  EXPECT_EQ(world.sheet().workflows[0].retries, 1u);
}

TEST(JobEvicts, the_process_is_told_to_stop_at_once_and_others_begin_when_a_quorum_knows) {
  JobWorld world({load_spec("browse", kMinute)}, 1);
  world.add("w1", 1);
  world.add("w2", 1);
  ASSERT_TRUE(world.begins());
  step_for(world, Duration::seconds(5));
  const ShareId stuck = live_on(world, "w1");
  world.register_stands = false;
  evict(world, stuck);
  EXPECT_EQ(world.worker("w1").shares.at(stuck).phase, SharePhase::kEnded);
  step_for(world, Duration::seconds(2));
  EXPECT_EQ(world.worker("w2").shares.size(), 1u);
  world.register_stands = true;
  step_for(world, Duration::seconds(2));
  EXPECT_EQ(world.worker("w2").shares.size(), 2u);
}

TEST(JobEvicts, nothing_that_is_not_running) {
  JobWorld world({load_spec("browse", kMinute)}, 1);
  world.add("w1", 1);
  world.begin();
  evict(world, ShareId(77));
  ASSERT_TRUE(world.run_until_begun());
  const ShareId share = live_on(world, "w1");
  EXPECT_TRUE(world.run(kMinute * 2));
  evict(world, share);
  EXPECT_EQ(world.sheet().state, JobState::kCompleted);
  EXPECT_THAT(kinds(world.sheet()), testing::Not(Contains("share_evicted")));
}

}  // namespace
}  // namespace bellwether::dispatch
