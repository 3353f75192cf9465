#include <csignal>
#include <gtest/gtest.h>

#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/stream_testing.h"

namespace bellwether::runtime {
namespace {

class SignalsTest : public testing::Test {
 protected:
  SignalsTest() { pthread_sigmask(SIG_BLOCK, nullptr, &before_); }
  ~SignalsTest() override { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  sigset_t before_;
  std::unique_ptr<EpollRuntime> runtime_ = test_runtime();
};

TEST_F(SignalsTest, each_signal_is_given_once) {
  const auto signals = *Signals::collect(*runtime_, {SIGUSR1, SIGUSR2});
  ::raise(SIGUSR1);
  EXPECT_EQ(runtime_->run(signals->next(nullptr)), SIGUSR1);
  auto waiting = signals->next(nullptr);
  EXPECT_FALSE(waiting.done());
  ::raise(SIGUSR2);
  EXPECT_EQ(runtime_->run(std::move(waiting)), SIGUSR2);
  EXPECT_FALSE(signals->next(nullptr).done());
}

TEST_F(SignalsTest, several_that_came_together_are_all_given) {
  const auto signals = *Signals::collect(*runtime_, {SIGUSR1, SIGUSR2});
  ::raise(SIGUSR1);
  ::raise(SIGUSR2);
  const int first = runtime_->run(signals->next(nullptr));
  const int second = runtime_->run(signals->next(nullptr));
  EXPECT_EQ(first + second, SIGUSR1 + SIGUSR2);
}

TEST_F(SignalsTest, waiting_can_be_cancelled_and_taken_up_again) {
  const auto signals = *Signals::collect(*runtime_, {SIGUSR1});
  Cancellation cancel;
  auto waiting = signals->next(&cancel);
  cancel.cancel();
  EXPECT_EQ(runtime_->run(std::move(waiting)), 0);
  EXPECT_EQ(runtime_->run(signals->next(&cancel)), 0);
  ::raise(SIGUSR1);
  EXPECT_EQ(runtime_->run(signals->next(nullptr)), SIGUSR1);
}

}  // namespace
}  // namespace bellwether::runtime
