#include "core/runtime/epoll/blocking_pool.h"

#include <future>
#include <gtest/gtest.h>
#include <thread>

#include "core/runtime/stream_testing.h"

namespace bellwether::runtime {
namespace {

// Runs a call on the pool's thread and gives its result.
template <class Call>
task<int> on_pool(BlockingPool& pool, Call call) {
  const int result = co_await pool.run(std::move(call));
  co_return result;
}

struct BlockingPoolTest : testing::Test {
  std::unique_ptr<EpollRuntime> runtime = test_runtime();
  BlockingPool pool{*runtime};
};

TEST_F(BlockingPoolTest, runs_an_operation_on_another_thread_and_gives_its_result) {
  const auto here = std::this_thread::get_id();
  std::thread::id there;
  EXPECT_EQ(runtime->run(on_pool(pool,
                                 [&] {
                                   there = std::this_thread::get_id();
                                   return 42;
                                 })),
            42);
  EXPECT_NE(there, here);
}

TEST_F(BlockingPoolTest, the_loop_goes_on_while_an_operation_blocks) {
  std::promise<void> go_on;
  auto blocked = on_pool(pool, [&] {
    go_on.get_future().wait();
    return 1;
  });
  const auto turn = [](Runtime& of) -> task<int> {
    co_await of.sleep(Duration::millis(1));
    co_return 2;
  };
  EXPECT_EQ(runtime->run(turn(*runtime)), 2);
  EXPECT_FALSE(blocked.done());
  go_on.set_value();
  EXPECT_EQ(runtime->run(std::move(blocked)), 1);
}

TEST_F(BlockingPoolTest, operations_run_one_after_the_other_in_order) {
  std::vector<int> order;  // written by one thread, read after the last operation
  std::vector<task<int>> all;
  all.reserve(100);
  for (int i = 0; i < 100; ++i) {
    all.push_back(on_pool(pool, [&order, i] {
      order.push_back(i);
      return i;
    }));
  }
  EXPECT_EQ(runtime->run(std::move(all.back())), 99);
  ASSERT_EQ(order.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(BlockingPool, results_arrive_though_the_mailbox_was_full) {
  EpollRuntime::Options options;
  options.mailbox = 1;
  const auto runtime = test_runtime(options);
  BlockingPool pool(*runtime);
  ASSERT_TRUE(runtime->post([](void*) {}, nullptr));
  auto first = on_pool(pool, [] { return 1; });
  auto second = on_pool(pool, [] { return 2; });
  EXPECT_EQ(runtime->run(std::move(second)), 2);
  EXPECT_EQ(runtime->run(std::move(first)), 1);
}

TEST_F(BlockingPoolTest, the_result_of_a_destroyed_coroutine_is_thrown_away) {
  const auto alive = std::make_shared<int>(0);
  std::promise<void> go_on;
  {
    const auto dropped = on_pool(pool, [alive, &go_on] {
      go_on.get_future().wait();
      return 1;
    });
  }
  EXPECT_EQ(alive.use_count(), 2);
  go_on.set_value();
  EXPECT_EQ(runtime->run(on_pool(pool, [] { return 2; })), 2);
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(BlockingPool, when_it_ends_nobody_is_woken) {
  const auto runtime = test_runtime();
  auto pool = std::make_unique<BlockingPool>(*runtime);
  std::promise<void> running;
  std::promise<void> go_on;
  auto first = on_pool(*pool, [&] {
    running.set_value();
    go_on.get_future().wait();
    return 1;
  });
  auto second = on_pool(*pool, [] { return 2; });
  running.get_future().wait();
  std::thread releasing([&] { go_on.set_value(); });
  pool.reset();
  releasing.join();
  EXPECT_TRUE(RunQueue::local().empty());
  EXPECT_FALSE(second.done());
}

}  // namespace
}  // namespace bellwether::runtime
