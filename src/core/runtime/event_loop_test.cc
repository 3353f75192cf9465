// The loop itself: posts, sleeping, yielding, clocks.
#include <chrono>
#include <csignal>
#include <fstream>
#include <gmock/gmock.h>
#include <iterator>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "core/runtime/processes.h"
#include "core/runtime/scope.h"
#include "core/runtime/stream_testing.h"

namespace bellwether::runtime {
namespace {

using testing::ElementsAre;

void event_loop_count(void* counter) { ++*static_cast<int*>(counter); }

task<int> until(Runtime& runtime, const int& counter, int wanted) {
  while (counter < wanted) co_await runtime.sleep(Duration::micros(100));
  co_return counter;
}

struct EventLoopTest : testing::Test {
  std::unique_ptr<EpollRuntime> runtime = test_runtime();
};

TEST_F(EventLoopTest, posts_of_many_threads_all_run_on_its_own) {
  constexpr int kThreads = 4;
  constexpr int kPosts = 5000;
  int counter = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < kPosts; ++k) {
        while (!runtime->post(&event_loop_count, &counter)) std::this_thread::yield();
      }
    });
  }
  EXPECT_EQ(runtime->run(until(*runtime, counter, kThreads * kPosts)), kThreads * kPosts);
  for (std::thread& thread : threads) thread.join();
}

TEST(EventLoop, a_full_mailbox_says_so_and_empties) {
  EpollRuntime::Options options;
  options.mailbox = 2;
  const auto runtime = test_runtime(options);
  int counter = 0;
  EXPECT_TRUE(runtime->post(&event_loop_count, &counter));
  EXPECT_TRUE(runtime->post(&event_loop_count, &counter));
  EXPECT_FALSE(runtime->post(&event_loop_count, &counter));
  EXPECT_EQ(runtime->run(until(*runtime, counter, 2)), 2);
  EXPECT_TRUE(runtime->post(&event_loop_count, &counter));
}

TEST_F(EventLoopTest, a_post_wakes_a_loop_that_has_nothing_to_do) {
  Cancellation cancel;
  const auto wait = [](Runtime& of, Cancellation* by) -> task<bool> {
    const bool slept = co_await of.sleep_until(Instant::never(), by);
    co_return slept;
  };
  std::thread other([&] { runtime->post([](void* c) { static_cast<Cancellation*>(c)->cancel(); }, &cancel); });
  EXPECT_FALSE(runtime->run(wait(*runtime, &cancel)));
  other.join();
}

task<void> note_after(Runtime& runtime, Duration span, std::vector<int>& order, int number) {
  co_await runtime.sleep(span);
  order.push_back(number);
}

task<int> join(Scope& scope) {
  co_await scope.join();
  co_return 0;
}

TEST_F(EventLoopTest, sleepers_wake_in_the_order_of_their_times) {
  std::vector<int> order;
  Scope scope;
  scope.spawn(note_after(*runtime, Duration::millis(6), order, 3));
  scope.spawn(note_after(*runtime, Duration::millis(2), order, 1));
  scope.spawn(note_after(*runtime, Duration::millis(4), order, 2));
  scope.spawn(note_after(*runtime, Duration::millis(-1), order, 0));
  runtime->run(join(scope));
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3));
}

TEST_F(EventLoopTest, a_sleeper_wakes_at_its_time_and_not_before) {
  const Instant deadline = runtime->read_clock() + Duration::millis(3);
  const auto wait = [](Runtime& of, Instant at) -> task<bool> {
    const bool slept = co_await of.sleep_until(at);
    co_return slept;
  };
  EXPECT_TRUE(runtime->run(wait(*runtime, deadline)));
  EXPECT_GE(runtime->read_clock(), deadline);
}

TEST_F(EventLoopTest, a_cancelled_sleep_ends_early) {
  Cancellation cancel;
  const auto wait = [](Runtime& of, Cancellation* by) -> task<bool> {
    const bool slept = co_await of.sleep(Duration::hours(1), by);
    co_return slept;
  };
  auto sleeping = wait(*runtime, &cancel);
  cancel.cancel();
  EXPECT_FALSE(runtime->run(std::move(sleeping)));
  EXPECT_FALSE(runtime->run(wait(*runtime, &cancel)));
}

