#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include "load/local/self_watch.h"

namespace bellwether::node {
namespace {

// A root folder with what a kernel would show there.
class MachineReaderTest : public testing::Test {
 protected:
  MachineReaderTest() : root_(testing::TempDir() + "machine-" + std::to_string(::getpid())) {
    put("proc/stat", "cpu  100 5 50 800 20 1 4 20 7 0\ncpu0 1 1 1 1 1 1 1 1 1 1\nintr 5\n");
    put("proc/meminfo", "MemTotal:        1000 kB\nMemFree:          10 kB\nMemAvailable:    400 kB\n");
    put("proc/self/cgroup", "3:cpu:/elsewhere\n0::/runs/one\n");
    put("proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units\n"
        "Max open files            20                   1048576              files\n");
    for (const char* name : {"0", "1", "2", "3", "4"}) put("proc/self/fd/" + std::string(name), "");
  }
  ~MachineReaderTest() override { std::filesystem::remove_all(root_); }

  void put(const std::string& name, const std::string& text) {
    const std::filesystem::path path = root_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void put_group(const std::string& name, const std::string& text) { put("sys/fs/cgroup/" + name, text); }
  aggregate::MachineReading read() { return MachineReader(root_).read(); }

  std::filesystem::path root_;
};

TEST_F(MachineReaderTest, processors_memory_and_descriptors_of_the_machine) {
  const aggregate::MachineReading reading = read();
  ASSERT_TRUE(reading.processors);
  EXPECT_EQ(reading.processors->stolen, 20U);
  EXPECT_EQ(reading.processors->all, 1000U) << "guests are counted once";
  EXPECT_EQ(reading.processors->wanted, 180U) << "all but idle and waiting for disks";
  EXPECT_DOUBLE_EQ(reading.memory_ratio.value_or(-1), 0.6);
  EXPECT_DOUBLE_EQ(reading.descriptor_ratio.value_or(-1), 0.25);
  EXPECT_FALSE(reading.quota);
}

TEST_F(MachineReaderTest, the_quota_of_the_group_that_may_use_least) {
  put_group("runs/one/cpu.max", "max 100000\n");
  put_group("runs/one/cpu.stat", "usage_usec 1\nnr_periods 1\nnr_throttled 1\nthrottled_usec 9\n");
  put_group("runs/cpu.max", "50000 100000\n");
  put_group("runs/cpu.stat", "usage_usec 1\nnr_periods 70\nnr_throttled 7\nthrottled_usec 9\n");
  put_group("cpu.max", "200000 100000\n");
  put_group("cpu.stat", "nr_periods 900\nnr_throttled 90\n");
  const aggregate::MachineReading reading = read();
  ASSERT_TRUE(reading.quota);
  EXPECT_EQ(reading.quota->periods, 70U);
  EXPECT_EQ(reading.quota->throttled, 7U);
}

TEST_F(MachineReaderTest, memory_of_whichever_limit_is_nearest) {
  put_group("runs/one/memory.max", "max\n");
  put_group("runs/one/memory.current", "900\n");
  put_group("runs/memory.max", "1000\n");
  put_group("runs/memory.current", "900\n");
  put_group("runs/memory.stat", "anon 5\ninactive_file 200\n");
  EXPECT_DOUBLE_EQ(read().memory_ratio.value_or(-1), 0.7) << "without files that could be dropped";
  put_group("runs/memory.stat", "inactive_file 5000\n");
  EXPECT_DOUBLE_EQ(read().memory_ratio.value_or(-1), 0.6) << "that of the machine";
}

TEST_F(MachineReaderTest, what_is_not_there_or_makes_no_sense_is_left_out) {
  for (const char* name : {"proc/stat", "proc/meminfo", "proc/self/limits"}) put(name, "cpu  x\nMemTotal: -\n");
  put_group("runs/cpu.max", "1 0\n");
  put_group("runs/memory.max", "9999999999999999999999\n");
  aggregate::MachineReading reading = read();
  EXPECT_FALSE(reading.processors || reading.memory_ratio || reading.descriptor_ratio || reading.quota);
  std::filesystem::remove_all(root_);
  reading = read();
  EXPECT_FALSE(reading.processors || reading.memory_ratio || reading.descriptor_ratio || reading.quota);
}

TEST_F(MachineReaderTest, this_machine_has_processors_and_memory) {
  const aggregate::MachineReading reading = MachineReader().read();
  ASSERT_TRUE(reading.processors);
  EXPECT_GE(reading.processors->all, reading.processors->wanted);
  EXPECT_GE(reading.processors->wanted, reading.processors->stolen);
  EXPECT_GT(reading.memory_ratio.value_or(0), 0);
  EXPECT_GT(reading.descriptor_ratio.value_or(0), 0);
}

}  // namespace
}  // namespace bellwether::node
