#include "core/runtime/epoll/machine_texts.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <iterator>
#include <unistd.h>

namespace bellwether::runtime {
namespace {

using testing::ElementsAre;

TEST(MachineTexts, numbers_are_those_of_the_line_that_begins_with_the_key) {
  EXPECT_THAT(numbers_after("cpu0 9\ncpu  1 2\t3 x 4\n", "cpu "), ElementsAre(1, 2, 3));
  EXPECT_THAT(numbers_after("150000 100000\n", ""), ElementsAre(150'000, 100'000));
  EXPECT_THAT(numbers_after("max 100000\n", ""), testing::IsEmpty());
  EXPECT_EQ(number_after("active_file 7\ninactive_file 4096\nslab 3\n", "inactive_file "), 4096u);
  EXPECT_EQ(number_after("MemTotal:       1000 kB", "MemTotal:"), 1000u);
  EXPECT_EQ(number_after("", "a "), std::nullopt);
}

TEST(MachineTexts, the_group_is_that_of_the_one_hierarchy) {
  EXPECT_EQ(group_of("0::/system.slice/a\n"), "/system.slice/a");
  EXPECT_EQ(group_of("1:cpu:/x\n0::/b\n"), "/b");
  EXPECT_EQ(group_of("1:cpu:/x\n"), std::nullopt);
}

TEST(MachineTexts, entries_of_a_folder_are_counted) {
  const uint64_t before = entries_of("/proc/self/fd");
  std::vector<int> open;
  for (int i = 0; i < 7; ++i) open.push_back(::dup(STDERR_FILENO));
  EXPECT_EQ(entries_of("/proc/self/fd"), before + 7);
  for (const int one : open) ::close(one);
  const std::filesystem::directory_iterator names("/proc/self/ns");
  EXPECT_EQ(entries_of("/proc/self/ns"), static_cast<uint64_t>(std::distance(begin(names), end(names))));
  EXPECT_EQ(entries_of("/no/such/folder"), 0u);
}

}  // namespace
}  // namespace bellwether::runtime
