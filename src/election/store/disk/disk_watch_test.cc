#include <cstdio>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/runtime/temporary_testing.h"
#include "election/store/disk/disk_register.h"

namespace bellwether::store {
namespace {

bool is_readable(int fd) {
  pollfd ready{fd, POLLIN, 0};
  return ::poll(&ready, 1, 0) == 1;
}

struct DiskWatchTest : testing::Test {
  void SetUp() override { ASSERT_TRUE(watch); }
  const runtime::TemporaryFolder folder;
  decltype(DiskWatch::of("", "")) watch = DiskWatch::of(folder.path(), "k.lock");
};

TEST_F(DiskWatchTest, sees_the_file_written_and_replaced_and_nothing_else) {
  EXPECT_FALSE(watch->take());
  folder.file("other.lock", "x");
  EXPECT_FALSE(watch->take());
  folder.file("k.lock", "x");
  EXPECT_TRUE(is_readable(watch->descriptor()));
  EXPECT_TRUE(watch->take());
  EXPECT_FALSE(watch->take()) << "told once";
  folder.file("k.lock.new", "y");
  std::rename(folder.path("k.lock.new").c_str(), folder.path("k.lock").c_str());
  EXPECT_TRUE(watch->take());
}

TEST_F(DiskWatchTest, sees_a_process_end) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  watch->watch_process(child);
  EXPECT_FALSE(watch->take());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(watch->take());
  EXPECT_FALSE(watch->take()) << "a dead process is told once";
}

TEST_F(DiskWatchTest, a_process_that_has_ended_already_is_told_once) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  watch->watch_process(child);
  EXPECT_TRUE(is_readable(watch->descriptor()));
  EXPECT_TRUE(watch->take());
  watch->watch_process(child);
  EXPECT_FALSE(watch->take());
}

TEST_F(DiskWatchTest, a_nudge_wakes_and_is_no_change) {
  watch->nudge();
  EXPECT_TRUE(is_readable(watch->descriptor()));
  EXPECT_FALSE(watch->take());
  EXPECT_FALSE(is_readable(watch->descriptor()));
}

TEST(DiskWatch, a_folder_that_is_not_there_cannot_be_watched) {
  EXPECT_FALSE(DiskWatch::of("/nowhere/at/all", "k.lock"));
}

}  // namespace
}  // namespace bellwether::store
