#include "cluster/net/resource_monitor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/runtime/epoll/epoll_runtime.h"

namespace bellwether::cluster {
namespace {

TEST(ResourceUsage, processor_time_is_found_behind_a_name_of_any_text) {
  const char* stat = "12 (a) b) (c) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0 3 0 99";
  EXPECT_EQ(cpu_time_of(stat, 100), Duration::seconds(3));
  EXPECT_EQ(cpu_time_of("12 (a) S 1", 100), std::nullopt);
  EXPECT_EQ(cpu_time_of("", 100), std::nullopt);
}

TEST(ResourceUsage, the_wait_for_a_processor_is_the_second_figure) {
  EXPECT_EQ(waited_of("12345 678 9\n"), Duration::nanos(678));
  EXPECT_EQ(waited_of("12345\n"), std::nullopt);
  EXPECT_EQ(waited_of("1 18446744073709551615 1\n"), std::nullopt);
  EXPECT_EQ(waited_of(""), std::nullopt);
}

TEST(ResourceUsage, limits_of_groups_are_read) {
  EXPECT_EQ(cores_of("150000 100000\n"), 1.5);
  EXPECT_EQ(cores_of("max 100000\n"), std::nullopt);
  EXPECT_EQ(bytes_of("1048576\n"), 1048576u);
  EXPECT_EQ(bytes_of("max\n"), std::nullopt);
  EXPECT_EQ(total_memory_of("MemTotal:       1000 kB\nMemFree: 1 kB\n"), 1'024'000u);
  EXPECT_EQ(droppable_of("anon 1\nactive_file 7\ninactive_file 4096\nslab 3\n"), 4096u);
  EXPECT_EQ(droppable_of("inactive_file 5\n"), 5u);
  EXPECT_EQ(droppable_of("anon 1\n"), std::nullopt);
  EXPECT_EQ(resident_pages_of("100 42 7 1 0 9 0\n"), 42u);
}

struct Noting {
  runtime::Cancellation* cancel = nullptr;
  int lags = 0;
  std::optional<ResourceUsage> signs;
  void on_loop_lag(double) { ++lags; }
  void on_vital_signs(const ResourceUsage& now) {
    // The first has nothing to compare with.
    if (lags >= 20) {
      signs = now;
      cancel->cancel();
    }
  }
};

TEST(ResourceUsage, of_this_process_are_measured) {
  auto runtime = std::move(*runtime::EpollRuntime::create({}));
  runtime::Cancellation cancel;
  Noting noting;
  noting.cancel = &cancel;
  ProcessResources process(*runtime);
  ResourceMonitor meter(*runtime, &process, callback_to<&Noting::on_loop_lag>(noting),
                        callback_to<&Noting::on_vital_signs>(noting));
  std::vector<int> open;
  for (int i = 0; i < 100; ++i) open.push_back(::dup(STDERR_FILENO));
  runtime->run(meter.run(&cancel));
  ASSERT_TRUE(noting.signs);
  EXPECT_GE(noting.signs->cores, 0.01);
  EXPECT_GT(noting.signs->memory, 100'000u);
  EXPECT_GT(noting.signs->memory_ratio(), 0);
  EXPECT_LT(noting.signs->memory_ratio(), 1.01);
  for (const int one : open) ::close(one);
  EXPECT_GT(noting.signs->descriptors, 100u);
  EXPECT_LT(noting.signs->descriptors, 200u) << "each once";
  EXPECT_GT(noting.signs->descriptors_most, 0u);
  EXPECT_DOUBLE_EQ(noting.signs->descriptor_ratio(), static_cast<double>(noting.signs->descriptors) /
                                                         static_cast<double>(noting.signs->descriptors_most));
  EXPECT_GE(noting.signs->run_delay, Duration::zero());
  EXPECT_GE(noting.signs->cpu_ratio, 0);
  EXPECT_LE(noting.signs->cpu_ratio, 1);
}

}  // namespace
}  // namespace bellwether::cluster
