#include <gtest/gtest.h>

#include "cluster/health/signals.h"

namespace bellwether::health {
namespace {

class WorkerStateTest : public testing::Test {
 protected:
  WorkerStateTest() { worker_.registered(); }
  std::string_view after(int samples, const WorkerSample& sample, bool has_work = true) {
    for (int i = 0; i < samples; ++i) worker_.sample(sample, has_work);
    return to_string(worker_.state());
  }
  static WorkerSample memory(double ratio) {
    WorkerSample sample;
    sample.memory = ratio;
    return sample;
  }
  WorkerStates worker_;
};

TEST(WorkerState, it_takes_no_work_before_a_manager_knows_it) {
  WorkerStates worker;
  EXPECT_EQ(worker.state(), WorkerState::kRegistering);
  EXPECT_FALSE(worker.takes_work());
  worker.registered();
  EXPECT_TRUE(worker.takes_work());
  worker.unregistered();
  EXPECT_EQ(worker.state(), WorkerState::kRegistering);
}

TEST_F(WorkerStateTest, a_generator_at_full_speed_is_healthy) {
  WorkerSample full;  // its load cores are not part of the sample: only what its control plane needs is
  full.control_cpu = 0.3;
  EXPECT_EQ(after(1000, full), "healthy");
}

TEST_F(WorkerStateTest, pressure_degrades_after_two_samples_and_it_still_takes_work) {
  EXPECT_EQ(after(1, memory(0.86)), "healthy");
  EXPECT_EQ(after(1, memory(0.5)), "healthy");
  EXPECT_EQ(after(2, memory(0.86)), "degraded");
  EXPECT_EQ(worker_.reason(), "memory");
  EXPECT_TRUE(worker_.takes_work());
}

TEST_F(WorkerStateTest, it_recovers_after_five_samples_with_a_margin) {
  after(2, memory(0.86));
  EXPECT_EQ(after(100, memory(0.80)), "degraded") << "below the bound, but not clearly";
  EXPECT_EQ(after(4, memory(0.7)), "degraded");
  EXPECT_EQ(after(1, memory(0.7)), "healthy");
  EXPECT_EQ(worker_.reason(), "");
}

TEST_F(WorkerStateTest, a_sample_around_a_bound_does_not_make_it_flap) {
  int changes = 0;
  auto last = worker_.state();
  for (int i = 0; i < 1000; ++i) {
    worker_.sample(memory(i % 2 == 0 ? 0.86 : 0.84), true);
    if (worker_.state() != last) ++changes;
    last = worker_.state();
  }
  EXPECT_LE(changes, 1);
}

TEST_F(WorkerStateTest, critical_pressure_drains_until_the_work_is_done_and_nothing_is_critical) {
  EXPECT_EQ(after(2, memory(0.96)), "draining");
  EXPECT_FALSE(worker_.takes_work());
  EXPECT_EQ(after(100, memory(0.5), true), "draining");
  EXPECT_EQ(after(100, memory(0.86), false), "draining") << "below the bound, but not clearly";
  EXPECT_EQ(after(4, memory(0.5), false), "draining");
  EXPECT_EQ(after(1, memory(0.5), false), "healthy");
}

TEST_F(WorkerStateTest, whoever_drained_and_is_never_quite_relieved_takes_work_as_a_degraded_one) {
  after(2, memory(0.96));
  EXPECT_EQ(after(1, memory(0.8), false), "draining");
  EXPECT_EQ(after(4, memory(0.5), false), "degraded") << "one of the five was not fine";
  EXPECT_TRUE(worker_.takes_work());
  EXPECT_EQ(after(5, memory(0.5), false), "healthy");
  EXPECT_EQ(after(2, memory(0.96), false), "draining");
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(after(4, memory(0.5), false), "draining");
    EXPECT_EQ(after(1, memory(0.96), false), "draining") << "critical again and again";
  }
}

TEST_F(WorkerStateTest, every_pressure_counts_by_itself) {
  WorkerSample samples[6];
  samples[0].control_cpu = 0.81;
  samples[1].loop_lag = Duration::millis(201);
  samples[2].run_delay = Duration::millis(201);
  samples[3].descriptors = 0.86;
  samples[4].queue = 1;
  samples[5].health_score = 4;
  for (const WorkerSample& sample : samples) {
    EXPECT_EQ(after(2, sample), "degraded") << worker_.reason();
    EXPECT_EQ(after(5, {}), "healthy");
  }
  samples[5].health_score = 7;
  EXPECT_EQ(after(2, samples[5]), "draining");
}

TEST_F(WorkerStateTest, one_that_is_shut_down_ends_with_its_last_workflow_and_does_not_come_back) {
  worker_.shut_down();
  EXPECT_EQ(after(10, {}, true), "draining");
  EXPECT_EQ(after(1, {}, false), "offline");
  worker_.registered();
  EXPECT_EQ(after(10, {}, false), "offline");
}

TEST_F(WorkerStateTest, one_that_cannot_go_on_is_offline_at_once) {
  worker_.failed();
  EXPECT_EQ(after(10, {}, true), "offline");
  EXPECT_FALSE(worker_.takes_work());
}

}  // namespace
}  // namespace bellwether::health
