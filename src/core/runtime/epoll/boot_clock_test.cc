#include <dirent.h>
#include <gmock/gmock.h>
#include <string>
#include <unistd.h>

#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/epoll/machine_texts.h"
#include "core/runtime/scope.h"
#include "core/runtime/stream_testing.h"
#include "core/runtime/timers.h"

namespace bellwether::runtime {
namespace {

using testing::ElementsAre;

class BootClockTest : public testing::Test {
 protected:
  bool sleep_until(Instant deadline, Cancellation* cancel = nullptr) {
    return runtime_->run(runtime_->sleep_until_boot(deadline, cancel));
  }
  std::unique_ptr<EpollRuntime> runtime_ = test_runtime();
};

TEST_F(BootClockTest, a_sleeper_wakes_when_the_clock_came_there) {
  const Instant deadline = runtime_->boot_now() + Duration::millis(5);
  EXPECT_TRUE(sleep_until(deadline));
  EXPECT_GE(runtime_->boot_now(), deadline);
}

TEST_F(BootClockTest, what_is_past_is_not_waited_for) {
  auto slept = runtime_->sleep_until_boot(runtime_->boot_now());
  EXPECT_TRUE(slept.done());
  EXPECT_TRUE(slept.take());
  EXPECT_TRUE(sleep_until(Instant::from_ns(0)));
}

TEST_F(BootClockTest, the_clock_is_read_anew_each_time) {
  const Instant loop_time = runtime_->now();
  const Instant before = runtime_->boot_now();
  while (runtime_->boot_now() == before) {
  }
  EXPECT_EQ(runtime_->now(), loop_time);
}

TEST_F(BootClockTest, a_sleeper_is_cancelled) {
  Cancellation cancel;
  auto sleeping = runtime_->sleep_until_boot(Instant::never(), &cancel);
  EXPECT_FALSE(sleeping.done());
  cancel.cancel();
  EXPECT_FALSE(runtime_->run(std::move(sleeping)));
  EXPECT_FALSE(sleep_until(Instant::from_ns(0), &cancel));
}

task<void> note(Runtime& runtime, std::vector<int>& log, Instant deadline, int name) {
  co_await runtime.sleep_until_boot(deadline);
  log.push_back(name);
}

TEST_F(BootClockTest, one_that_sleeps_shorter_wakes_first_whoever_lay_down_first) {
  std::vector<int> log;
  for (Duration least = Duration::millis(50); log.empty(); least = least * 2) {
    const Instant start = runtime_->boot_now() + least;
    auto last = note(*runtime_, log, start + Duration::millis(6), 3);
    auto first = note(*runtime_, log, start + Duration::millis(2), 1);
    { const auto forgotten = note(*runtime_, log, start, 0); }
    auto second = note(*runtime_, log, start + Duration::millis(4), 2);
    if (runtime_->boot_now() < start) {
      runtime_->run(std::move(last));
    } else {
      log.clear();  // this thread stood still: a time had come before all lay down
    }
  }
  EXPECT_THAT(log, ElementsAre(1, 2, 3));
  EXPECT_TRUE(sleep_until(runtime_->boot_now() + Duration::millis(1))) << "the clock goes on";
}

TEST_F(BootClockTest, a_loop_that_waits_for_a_later_time_is_woken_for_an_earlier_one) {
  std::vector<int> log;
  const auto late = note(*runtime_, log, runtime_->boot_now() + Duration::hours(1), 2);
  const auto wait = [](Runtime& of) -> task<bool> {
    const bool slept = co_await of.sleep(Duration::millis(1));
    co_return slept;
  };
  runtime_->run(wait(*runtime_));
  runtime_->run(note(*runtime_, log, runtime_->boot_now() + Duration::millis(1), 1));
  EXPECT_THAT(log, ElementsAre(1));
}

// What the kernel says of the timer descriptors of this process.
std::vector<std::string> timer_descriptors() {
  std::vector<std::string> found;
  DIR* folder = ::opendir("/proc/self/fd");
  while (const dirent* entry = ::readdir(folder)) {
    char target[64] = {};
    const std::string path = std::string("/proc/self/fd/") + entry->d_name;
    [[maybe_unused]] const ssize_t n = ::readlink(path.c_str(), target, sizeof target - 1);
    if (std::string_view(target) != "anon_inode:[timerfd]") continue;
    found.push_back(read_system_text((std::string("/proc/self/fdinfo/") + entry->d_name).c_str()));
  }
  ::closedir(folder);
  return found;
}

TEST_F(BootClockTest, ten_thousand_sleepers_share_one_descriptor_of_the_clock_that_runs_through_suspend) {
  std::vector<int> log;
  Scope scope;
  const Instant start = runtime_->boot_now();
  for (int i = 0; i < 10'000; ++i) {
    scope.spawn(note(*runtime_, log, start + Duration::micros(10'000 - i), i));
  }
  const auto descriptors = timer_descriptors();
  ASSERT_THAT(descriptors, testing::SizeIs(1));
  EXPECT_THAT(descriptors[0], testing::HasSubstr("clockid: " + std::to_string(CLOCK_BOOTTIME)));
  runtime_->run([](Scope& all) -> task<void> { co_await all.join(); }(scope));
  EXPECT_EQ(log.size(), 10'000u);
}

}  // namespace
}  // namespace bellwether::runtime
