#include "load/aggregate/self_monitor.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace bellwether::aggregate {
namespace {

constexpr LoadReading kCalm{.covered = Duration::seconds(1), .cpu_ratio = 0.5};

// Seconds of a run, with the machine's counters going on.
class Course {
 public:
  SelfMonitor::Changes calm() { return load(kCalm); }
  SelfMonitor::Changes load(const LoadReading& reading) { return watch.second(next(), reading, nullptr); }
  SelfMonitor::Changes machine(const MachineReading& reading) { return watch.second(next(), kCalm, &reading); }
  SelfMonitor::Changes memory(double ratio) {
    MachineReading reading;
    reading.memory_ratio = ratio;
    return machine(reading);
  }
  // Of 10 periods in a second.
  SelfMonitor::Changes throttled(uint64_t periods) {
    quota_.periods += 10;
    quota_.throttled += periods;
    MachineReading reading;
    reading.quota = quota_;
    return machine(reading);
  }
  // Ticks of two processors in a second, 200 of them.
  SelfMonitor::Changes stolen(uint64_t stolen, uint64_t busy) {
    processors_.stolen += stolen;
    processors_.wanted += stolen + busy;
    processors_.all += 200;
    MachineReading reading;
    reading.processors = processors_;
    return machine(reading);
  }

  SelfMonitor watch;

 private:
  Duration next() { return now_ = now_ + Duration::seconds(1); }
  Duration now_;
  MachineReading::Quota quota_{1000, 900};
  MachineReading::Processors processors_{5000, 6000, 7000};
};

Finding finding(Saturation saturation, int from, int to, double worst, bool over) {
  return {saturation, Duration::seconds(from), Duration::seconds(to), worst, over};
}

struct SelfMonitorTest : testing::Test {
  Course course;
};

TEST_F(SelfMonitorTest, three_bad_seconds_begin_a_finding_and_three_good_ones_end_it) {
  course.calm();
  EXPECT_TRUE(course.load({.covered = Duration::seconds(1), .cpu_ratio = 0.95}).empty());
  EXPECT_TRUE(course.load({.covered = Duration::seconds(1), .cpu_ratio = 0.99}).empty());
  EXPECT_EQ(course.load({.covered = Duration::seconds(1), .cpu_ratio = 0.97}),
            SelfMonitor::Changes{finding(Saturation::kCpu, 1, 4, 0.99, false)});
  EXPECT_TRUE(course.load({.covered = Duration::seconds(1), .cpu_ratio = 1.2}).empty());
  EXPECT_TRUE(course.calm().empty());
  EXPECT_TRUE(course.calm().empty());
  EXPECT_EQ(course.calm(), SelfMonitor::Changes{finding(Saturation::kCpu, 1, 5, 1.0, true)});
  EXPECT_TRUE(course.calm().empty());
  EXPECT_EQ(course.watch.findings(), std::vector<Finding>{finding(Saturation::kCpu, 1, 5, 1.0, true)});
}

TEST_F(SelfMonitorTest, a_good_second_between_bad_ones_begins_anew) {
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(course.memory(0.95).empty());
    EXPECT_TRUE(course.memory(0.95).empty());
    EXPECT_TRUE(course.memory(0.89).empty());
  }
  EXPECT_TRUE(course.watch.findings().empty());
}

TEST_F(SelfMonitorTest, one_request_without_a_port_is_enough) {
  EXPECT_EQ(course.load({.covered = Duration::seconds(1), .exhausted = 1}),
            SelfMonitor::Changes{finding(Saturation::kExhausted, 0, 1, 1, false)});
  EXPECT_TRUE(course.load({.covered = Duration::seconds(1), .exhausted = 7}).empty());
  EXPECT_EQ(course.watch.findings().front().worst, 7);
}

TEST_F(SelfMonitorTest, lag_of_the_loop) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(course.load({.covered = Duration::seconds(1), .loop_lag_p99 = Duration::millis(50)}).empty());
  }
  course.load({.covered = Duration::seconds(1), .loop_lag_p99 = Duration::millis(51)});
  course.load({.covered = Duration::seconds(1), .loop_lag_p99 = Duration::millis(80)});
  const auto changes = course.load({.covered = Duration::seconds(1), .loop_lag_p99 = Duration::millis(51)});
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].saturation, Saturation::kLoopLag);
  EXPECT_EQ(text_of(changes[0]), "its event loop lagged by 80.0ms");
}

