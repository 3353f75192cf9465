#include <gtest/gtest.h>
#include <limits>
#include <list>
#include <rapidcheck/gtest.h>

#include "core/runtime/timers.h"

namespace bellwether::runtime {
namespace {

constexpr int64_t kTick = int64_t{1} << 14;

Instant timer_wheel_at(int64_t ns) { return Instant::from_ns(ns); }

// A timer that writes down its number when it fires.
struct Recorder {
  Recorder(int n, std::vector<int>& fired) : number(n), log(&fired) {}
  static void fire(void* self) {
    auto* recorder = static_cast<Recorder*>(self);
    recorder->log->push_back(recorder->number);
  }
  int number;
  std::vector<int>* log;
  Timer timer{&Recorder::fire, this};
};

TEST(TimerWheel, fires_at_its_deadline_and_not_a_nanosecond_before) {
  TimerWheel wheel(timer_wheel_at(1'000'000));
  std::vector<int> fired;
  Recorder timer(1, fired);
  wheel.arm(timer.timer, timer_wheel_at(1'234'567));
  EXPECT_EQ(wheel.advance(timer_wheel_at(1'234'566)), 0u);
  EXPECT_TRUE(timer.timer.armed());
  EXPECT_EQ(wheel.advance(timer_wheel_at(1'234'567)), 1u);
  EXPECT_FALSE(timer.timer.armed());
  EXPECT_EQ(wheel.size(), 0u);
}

TEST(TimerWheel, a_deadline_in_the_past_fires_in_the_next_call) {
  TimerWheel wheel(timer_wheel_at(50'000'000));
  std::vector<int> fired;
  Recorder past(1, fired);
  Recorder long_past(2, fired);
  wheel.arm(past.timer, timer_wheel_at(3));
  wheel.arm(long_past.timer, timer_wheel_at(-5));
  EXPECT_LE(wheel.next_deadline(), timer_wheel_at(50'000'000));
  EXPECT_EQ(wheel.advance(timer_wheel_at(50'000'000)), 2u);
}

struct TimerWheelTest : testing::Test {
  TimerWheel wheel;
  std::vector<int> fired;
};

TEST_F(TimerWheelTest, fires_in_the_order_of_deadlines_over_all_levels) {
  std::list<Recorder> timers;
  for (const int number : {7, 2, 9, 0, 4, 1, 8, 3, 6, 5}) {
    wheel.arm(timers.emplace_back(number, fired).timer, timer_wheel_at(kTick << (4 * number)));
  }
  wheel.advance(timer_wheel_at(kTick << 40));
  EXPECT_EQ(fired, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_F(TimerWheelTest, a_timer_armed_again_moves) {
  Recorder timer(1, fired);
  wheel.arm(timer.timer, timer_wheel_at(5 * kTick));
  wheel.arm(timer.timer, timer_wheel_at(5000 * kTick));
  EXPECT_EQ(wheel.size(), 1u);
  EXPECT_EQ(wheel.advance(timer_wheel_at(4999 * kTick)), 0u);
  EXPECT_EQ(wheel.advance(timer_wheel_at(5000 * kTick)), 1u);
}

TEST_F(TimerWheelTest, a_timer_armed_while_timers_fire_waits_for_the_next_call) {
  struct Again {
    TimerWheel& wheel;
    int count = 0;
    Timer timer{[](void* self) {
                  auto* again = static_cast<Again*>(self);
                  ++again->count;
                  again->wheel.arm(again->timer, Instant());
                },
                this};
  } again{wheel};
  wheel.arm(again.timer, timer_wheel_at(kTick));
  for (int call = 1; call <= 3; ++call) {
    EXPECT_EQ(wheel.advance(timer_wheel_at(2 * kTick)), 1u);
    EXPECT_EQ(again.count, call);
  }
}

TEST_F(TimerWheelTest, what_fires_may_disarm_others_that_are_due) {
  Recorder second(2, fired);
  Recorder third(3, fired);
  struct Canceller {
    Recorder &one, &other;
    Timer timer{[](void* self) {
                  static_cast<Canceller*>(self)->one.timer.disarm();
                  static_cast<Canceller*>(self)->other.timer.disarm();
                },
                this};
  } first{second, third};
  wheel.arm(first.timer, timer_wheel_at(1 * kTick));
  wheel.arm(second.timer, timer_wheel_at(2 * kTick));
  wheel.arm(third.timer, timer_wheel_at(900 * kTick));
  EXPECT_EQ(wheel.advance(timer_wheel_at(1000 * kTick)), 1u);
  EXPECT_TRUE(fired.empty());
  EXPECT_EQ(wheel.size(), 0u);
}

TEST_F(TimerWheelTest, a_timer_may_destroy_itself_and_others_when_it_fires) {
  struct Owner {
    std::optional<Timer> self;
    std::optional<Timer> other;
  } owner;
  owner.self.emplace(
      [](void* context) {
        static_cast<Owner*>(context)->self.reset();
        static_cast<Owner*>(context)->other.reset();
      },
      &owner);
  owner.other.emplace([](void*) { FAIL() << "it was destroyed"; }, nullptr);
  wheel.arm(*owner.self, timer_wheel_at(kTick));
  wheel.arm(*owner.other, timer_wheel_at(2 * kTick));
  EXPECT_EQ(wheel.advance(timer_wheel_at(3 * kTick)), 1u);
  EXPECT_EQ(wheel.size(), 0u);
}

TEST(TimerWheel, without_timers_there_is_no_next_deadline) {
  TimerWheel wheel(timer_wheel_at(123));
  EXPECT_EQ(wheel.next_deadline(), Instant::never());
}

TEST_F(TimerWheelTest, a_timer_for_never_does_not_fire_in_a_century) {
  Recorder timer(1, fired);
  wheel.arm(timer.timer, Instant::never());
  EXPECT_EQ(wheel.advance(Instant() + Duration::hours(24 * 365 * 100)), 0u);
  EXPECT_TRUE(timer.timer.armed());
}

TEST(TimerWheel, waking_at_next_deadline_reaches_a_far_timer_in_a_few_steps) {
  TimerWheel wheel(timer_wheel_at(987'654'321));
  std::vector<int> fired;
  Recorder timer(1, fired);
  const Instant deadline = timer_wheel_at(987'654'321) + Duration::hours(24 * 365);
  wheel.arm(timer.timer, deadline);
  int steps = 0;
  while (timer.timer.armed()) {
    ASSERT_LE(++steps, 10) << "once a level";
    const Instant next = wheel.next_deadline();
    ASSERT_LE(next, deadline);
    wheel.advance(next);
  }
  EXPECT_EQ(fired.size(), 1u);
}

// What a wheel must do, by searching all timers.
struct Model {
  struct Armed {
    int64_t deadline;
    int64_t armed_at;  // a deadline in the past counts from here
  };
  std::map<int, Armed> armed;
  int64_t now = 0;

  std::vector<int> advance(int64_t to) {
    now = to;
    std::vector<int> due;
    for (const auto& [number, timer] : armed) {
      if (timer.deadline <= now) due.push_back(number);
    }
    return due;
  }
  int64_t tick(int number) const { return std::max(armed.at(number).deadline, armed.at(number).armed_at) / kTick; }
};

int64_t any_span() {
  const int bits = *rc::gen::inRange(0, 50);
  return *rc::gen::inRange<int64_t>(0, (int64_t{1} << bits) + 1);
}

void advance_both(TimerWheel& wheel, Model& model, int64_t to, std::vector<int>& fired) {
  fired.clear();
  wheel.advance(timer_wheel_at(to));
  std::vector<int> due = model.advance(to);
  for (std::size_t i = 1; i < fired.size(); ++i) RC_ASSERT(model.tick(fired[i - 1]) <= model.tick(fired[i]));
  std::vector<int> sorted = fired;
  std::sort(sorted.begin(), sorted.end());
  RC_ASSERT(sorted == due);
  for (const int number : due) model.armed.erase(number);
}

RC_GTEST_PROP(TimerWheel, behaves_like_a_sorted_list_of_deadlines, ()) {
  Model model;
  model.now = any_span();
  TimerWheel wheel(timer_wheel_at(model.now));
  std::vector<int> fired;
  std::list<Recorder> timers;
  for (int number = 0; number < 12; ++number) timers.emplace_back(number, fired);

  const int steps = *rc::gen::inRange(1, 120);
  for (int step = 0; step < steps; ++step) {
    auto timer = std::next(timers.begin(), *rc::gen::inRange(0, 12));
    switch (*rc::gen::inRange(0, 5)) {
      case 0:
      case 1: {
        const int64_t deadline = std::max<int64_t>(0, model.now + any_span() - (*rc::gen::inRange(0, 4) == 0) * kTick);
        wheel.arm(timer->timer, timer_wheel_at(deadline));
        model.armed[timer->number] = {deadline, model.now};
        break;
      }
      case 2:
        timer->timer.disarm();
        model.armed.erase(timer->number);
        break;
      case 3: advance_both(wheel, model, model.now + any_span(), fired); break;
      case 4:
        if (wheel.next_deadline() != Instant::never()) {
          advance_both(wheel, model, std::max(model.now, wheel.next_deadline().ns()), fired);
        }
        break;
    }
    RC_ASSERT(wheel.size() == model.armed.size());
    int64_t earliest = std::numeric_limits<int64_t>::max();
    for (const auto& [number, armed] : model.armed) earliest = std::min(earliest, armed.deadline);
    RC_ASSERT(wheel.next_deadline() <= timer_wheel_at(std::max(earliest, model.now)));
    RC_ASSERT((wheel.next_deadline() == Instant::never()) == model.armed.empty());
  }
}

}  // namespace
}  // namespace bellwether::runtime
