#include "cluster/vote/machine_load.h"

#include <cmath>
#include <gtest/gtest.h>

namespace bellwether::cluster {
namespace {

Instant machine_load_at(int64_t second) { return Instant::from_ns(1'000'000'000 * (100 + second)); }

std::string stat(uint64_t busy, uint64_t idle) {
  return "cpu  " + std::to_string(busy) + " 0 0 " + std::to_string(idle) + " 0 0 0 0 0 0\ncpu0 1 2 3 4\n";
}

TEST(MachineLoad, ticks_are_those_of_the_first_line) {
  const auto ticks = ticks_of("cpu  10 1 5 100 20 2 3 4 9 9\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
  ASSERT_TRUE(ticks);
  EXPECT_EQ(ticks->first, 10u + 1 + 5 + 2 + 3 + 4) << "stolen time is not there for anybody";
  EXPECT_EQ(ticks->second, 145u);
  EXPECT_FALSE(ticks_of(""));
  EXPECT_FALSE(ticks_of("cpu  1 2\n"));
}

struct MachineLoadTest : testing::Test {
  MachineLoad load;
  MachineTexts texts;
};

TEST_F(MachineLoadTest, processor_use_is_what_grew_between_two_readings) {
  texts.stat = stat(1000, 1000);
  load.read(machine_load_at(0), texts);
  EXPECT_DOUBLE_EQ(load.resources().cpu_used, 0.5) << "nothing is known yet";
  texts.stat = stat(1300, 1700);
  load.read(machine_load_at(10), texts);
  EXPECT_DOUBLE_EQ(load.resources().cpu_used, 0.3);
}

TEST_F(MachineLoadTest, a_group_that_may_use_less_counts_by_what_it_may_use) {
  texts.stat = stat(0, 1000);
  texts.groups = {{"max 100000", "usage_usec 0\n", "max", "0", ""},
                  {"200000 100000", "usage_usec 1000000\n", "max", "0", ""}};
  load.read(machine_load_at(0), texts);
  texts.stat = stat(100, 1900);
  texts.groups[1].cpu_stat = "usage_usec 11000000\n";
  load.read(machine_load_at(10), texts);
  EXPECT_DOUBLE_EQ(load.resources().cpu_used, 0.5) << "10 s of processor in 10 s, of 2 a second";
}

TEST_F(MachineLoadTest, counters_that_began_anew_say_nothing) {
  texts.stat = stat(1000, 1000);
  load.read(machine_load_at(0), texts);
  texts.stat = stat(1100, 1900);
  load.read(machine_load_at(10), texts);
  texts.stat = stat(5, 5);
  load.read(machine_load_at(20), texts);
  EXPECT_DOUBLE_EQ(load.resources().cpu_used, 0.1);
}

TEST_F(MachineLoadTest, memory_is_that_of_the_tightest) {
  EXPECT_FALSE(memory_used_of(texts));
  texts.meminfo = "MemTotal:       1000 kB\nMemFree: 10 kB\nMemAvailable:   750 kB\n";
  EXPECT_DOUBLE_EQ(*memory_used_of(texts), 0.25);
  texts.groups = {{"", "", "max", "900", ""}};
  EXPECT_DOUBLE_EQ(*memory_used_of(texts), 0.25) << "a group without a limit";
  texts.groups.push_back({"", "", "1000", "900", "anon 1\ninactive_file 300\n"});
  EXPECT_DOUBLE_EQ(*memory_used_of(texts), 0.6) << "files that could be dropped are free";
}

TEST_F(MachineLoadTest, its_size_is_that_of_the_tightest) {
  texts.stat = "cpu  1 2 3 4\ncpu0 1 2 3 4\ncpu1 1 2 3 4\ncpu2 1 2 3 4\ncpu3 1 2 3 4\nintr 5\n";
  texts.meminfo = "MemTotal:       1000 kB\nMemAvailable:    500 kB\n";
  texts.disk_free = 77;
  MachineSize size = size_of(texts);
  EXPECT_DOUBLE_EQ(size.cores, 4);
  EXPECT_EQ(size.memory, 1'024'000u);
  EXPECT_EQ(size.disk_free, 77u);
  texts.groups = {{"max 100000", "", "max", "0", ""}, {"150000 100000", "", "512000", "0", ""}};
  size = size_of(texts);
  EXPECT_DOUBLE_EQ(size.cores, 1.5);
  EXPECT_EQ(size.memory, 512'000u);
}

TEST_F(MachineLoadTest, means_follow_slowly) {
  texts.disk_used = 0.2;
  load.read(machine_load_at(0), texts);
  EXPECT_DOUBLE_EQ(load.resources().disk_used, 0.2) << "the first counts as it is";
  texts.disk_used = 1;
  load.read(machine_load_at(1), texts);
  EXPECT_NEAR(load.resources().disk_used, 0.2 + 0.8 * (1 - std::exp(-1.0 / 30)), 1e-12);
  for (int second = 2; second < 300; ++second) load.read(machine_load_at(second), texts);
  EXPECT_GT(load.resources().disk_used, 0.99);
}

TEST_F(MachineLoadTest, what_is_never_told_counts_as_half_used) {
  load.read(machine_load_at(0), {});
  load.read(machine_load_at(1), {});
  EXPECT_EQ(load.resources(), (vote::Resources{0.5, 0.5, 0.5, 1}));
}

}  // namespace
}  // namespace bellwether::cluster
