#include <gtest/gtest.h>
#include <optional>

#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/event.h"
#include "core/runtime/scope.h"

namespace bellwether::runtime {
namespace {

class ConditionTest : public testing::Test {
 protected:
  task<void> wait(Instant deadline, Cancellation* cancel) {
    const auto holds = [this] { return holds_; };
    outcome_ = co_await condition_.wait(*runtime_, holds, deadline, cancel);
  }
  task<void> turn() { co_await runtime_->yield(); }
  void let_it_run() {
    runtime_->run(turn());
    runtime_->run(turn());
  }

  std::unique_ptr<EpollRuntime> runtime_ = std::move(*EpollRuntime::create({}));
  Condition condition_;
  bool holds_ = false;
  std::optional<bool> outcome_;
};

TEST_F(ConditionTest, what_holds_already_is_not_waited_for) {
  holds_ = true;
  const task<void> waiting = wait(Instant(), nullptr);
  EXPECT_EQ(outcome_, true);
}

TEST_F(ConditionTest, a_deadline_that_has_come_ends_it) {
  const task<void> waiting = wait(runtime_->read_clock(), nullptr);
  EXPECT_EQ(outcome_, false);
}

TEST_F(ConditionTest, each_change_is_looked_at_and_only_what_holds_ends_it) {
  const task<void> waiting = wait(Instant::never(), nullptr);
  condition_.changed();
  let_it_run();
  EXPECT_EQ(outcome_, std::nullopt);
  holds_ = true;
  condition_.changed();
  let_it_run();
  EXPECT_EQ(outcome_, true);
}

TEST_F(ConditionTest, who_is_cancelled_does_not_wait) {
  Cancellation cancel;
  const task<void> waiting = wait(Instant::never(), &cancel);
  cancel.cancel();
  let_it_run();
  EXPECT_EQ(outcome_, false);
}

TEST_F(ConditionTest, a_waiter_that_is_gone_is_woken_no_more) {
  { const task<void> waiting = wait(Instant::never(), nullptr); }
  condition_.changed();
  let_it_run();
  EXPECT_EQ(outcome_, std::nullopt);
}

}  // namespace
}  // namespace bellwether::runtime
