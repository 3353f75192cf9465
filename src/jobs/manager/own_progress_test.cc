#include <gtest/gtest.h>

#include "jobs/manager/manager_service.h"

namespace bellwether::node {
namespace {

using dispatch::AssignmentId;
using health::Progress;

class OwnProgressTest : public testing::Test {
 protected:
  OwnProgressTest() {
    seen_.has_quorum = seen_.accepting_jobs = true;
    seen_.workers = 3;
    seen_.jobs = 1;
  }
  std::string_view after_second() {
    now_ += Duration::seconds(1);
    progress_.look(now_, seen_);
    return to_string(progress_.progress(now_));
  }
  Instant now_ = Instant::from_ns(1'000'000'000);
  OwnProgress::Seen seen_;
  OwnProgress progress_{now_};
};

TEST_F(OwnProgressTest, without_jobs_it_is_idle_and_a_job_that_only_runs_is_no_fault) {
  seen_.jobs = 0;
  EXPECT_EQ(after_second(), "idle");
  seen_.jobs = 1;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(after_second(), "normal");
}

TEST_F(OwnProgressTest, what_is_placed_and_not_dispatched_makes_it_stuck) {
  EXPECT_EQ(after_second(), "normal");
  seen_.waiting = {{"j1", AssignmentId(1)}, {"j1", AssignmentId(2)}};
  EXPECT_EQ(after_second(), "normal") << "it was placed just now";
  EXPECT_EQ(after_second(), "degraded");
  EXPECT_EQ(after_second(), "degraded");
  EXPECT_EQ(after_second(), "stuck");
  seen_.waiting.erase({"j1", AssignmentId(1)});
  seen_.dispatched = 1;
  EXPECT_EQ(after_second(), "slow");
  seen_.waiting.clear();
  seen_.dispatched = 2;
  EXPECT_EQ(after_second(), "normal");
}

TEST_F(OwnProgressTest, others_that_wait_each_time_are_work_that_is_done) {
  for (uint32_t i = 1; i < 20; ++i) {
    seen_.waiting = {{"j1", AssignmentId(i)}};
    seen_.dispatched = i;
    EXPECT_EQ(after_second(), "normal");
  }
}

TEST_F(OwnProgressTest, it_is_judged_once_a_second_however_often_it_is_looked_at) {
  after_second();
  seen_.waiting = {{"j1", AssignmentId(1)}};
  for (int i = 0; i < 9; ++i) {
    now_ += Duration::millis(100);
    progress_.look(now_, seen_);
  }
  EXPECT_EQ(to_string(progress_.progress(now_)), "normal");
}

}  // namespace
}  // namespace bellwether::node