TEST_F(EventLoopTest, yielding_lets_the_others_run) {
  std::vector<int> order;
  const auto two_steps = [](Runtime& of, std::vector<int>& to, int number) -> task<void> {
    to.push_back(number);
    co_await of.yield();
    to.push_back(number + 10);
  };
  Scope scope;
  scope.spawn(two_steps(*runtime, order, 1));
  scope.spawn(two_steps(*runtime, order, 2));
  runtime->run(join(scope));
  EXPECT_THAT(order, ElementsAre(1, 2, 11, 12));
}

TEST_F(EventLoopTest, coroutines_that_never_rest_do_not_starve_network_and_timers) {
  bool stop = false;
  const auto spin = [](Runtime& of, const bool& until_true) -> task<void> {
    while (!until_true) co_await of.yield();
  };
  const auto work = [](Runtime& of, bool& done) -> task<void> {
    const Connected ends = co_await connect_loopback(of);
    co_await send_all(*ends.client, "x");
    co_await receive(*ends.server, 1);
    co_await of.sleep(Duration::millis(1));
    done = true;
  };
  Scope scope;
  scope.spawn(spin(*runtime, stop));
  scope.spawn(work(*runtime, stop));
  runtime->run(join(scope));
  EXPECT_TRUE(stop);
}

TEST_F(EventLoopTest, turns_are_observed) {
  std::vector<Duration> turns;
  runtime->observe_turns([](void* to, Duration busy) { static_cast<std::vector<Duration>*>(to)->push_back(busy); },
                         &turns);
  std::vector<int> order;
  Scope scope;
  scope.spawn(note_after(*runtime, Duration::millis(1), order, 0));
  runtime->run(join(scope));
  ASSERT_FALSE(turns.empty());
  for (const Duration busy : turns) EXPECT_GE(busy, Duration::zero());
}

TEST_F(EventLoopTest, what_precedes_their_observation_belongs_to_no_turn) {
  const Instant before = runtime->now();
  while (runtime->read_clock() == before) continue;
  struct Begins {
    Runtime& of;
    std::vector<Instant> at;
  } begins{*runtime, {}};
  const Instant asked = runtime->read_clock();
  runtime->observe_turns(
      [](void* to, Duration busy) {
        auto& seen = *static_cast<Begins*>(to);
        seen.at.push_back(seen.of.now() - busy);
      },
      &begins);
  std::vector<int> order;
  runtime->run(note_after(*runtime, Duration::millis(1), order, 0));
  ASSERT_FALSE(begins.at.empty());
  EXPECT_GE(begins.at.front(), asked);
}

// And a turn more, because the loop does not report the turn in which it ends.
task<void> until_it_ended(Runtime& runtime, pid_t child) {
  while (::waitpid(child, nullptr, WNOHANG) == 0) co_await runtime.sleep(Duration::millis(1));
  co_await runtime.sleep(Duration::millis(1));
}

// Another process stops this one, mostly while its loop waits.
TEST_F(EventLoopTest, the_time_for_which_the_process_stood_still_belongs_to_a_turn) {
  Duration longest;
  runtime->observe_turns(
      [](void* to, Duration busy) {
        auto& most = *static_cast<Duration*>(to);
        most = std::max(most, busy);
      },
      &longest);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    const auto stands_still = [parent] {
      std::ifstream file("/proc/" + std::to_string(parent) + "/stat");
      const auto stat = parse_process_stat(std::string(std::istreambuf_iterator<char>(file), {}));
      return stat && stat->state == 'T';
    };
    ::kill(parent, SIGSTOP);
    while (!stands_still()) continue;
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(600)) continue;
    ::kill(parent, SIGCONT);
    ::_exit(0);
  }
  runtime->run(until_it_ended(*runtime, child));
  EXPECT_GE(longest, Duration::millis(500));
}

TEST_F(EventLoopTest, clocks_go_forward) {
  const Instant before = runtime->now();
  EXPECT_GE(runtime->read_clock(), before);
  EXPECT_GE(runtime->now(), before);
  const Instant boot = runtime->boot_now();
  EXPECT_GE(runtime->boot_now(), boot);
  EXPECT_GT(runtime->wall_now().unix_ns, 1'600'000'000'000'000'000);
}

TEST(EventLoop, randomness_follows_the_seed_and_differs_without_one) {
  EXPECT_EQ(test_runtime()->prng().next(), test_runtime()->prng().next());
  EXPECT_NE((*EpollRuntime::create({}))->prng().next(), (*EpollRuntime::create({}))->prng().next());
}

}  // namespace
}  // namespace bellwether::runtime
