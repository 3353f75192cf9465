#include "core/resilience/overload.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

namespace bellwether::resilience {
namespace {

class OverloadTest : public testing::Test {
 protected:
  void feed(double ms, int times = 1) {
    for (int i = 0; i < times; ++i) detector_.latency(Duration::from_seconds_f(ms / 1000));
  }
  LoadState state() const { return detector_.state(); }
  static OverloadSettings slow_to_learn() {
    OverloadSettings settings;
    settings.learning = 0.0001;
    return settings;
  }
  OverloadDetector detector_;
};

TEST_F(OverloadTest, what_is_usual_is_learnt_and_is_healthy_whatever_it_is) {
  feed(150, 100);
  EXPECT_EQ(state(), LoadState::kHealthy);
  EXPECT_EQ(detector_.reason(), "");
  EXPECT_NEAR(detector_.baseline().millis_f(), 150, 0.1);
}

TEST_F(OverloadTest, the_average_against_the_baseline_tells_the_three_states) {
  detector_ = OverloadDetector(slow_to_learn());
  feed(100, 100);
  feed(115, 30);
  EXPECT_EQ(state(), LoadState::kHealthy);
  feed(130, 30);
  EXPECT_EQ(state(), LoadState::kBusy);
  EXPECT_EQ(detector_.reason(), "latency");
  feed(160, 30);
  EXPECT_EQ(state(), LoadState::kStressed);
  feed(250, 30);
  EXPECT_EQ(state(), LoadState::kOverloaded);
}

TEST_F(OverloadTest, what_rises_slowly_becomes_usual_up_to_the_absolute_bounds) {
  double ms = 20;
  for (; ms < 195; ms *= 1.005) feed(ms);
  EXPECT_EQ(state(), LoadState::kHealthy);
  for (; ms < 260; ms *= 1.005) feed(ms);
  EXPECT_EQ(state(), LoadState::kBusy);
}

TEST_F(OverloadTest, before_the_third_sample_nothing_is_said_about_the_usual) {
  feed(10);
  feed(150);
  EXPECT_EQ(state(), LoadState::kHealthy) << "eight times the first one";
  feed(150);
  EXPECT_EQ(state(), LoadState::kHealthy) << "once is not enough to be worse";
  feed(150);
  EXPECT_GT(state(), LoadState::kHealthy);
}

TEST_F(OverloadTest, absolute_bounds_hold_from_the_first_samples_and_against_what_was_learnt) {
  feed(300, 2);
  EXPECT_EQ(state(), LoadState::kBusy);
  feed(2100, 60);
  EXPECT_EQ(state(), LoadState::kOverloaded);
  EXPECT_EQ(detector_.reason(), "latency");
}

TEST_F(OverloadTest, the_baseline_does_not_learn_while_it_is_stressed) {
  feed(50, 50);
  feed(400, 3);
  ASSERT_GE(state(), LoadState::kStressed);
  const Duration before = detector_.baseline();
  feed(400, 1000);
  EXPECT_EQ(detector_.baseline(), before) << "what is bad must not become usual";
  EXPECT_EQ(state(), LoadState::kOverloaded);
}

TEST_F(OverloadTest, steady_growth_is_overload_before_any_bound_is_reached) {
  OverloadSettings settings = slow_to_learn();
  settings.above = {50, 60, 70};
  detector_ = OverloadDetector(settings);
  feed(10, 20);
  for (int i = 1; i <= 20; ++i) feed(10 + i * 0.5);
  EXPECT_EQ(state(), LoadState::kHealthy) << "half of the slope that is too much";
  for (int i = 1; i <= 40; ++i) feed(20 + i * 2);
  EXPECT_EQ(state(), LoadState::kOverloaded);
  EXPECT_EQ(detector_.reason(), "trend");
  feed(100, 40);
  EXPECT_EQ(state(), LoadState::kHealthy) << "it grows no more";
  feed(180, 45);
  for (int i = 1; i <= 34; ++i) {
    feed(180 - i * 5);
    EXPECT_EQ(state(), LoadState::kHealthy) << "it falls, " << i;
  }
}

TEST_F(OverloadTest, a_return_to_the_usual_is_no_growth) {
  OverloadSettings settings = slow_to_learn();
  settings.above = {50, 60, 70};
  detector_ = OverloadDetector(settings);
  feed(100, 50);
  feed(1, 30);
  for (int i = 0; i < 30; ++i) {
    feed(190);
    EXPECT_EQ(state(), LoadState::kHealthy) << "what it came from does not count, " << i;
  }
}

TEST_F(OverloadTest, where_nearly_nothing_is_usual_a_little_more_is_no_sign) {
  feed(0.05, 50);
  feed(1.1, 50);
  EXPECT_EQ(state(), LoadState::kHealthy);
  feed(-5, 3);
  EXPECT_EQ(state(), LoadState::kHealthy);
}

TEST_F(OverloadTest, full_resources_count_without_anything_being_slow) {
  struct Case {
    double cpu, memory, queue;
    LoadState state;
    std::string_view reason;
  };
  for (const Case& one :
       {Case{0.7, 0.7, 0.7, LoadState::kHealthy, ""}, Case{0.71, 0, 0, LoadState::kBusy, "cpu"},
        Case{0, 0.86, 0, LoadState::kStressed, "memory"}, Case{0, 0, 0.96, LoadState::kOverloaded, "queue"},
        Case{0.96, 0.86, 0.71, LoadState::kOverloaded, "cpu"}}) {
    detector_ = OverloadDetector();
    detector_.resources(one.cpu, one.memory);
    detector_.queue(one.queue);
    feed(1, 2);
    EXPECT_EQ(state(), one.state) << one.reason;
    EXPECT_EQ(detector_.reason(), one.reason);
  }
}

TEST_F(OverloadTest, a_processor_that_is_busy_for_a_moment_is_no_sign) {
  for (int i = 0; i < 9; ++i) detector_.resources(0.3, 0);
  detector_.resources(1.0, 0);
  feed(1, 5);
  EXPECT_EQ(state(), LoadState::kHealthy);
}

TEST_F(OverloadTest, around_a_bound_it_does_not_flap) {
  int changes = 0;
  LoadState last = state();
  for (int i = 0; i < 200; ++i) {
    detector_.queue(i % 2 == 0 ? 0.72 : 0.68);
    feed(1);
    changes += state() == last ? 0 : 1;
    last = state();
  }
  EXPECT_EQ(changes, 0) << "never worse twice in a row";
  detector_.queue(0.72);
  feed(1, 2);
  ASSERT_EQ(state(), LoadState::kBusy);
  detector_.queue(0.65);
  feed(1, 100);
  EXPECT_EQ(state(), LoadState::kBusy) << "within the margin";
  detector_.queue(0.62);
  feed(1, 9);
  EXPECT_EQ(state(), LoadState::kBusy);
  feed(1);
  EXPECT_EQ(state(), LoadState::kHealthy);
}

TEST_F(OverloadTest, it_gets_better_as_far_as_all_samples_in_a_row_allow) {
  detector_.queue(0.99);
  feed(1, 2);
  ASSERT_EQ(state(), LoadState::kOverloaded);
  detector_.queue(0.7);
  feed(1, 5);
  detector_.queue(0.1);
  feed(1, 5);
  EXPECT_EQ(state(), LoadState::kBusy);
}

RC_GTEST_PROP(Overload, the_worst_view_wins_and_nothing_that_is_fed_breaks_it, ()) {
  OverloadSettings settings;
  settings.worse_after = 1;
  settings.better_after = 1;
  settings.margin = 1;
  OverloadDetector detector(settings);
  const auto count = *rc::gen::inRange(1, 60);
  for (int i = 0; i < count; ++i) {
    const double queue = *rc::gen::inRange(0, 200) / 100.0;
    detector.queue(queue);
    detector.latency(Duration::nanos(*rc::gen::arbitrary<int64_t>()));
    const auto least = queue > 0.95   ? LoadState::kOverloaded
                       : queue > 0.85 ? LoadState::kStressed
                       : queue > 0.7  ? LoadState::kBusy
                                      : LoadState::kHealthy;
    RC_ASSERT(detector.state() >= least);
    RC_ASSERT((detector.state() == LoadState::kHealthy) == detector.reason().empty());
  }
}

TEST(Shedding, each_state_sheds_what_it_cannot_bear_and_never_what_is_critical) {
  struct Row {
    LoadState state;
    std::array<bool, kUrgencies> shed;
  };
  for (const Row& row :
       {Row{LoadState::kHealthy, {false, false, false, false}}, Row{LoadState::kBusy, {false, false, false, true}},
        Row{LoadState::kStressed, {false, false, true, true}},
        Row{LoadState::kOverloaded, {false, true, true, true}}}) {
    for (std::size_t i = 0; i < kUrgencies; ++i) {
      EXPECT_EQ(sheds(row.state, static_cast<Urgency>(i)), row.shed[i])
          << to_string(row.state) << ", " << to_string(static_cast<Urgency>(i));
    }
  }
  EXPECT_LT(shed_for(LoadState::kBusy), shed_for(LoadState::kOverloaded));
}

}  // namespace
}  // namespace bellwether::resilience
