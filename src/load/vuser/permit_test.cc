// Engines whose permit ends while they work, or whose parts others run from then on.
#include <gtest/gtest.h>
#include <optional>
#include <utility>

#include "core/runtime/scope.h"
#include "core/runtime/stream_testing.h"
#include "load/plan/load.h"
#include "load/plan/schedule.h"
#include "load/vuser/engine.h"

namespace bellwether::vuser {
namespace {

using http1::ErrorKind;
using runtime::task;

class Sum final : public WindowSink {
 public:
  metrics::Window* exchange(metrics::Window* full, bool last) override {
    if (last) last_second = full->second;
    all.merge(*full);
    full->clear();
    return full;
  }
  void abort_run(std::string_view) override { aborted = true; }
  void note(std::string_view, std::string_view) override {}
  void timed_out(uint16_t) override {}
  metrics::Window all{{1, 1, 0}};
  uint64_t last_second = 0;
  bool aborted = false;
};

class EnginePermit : public testing::Test {
 protected:
  EnginePermit() {
    auto listener = runtime_->listen({runtime::IpAddress::loopback(), 0}, {});
    check(listener.has_value(), "the loopback interface has ports");
    listener_ = std::move(*listener);
    serving_.spawn(accept_all());
  }
  ~EnginePermit() override { serving_.cancel(); }  // the scope destroys what has not ended

