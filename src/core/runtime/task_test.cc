#include "core/runtime/task.h"

#include <gtest/gtest.h>

#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/event.h"

namespace bellwether::runtime {
namespace {

constexpr std::size_t kAll = 10'000'000;

struct Alive {
  explicit Alive(int& c) : count(c) { ++count; }
  ~Alive() { --count; }
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;
  int& count;
};

task<int> answer() { co_return 42; }

task<int> answer_after(Event& event, int& progress) {
  progress = 1;
  co_await event.wait();
  progress = 2;
  co_return 42;
}

task<int> one_more(task<int> of) {
  const int value = co_await of;
  co_return value + 1;
}

struct TaskTest : testing::Test {
  Event event;
  int progress = 0;
};

TEST_F(TaskTest, runs_at_once_to_its_first_wait) {
  task<int> running = answer_after(event, progress);
  EXPECT_EQ(progress, 1);
  EXPECT_FALSE(running.done());
}

TEST(Task, one_that_never_waits_is_done_when_it_returns) {
  task<int> done = answer();
  ASSERT_TRUE(done.done());
  EXPECT_EQ(done.take(), 42);
}

TEST(Task, awaiting_a_finished_task_does_not_wait) {
  task<int> done = one_more(answer());
  ASSERT_TRUE(done.done());
  EXPECT_EQ(done.take(), 43);
}

TEST_F(TaskTest, goes_on_from_the_run_queue_and_never_inside_the_one_who_wakes_it) {
  task<int> running = answer_after(event, progress);
  event.set();
  EXPECT_EQ(progress, 1);
  EXPECT_EQ(RunQueue::local().drain(kAll), 1u);
  ASSERT_TRUE(running.done());
  EXPECT_EQ(running.take(), 42);
}

TEST_F(TaskTest, hands_its_result_up_through_those_who_await_it) {
  task<int> top = one_more(one_more(answer_after(event, progress)));
  event.set();
  RunQueue::local().drain(kAll);
  ASSERT_TRUE(top.done());
  EXPECT_EQ(top.take(), 44);
}

task<std::unique_ptr<int>> boxed(int value) { co_return std::make_unique<int>(value); }

TEST(Task, a_result_may_be_something_that_can_only_be_moved) {
  task<std::unique_ptr<int>> made = boxed(7);
  EXPECT_EQ(*made.take(), 7);
}

task<void> hold(Event& event, int& alive) {
  const Alive here(alive);
  co_await event.wait();
}

task<void> hold_below(Event& event, int& alive) {
  const Alive here(alive);
  co_await hold(event, alive);
}

TEST_F(TaskTest, destroying_an_unfinished_task_destroys_what_it_holds_and_its_wait) {
  int alive = 0;
  {
    task<void> running = hold_below(event, alive);
    EXPECT_EQ(alive, 2);
  }
  EXPECT_EQ(alive, 0);
  event.set();
  EXPECT_TRUE(RunQueue::local().empty());
}

TEST_F(TaskTest, destroying_a_task_that_is_ready_takes_it_off_the_run_queue) {
  int alive = 0;
  {
    task<void> running = hold(event, alive);
    event.set();
    EXPECT_FALSE(RunQueue::local().empty());
  }
  EXPECT_TRUE(RunQueue::local().empty());
  EXPECT_EQ(alive, 0);
}

TEST_F(TaskTest, destroying_the_one_who_awaits_a_finished_task_takes_it_off_the_run_queue) {
  {
    task<int> top = one_more(answer_after(event, progress));
    event.set();
    RunQueue::local().run_one();  // the inner one ends, the outer one is ready
    EXPECT_FALSE(RunQueue::local().empty());
  }
  EXPECT_TRUE(RunQueue::local().empty());
}

task<int> one_more_than(task<int>& of) {
  const int value = co_await of;
  co_return value + 1;
}

TEST_F(TaskTest, outlives_one_who_awaited_it_and_was_destroyed) {
  task<int> below = answer_after(event, progress);
  { const task<int> waiting = one_more_than(below); }
  event.set();
  RunQueue::local().drain(kAll);
  ASSERT_TRUE(below.done());
  EXPECT_EQ(below.take(), 42);
}

task<bool> nap(Runtime& runtime, Cancellation* cancel) {
  const bool slept = co_await runtime.sleep(Duration::hours(1), cancel);
  co_return slept;
}

TEST(Task, destroying_a_sleeper_disarms_its_timer_and_its_cancellation) {
  auto runtime = EpollRuntime::create({});
  ASSERT_TRUE(runtime);
  Cancellation cancellation;
  {
    task<bool> sleeping = nap(**runtime, &cancellation);
    EXPECT_EQ((*runtime)->timers().size(), 1u);
  }
  EXPECT_EQ((*runtime)->timers().size(), 0u);
  cancellation.cancel();
  EXPECT_TRUE(RunQueue::local().empty());
}

TEST(Task, a_sleeper_wakes_when_cancelled) {
  auto runtime = EpollRuntime::create({});
  ASSERT_TRUE(runtime);
  Cancellation cancellation;
  task<bool> sleeping = nap(**runtime, &cancellation);
  cancellation.cancel();
  EXPECT_EQ((*runtime)->timers().size(), 0u);
  RunQueue::local().drain(kAll);
  ASSERT_TRUE(sleeping.done());
  EXPECT_FALSE(sleeping.take());
}

task<void> count_up(Runtime& runtime, int& count) {
  for (int i = 0; i < 3; ++i) {
    ++count;
    co_await runtime.yield();
  }
}

TEST(Task, yielding_lets_the_others_go_first) {
  auto runtime = EpollRuntime::create({});
  ASSERT_TRUE(runtime);
  int one = 0;
  int other = 0;
  task<void> first = count_up(**runtime, one);
  task<void> second = count_up(**runtime, other);
  while (!RunQueue::local().empty()) {
    RunQueue::local().run_one();
    EXPECT_LE(std::abs(one - other), 1);
  }
  EXPECT_TRUE(first.done());
  EXPECT_TRUE(second.done());
}

task<int> one_more_and_free(task<int> of) {
  task<int> below = std::move(of);
  const int value = co_await below;
  below = {};
  co_return value + 1;
}

TEST(Task, a_million_completions_in_a_row_do_not_grow_the_stack) {
  constexpr int kDeep = 1'000'000;
  Event event;
  int progress = 0;
  task<int> top = answer_after(event, progress);
  for (int i = 0; i < kDeep; ++i) top = one_more_and_free(std::move(top));
  event.set();
  RunQueue::local().drain(kAll);
  ASSERT_TRUE(top.done());
  EXPECT_EQ(top.take(), 42 + kDeep);
}

}  // namespace
}  // namespace bellwether::runtime
