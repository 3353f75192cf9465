#include <algorithm>
#include <gmock/gmock.h>
#include <memory>
#include <rapidcheck/gtest.h>

#include "core/runtime/timers.h"

namespace bellwether::runtime {
namespace {

using testing::ElementsAre;

Instant at(int64_t ns) { return Instant::from_ns(ns); }

// Notes when it fires.
struct Alarm {
  Alarm(std::vector<int>& log, int name) : log_(log), name_(name) {}
  static void fire(void* self) { static_cast<Alarm*>(self)->log_.push_back(static_cast<Alarm*>(self)->name_); }
  std::vector<int>& log_;
  int name_;
  BootTimer timer{&Alarm::fire, this};
};

TEST(BootTimers, what_is_due_fires_in_order_and_once) {
  std::vector<int> log;
  BootTimers timers;
  Alarm late(log, 3);
  Alarm early(log, 1);
  Alarm middle(log, 2);
  timers.arm(late.timer, at(30));
  timers.arm(early.timer, at(10));
  timers.arm(middle.timer, at(20));
  EXPECT_EQ(timers.next_deadline(), at(10));
  timers.advance(at(9));
  EXPECT_THAT(log, ElementsAre());
  timers.advance(at(20));
  EXPECT_THAT(log, ElementsAre(1, 2));
  EXPECT_FALSE(early.timer.armed());
  EXPECT_EQ(timers.next_deadline(), at(30));
  timers.advance(at(1000));
  timers.advance(at(2000));
  EXPECT_THAT(log, ElementsAre(1, 2, 3));
  EXPECT_EQ(timers.next_deadline(), Instant::never());
}

TEST(BootTimers, one_for_never_never_fires) {
  std::vector<int> log;
  BootTimers timers;
  Alarm alarm(log, 1);
  timers.arm(alarm.timer, Instant::never());
  timers.advance(at(INT64_MAX - 1));
  EXPECT_THAT(log, ElementsAre());
  EXPECT_TRUE(alarm.timer.armed());
}

TEST(BootTimers, one_that_fires_may_destroy_others_that_are_due) {
  std::vector<int> log;
  BootTimers timers;
  auto victim = std::make_unique<Alarm>(log, 1);
  BootTimer killer([](void* which) { static_cast<std::unique_ptr<Alarm>*>(which)->reset(); }, &victim);
  timers.arm(killer, at(10));
  timers.arm(victim->timer, at(11));
  timers.advance(at(20));
  EXPECT_EQ(victim, nullptr);
  EXPECT_THAT(log, ElementsAre());
  EXPECT_EQ(timers.size(), 0u);
}

RC_GTEST_PROP(BootTimers, whatever_is_disarmed_the_rest_fires_in_order, ()) {
  const auto deadlines = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 50));
  std::vector<int> log;
  BootTimers timers;
  std::vector<std::unique_ptr<Alarm>> alarms;
  std::vector<int> expected;
  for (const int deadline : deadlines) {
    alarms.push_back(std::make_unique<Alarm>(log, deadline));
    timers.arm(alarms.back()->timer, at(deadline));
  }
  for (const auto& alarm : alarms) {
    if (*rc::gen::inRange(0, 3) == 0) {
      alarm->timer.disarm();
    } else {
      expected.push_back(alarm->name_);
    }
  }
  std::sort(expected.begin(), expected.end());
  RC_ASSERT(timers.next_deadline() == (expected.empty() ? Instant::never() : at(expected.front())));
  timers.advance(at(100));
  RC_ASSERT(log == expected);
}

}  // namespace
}  // namespace bellwether::runtime
