#include "jobs/worker/worker_rounds.h"
#include "jobs/worker/worker_service_testing.h"
#include "sim/machine_testing.h"

namespace bellwether::node {
namespace {

using runtime::task;

// A sender that always has the same message to m1.
class LiveRoundTest : public sim::MachineTest {
 protected:
  LiveRoundTest() { running_.spawn(round_.run(running_.cancellation())); }
  void TearDown() override {
    running_.cancel();
    machine_.run(joining());
    machine_.run(w1_.close());
    machine_.run(m1_.close());
  }
  std::vector<LiveRound::JobMessage> live() {
    ++asked_;
    dispatch::LiveMessage message;
    message.assignments.push_back({"j1", dispatch::AssignmentId(1), asked_, 0, 0, 0, 1});
    return {{m1_.address(), letter, apart_}};
  }

  task<void> joining() { co_await running_.join(); }
  void say_something() {
    const uint64_t before = asked_;
    round_.changed();
    until([&] { return asked_ > before; });
  }
  task<Status> connecting() {
    dispatch::WorkerReport report;
    report.life = 1;
    std::string message = dispatch::encode(report);
    const auto answer =
        co_await w1_.links->request(m1_.address(), cluster::message_type::kDispatch, wire::Priority::kControl,
                                    std::move(message), Duration::seconds(20), nullptr);
    co_return answer ? Status{} : Status(tl::unexpected(answer.error()));
  }

  SafeIngest safe_;
  TestNode w1_{runtime_, "w1", wire::Role::kWorker, kAnyPort, kJobMessages};
  TestNode m1_{runtime_, "m1", wire::Role::kManager, kAnyPort, kJobMessages};
  FakeManager manager_{m1_, safe_};
  uint64_t asked_ = 0;
  Duration apart_;
  LiveRound round_{runtime_, *w1_.links, callback_to<&LiveRoundTest::live>(*this)};
  runtime::Scope running_;
};

TEST_F(LiveRoundTest, says_nothing_when_nothing_has_changed) {
  ASSERT_TRUE(machine_.run(connecting()));
  machine_.run_for(Duration::seconds(10));
  EXPECT_EQ(asked_, 0u);
}

TEST_F(LiveRoundTest, makes_no_connection_and_keeps_nothing_for_one) {
  say_something();
  machine_.run_for(Duration::millis(20));
  EXPECT_EQ(w1_.links->open_connections(), 0u);
  const uint64_t unheard = asked_;
  ASSERT_TRUE(machine_.run(connecting()));
  until([&] { return !manager_.lives.empty(); });
  EXPECT_GT(manager_.lives[0].assignments[0].requests, unheard) << "what is new";
}

TEST_F(LiveRoundTest, a_manager_that_is_filling_up_hears_less_and_then_the_newest) {
  ASSERT_TRUE(machine_.run(connecting()));
  say_something();
  until([&] { return manager_.lives.size() == 1; });
  apart_ = Duration::hours(1);
  say_something();
  until([&, from = asked_] { return asked_ > from + 3; });
  EXPECT_EQ(manager_.lives.size(), 1u) << "it is not time yet";
  apart_ = Duration::zero();
  until([&] { return manager_.lives.size() == 2; });
  EXPECT_EQ(manager_.lives[1].assignments[0].requests, asked_);
}

TEST_F(LiveRoundTest, waits_for_nobody_and_joins_no_queue) {
  ASSERT_TRUE(machine_.run(connecting()));
  // More than a connection takes at once, and of no use to the manager.
  const std::string large(900'000, 'x');
  for (int i = 0; i < 8; ++i)
    w1_.links->send(m1_.address(), 9'999, wire::Priority::kBulk, large, Duration::seconds(20));
  ASSERT_GT(w1_.links->connections().front()->session().queued_bytes(), 0u);
  round_.changed();
  EXPECT_EQ(asked_, 0u);
  say_something();
  EXPECT_TRUE(manager_.lives.empty());
  until([&] { return w1_.links->connections().front()->session().queued_bytes() == 0; });
  say_something();
  until([&] { return !manager_.lives.empty() && manager_.lives.back().assignments[0].requests == asked_; });
  EXPECT_GT(manager_.lives[0].assignments[0].requests, 1u) << "the newest, and only that";
}

}  // namespace
}  // namespace bellwether::node