TEST_F(SelfMonitorTest, a_loop_that_stood_still_once) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(course.load({.covered = Duration::seconds(1), .loop_lag_most = Duration::millis(999)}).empty());
  }
  const auto changes = course.load({.covered = Duration::seconds(1), .loop_lag_most = Duration::seconds(4)});
  EXPECT_EQ(changes, SelfMonitor::Changes{finding(Saturation::kLoopLag, 2, 6, 4, false)}) << "from its begin on";
}

TEST_F(SelfMonitorTest, descriptors_and_memory_by_their_share) {
  MachineReading reading;
  reading.descriptor_ratio = 0.94;
  reading.memory_ratio = 0.90;
  course.machine(reading);
  course.machine(reading);
  EXPECT_EQ(course.machine(reading), SelfMonitor::Changes{finding(Saturation::kMemory, 0, 3, 0.90, false)});
  reading.descriptor_ratio = 0.95;
  course.machine(reading);
  course.machine(reading);
  EXPECT_EQ(course.machine(reading), SelfMonitor::Changes{finding(Saturation::kDescriptors, 3, 6, 0.95, false)});
}

// Counters since the boot say nothing of a run: only how they grow counts.
TEST_F(SelfMonitorTest, a_quota_of_the_control_group_by_the_periods_it_was_held_up_in) {
  course.throttled(0);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(course.throttled(0).empty());
  course.throttled(1);
  course.throttled(8);
  EXPECT_EQ(course.throttled(1), SelfMonitor::Changes{finding(Saturation::kThrottled, 6, 9, 0.8, false)});
  EXPECT_EQ(text_of(course.watch.findings()[0]),
            "its control group throttled it in 80 % of its periods, because its CPU quota was used up");
}

TEST_F(SelfMonitorTest, what_the_hypervisor_took_of_what_was_wanted) {
  course.stolen(0, 100);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(course.stolen(3, 3).empty()) << "of an idle machine little is much";
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(course.stolen(9, 91).empty());
  course.stolen(10, 90);
  course.stolen(60, 60);
  EXPECT_EQ(course.stolen(20, 180), SelfMonitor::Changes{finding(Saturation::kStolen, 11, 14, 0.5, false)});
}

TEST_F(SelfMonitorTest, counters_that_begin_anew_or_stand_still_say_nothing) {
  MachineReading reading;
  reading.quota = {100, 50};
  reading.processors = {100, 200, 400};
  course.machine(reading);
  reading.quota = {10, 9};
  reading.processors = {10, 20, 40};
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(course.machine(reading).empty());
  EXPECT_TRUE(course.watch.findings().empty());
}

TEST_F(SelfMonitorTest, the_end_of_the_run_ends_what_goes_on) {
  for (int i = 0; i < 3; ++i) course.memory(0.97);
  course.watch.end(Duration::millis(2900));
  const Finding ended{Saturation::kMemory, Duration::zero(), Duration::millis(2900), 0.97, true};
  EXPECT_EQ(course.watch.findings(), std::vector<Finding>{ended});
}

TEST_F(SelfMonitorTest, a_saturation_that_comes_and_goes_for_ever_goes_on_with_its_last_finding) {
  std::size_t told = 0;
  for (int i = 0; i < 500; ++i) {
    told += course.load({.covered = Duration::seconds(1), .exhausted = 1}).size();
    for (int good = 0; good < kSaturationEnds; ++good) told += course.calm().size();
  }
  EXPECT_EQ(course.watch.findings().size(), kMaxFindings);
  EXPECT_EQ(told, 2 * kMaxFindings) << "each is told when it begins and when it is over";
  EXPECT_EQ(course.watch.findings().back().end, Duration::seconds(499 * 4 + 1));
}

TEST(Saturation, has_a_word_a_text_and_a_remedy_of_its_own) {
  std::vector<std::string> seen;
  for (std::size_t i = 0; i < kSaturations; ++i) {
    const auto saturation = static_cast<Saturation>(i);
    for (const std::string& text :
         {std::string(to_string(saturation)), text_of({.saturation = saturation, .worst = 0.5}),
          std::string(remedy(saturation))}) {
      EXPECT_FALSE(text.empty());
      EXPECT_EQ(std::count(seen.begin(), seen.end(), text), 0) << text;
      seen.push_back(text);
    }
  }
}

}  // namespace
}  // namespace bellwether::aggregate