  task<void> accept_all() {
    while (true) {
      auto stream = co_await listener_->accept(serving_.cancellation());
      if (!stream) co_return;
      serving_.spawn(serve(std::move(*stream)));
    }
  }
  task<void> serve(std::unique_ptr<runtime::Stream> stream) {
    for (std::string head; true;) {
      const runtime::Received got = co_await runtime::receive(*stream, 1);
      if (got.bytes.empty()) co_return;
      head += got.bytes;
      if (!head.ends_with("\r\n\r\n")) continue;
      head.clear();
      if (++requests_ > answered_ && handed_over_ == INT64_MAX) continue;
      co_await runtime::send_all(*stream, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      if (requests_ == answered_) let_it_end();
    }
  }
  // Within the turn of the loop in which the client's next one is due: it sees its answer before the time.
  void let_it_end() {
    if (hands_over_) {
      handed_over_ = (runtime_->read_clock() - start_ + *hands_over_).ns();
    } else {
      until_ = runtime_->boot_now().ns();
    }
    ended_at_ = runtime_->read_clock();
    const Instant later = runtime_->boot_now() + asleep_;
    while (runtime_->boot_now() < later) {
    }
  }
  // The permit ends when the target has these requests, and the engine has counted the answers.
  task<void> end_permit(const Engine* engine) {
    while (requests_ < ends_after_ || engine->tally().iterations < std::min(ends_after_, answered_)) {
      co_await runtime_->sleep(Duration::millis(1));
    }
    co_await runtime_->sleep(Duration::millis(1));  // the engine does what follows the answers
    until_ = runtime_->boot_now().ns();
  }
  task<void> let_it_be_over(Permit* permit) {
    while (requests_ < 2) co_await runtime_->sleep(Duration::millis(1));
    permit->over = true;
  }
  // The order to hand over arrives when the engine has gone on.
  task<void> hand_over(Engine* engine) {
    while (handed_over_ == INT64_MAX) co_await runtime_->sleep(Duration::millis(1));
    co_await runtime_->sleep(Duration::millis(50));
    engine->hand_over(Duration::nanos(handed_over_));
  }
  // All that was sent has arrived: each connection has been closed, and its end has been read.
  task<void> read_all() {
    while (serving_.running() > 1) co_await runtime_->sleep(Duration::millis(1));
  }
  void live(uint32_t vus, bool over_elsewhere = false) {
    make_load(vus, over_elsewhere);
    runtime_->run(read_all());
  }
  void make_load(uint32_t vus, bool over_elsewhere) {
    const std::string url = "http://" + listener_->local().to_string() + "/";
    auto plan = plan::make_plan(
        plan::QuickRun{.url = url, .vus = vus, .duration = Duration::hours(1), .rate_per_s = rate_per_s_});
    check(plan.has_value(), "the test's URL is right");
    plan->workflows[0].steps[0].on_error = plan::OnError::kAbort;
    metrics::Window window({1, 1, 0});
    Permit permit{until_, handed_over_};
    Engine engine(*runtime_, *plan, {}, sum_, &window, nullptr, {}, &permit);
    ASSERT_TRUE(engine.prepare());
    runtime::Scope beside;
    if (over_elsewhere) beside.spawn(let_it_be_over(&permit));
    if (hands_over_) beside.spawn(hand_over(&engine));
    if (ends_after_ > 0) beside.spawn(end_permit(&engine));
    start_ = runtime_->read_clock();
    runtime_->run(engine.run(start_));
    lived_ = engine.ended() - start_;
    served_all_ = engine.served_all();
    EXPECT_EQ(permit.over, !hands_over_);
    EXPECT_FALSE(sum_.aborted) << "the target is not to blame";
    EXPECT_EQ(step().failed, hands_over_ ? interrupted() : 0u);
  }
  void hand_arrivals_over(Duration after) {
    hands_over_ = after;
    answered_ = 20;
    rate_per_s_ = 1000;
    asleep_ = Duration::millis(300);
    live(4);
    const plan::ArrivalSchedule schedule({{1000, 1000, Duration::hours(1)}}, 0, 1);
    EXPECT_EQ(sum_.all.workflows[0].scheduled, schedule.due_before(Duration::nanos(handed_over_)));
  }
  // Of one user. The look that the engine takes each second may find the end before the next request does.
  void expect_that_the_21st_found_the_end() {
    const bool looked = runtime_->read_clock() - start_ >= Duration::seconds(1);
    EXPECT_EQ(requests_, 20u);
    if (!looked) EXPECT_EQ(interrupted(), 1u) << "the one that found the end";
    EXPECT_LE(interrupted(), 1u);
    EXPECT_EQ(sum_.all.workflows[0].iterations, 19 + interrupted());
  }
  const metrics::StepWindow& step() const { return sum_.all.steps[0]; }
  uint64_t interrupted() const { return step().errors[static_cast<std::size_t>(ErrorKind::kInterrupted)]; }

  std::unique_ptr<runtime::EpollRuntime> runtime_ = runtime::test_runtime();
  std::unique_ptr<runtime::Listener> listener_;
  std::atomic<int64_t> until_{INT64_MAX};
  std::atomic<int64_t> handed_over_{INT64_MAX};
  std::optional<Duration> hands_over_;  // so long after the last answer, in place of the end of the permit
  uint64_t requests_ = 0;
  uint64_t answered_ = 0;    // the first of them
  uint64_t ends_after_ = 0;  // requests, if more than 0
  std::optional<double> rate_per_s_;
  Duration asleep_ = Duration::millis(3);  // after the end: longer than the engine may rely on its last look
  Instant start_;
  Instant ended_at_;
  Duration lived_;  // as the engine says
  bool served_all_ = false;
  Sum sum_;
  runtime::Scope serving_;
};

TEST_F(EnginePermit, that_has_ended_lets_no_request_begin) {
  answered_ = 20;
  live(1);
  expect_that_the_21st_found_the_end();
  EXPECT_EQ(step().status.of(200), 20u);
  EXPECT_EQ(sum_.all.workflows[0].interrupted, 1u);
}

TEST_F(EnginePermit, that_has_ended_leaves_the_arrivals_of_a_sleep_to_others) {
  answered_ = 20;
  rate_per_s_ = 1000;
  asleep_ = Duration::millis(300);
  live(4);
  const plan::ArrivalSchedule schedule({{1000, 1000, Duration::hours(1)}}, 0, 1);
  EXPECT_EQ(sum_.all.workflows[0].scheduled, schedule.due_before(lived_)) << "each that was due before the end it says";
  EXPECT_LE(lived_, ended_at_ - start_ + Duration::millis(2)) << "the sleep is no part of its life";
  EXPECT_LE(step().count, requests_ + 4) << "one of each user may have found the end";
  EXPECT_FALSE(served_all_);
}

// One arrival in an hour, which has its answer or waits for it.
TEST_F(EnginePermit, that_ends_after_the_last_arrival_has_ended_leaves_nothing_to_others) {
  rate_per_s_ = 1.0 / 3600;
  ends_after_ = 1;
  for (const bool is_answered : {true, false}) {
    requests_ = 0;
    answered_ = is_answered ? 2 : 0;
    until_ = INT64_MAX;
    live(1);
    EXPECT_EQ(requests_, 1u);
    EXPECT_EQ(served_all_, is_answered);
  }
}

TEST_F(EnginePermit, that_has_ended_leaves_the_time_of_a_sleep_to_others) {
  answered_ = 20;
  asleep_ = Duration::millis(300);
  live(1);
  EXPECT_LE(lived_, ended_at_ - start_ + Duration::millis(2));
}

TEST_F(EnginePermit, that_has_ended_leaves_the_seconds_of_a_sleep_to_others) {
  answered_ = 20;
  asleep_ = Duration::millis(2100);
  live(1);
  EXPECT_LE(sum_.last_second, static_cast<uint64_t>(lived_ / Duration::seconds(1)));
}

TEST_F(EnginePermit, leaves_the_arrivals_to_others_that_they_run_since_a_time_in_a_sleep) {
  hand_arrivals_over(Duration::millis(100));
}

TEST_F(EnginePermit, leaves_the_arrivals_to_others_that_they_run_since_a_sleep_began) {
  hand_arrivals_over(Duration::zero());
}

TEST_F(EnginePermit, leaves_the_users_to_others_that_they_run_since_a_time_in_a_sleep) {
  hands_over_ = Duration::millis(100);
  answered_ = 20;
  asleep_ = Duration::millis(300);
  live(1);
  expect_that_the_21st_found_the_end();
}

TEST_F(EnginePermit, that_ends_cuts_off_what_is_in_flight) {
  ends_after_ = 2;
  live(2);
  EXPECT_GE(runtime_->boot_now().ns(), until_);
  EXPECT_EQ(requests_, 2u);
  EXPECT_EQ(step().count, 2u);
  EXPECT_EQ(interrupted(), 2u);
}

TEST_F(EnginePermit, that_is_over_for_another_engine_ends_although_it_was_renewed) {
  live(2, /*over_elsewhere=*/true);
  EXPECT_EQ(requests_, 2u);
}

TEST_F(EnginePermit, that_has_ended_before_lets_nothing_begin) {
  until_ = runtime_->boot_now().ns();
  live(2);
  EXPECT_EQ(sum_.all.workflows[0].iterations + sum_.all.workflows[0].interrupted, 0u);
}

}  // namespace
}  // namespace bellwether::vuser
