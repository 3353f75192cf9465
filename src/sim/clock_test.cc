#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/node.h"

namespace bellwether::sim {
namespace {

Instant at(Duration since_start) { return Instant() + since_start; }

constexpr Clock::Start kStart{Instant::from_ns(5'000'000'000), Duration::seconds(100), {1'000'000'000'000}};

TEST(Clock, starts_where_it_is_told) {
  const Clock clock(at(Duration::seconds(9)), kStart, 0);
  EXPECT_EQ(clock.monotonic(at(Duration::seconds(9))), kStart.monotonic);
  EXPECT_EQ(clock.boot(at(Duration::seconds(9))), kStart.monotonic + Duration::seconds(100));
  EXPECT_EQ(clock.wall(at(Duration::seconds(9))), kStart.wall);
}

TEST(Clock, drift_is_gained_second_by_second) {
  const Clock fast(at(Duration::zero()), kStart, 200);
  EXPECT_EQ(fast.monotonic(at(Duration::seconds(1000))) - kStart.monotonic,
            Duration::seconds(1000) + Duration::millis(200));
}

TEST(Clock, a_new_drift_counts_from_now_on) {
  Clock clock(at(Duration::zero()), kStart, 0);
  clock.set_drift(at(Duration::seconds(10)), -100'000);
  EXPECT_EQ(clock.monotonic(at(Duration::seconds(20))) - kStart.monotonic, Duration::seconds(19));
}

TEST(Clock, setting_the_wall_clock_moves_no_other) {
  Clock clock(at(Duration::zero()), kStart, 0);
  clock.step_wall(-Duration::hours(1));
  EXPECT_EQ(clock.wall(at(Duration::zero())).unix_ns, kStart.wall.unix_ns - Duration::hours(1).ns());
  EXPECT_EQ(clock.monotonic(at(Duration::zero())), kStart.monotonic);
  EXPECT_EQ(clock.boot(at(Duration::zero())), kStart.monotonic + kStart.boot_ahead);
}

TEST(Clock, sleeping_moves_the_boot_clock_only) {
  Clock clock(at(Duration::zero()), kStart, 0);
  clock.step_boot(Duration::hours(2));
  EXPECT_EQ(clock.boot(at(Duration::zero())) - clock.monotonic(at(Duration::zero())),
            kStart.boot_ahead + Duration::hours(2));
}

RC_GTEST_PROP(Clock, world_at_is_the_first_time_that_shows_it, ()) {
  const auto drift = *rc::gen::inRange<int64_t>(-900'000, 900'000);
  const auto ahead = *rc::gen::inRange<int64_t>(0, 1'000'000'000'000);
  const Clock clock(at(Duration::seconds(3)), kStart, drift);
  const Instant local = kStart.monotonic + Duration::nanos(ahead);
  const Instant world = clock.world_at(local);
  RC_ASSERT(clock.monotonic(world) >= local);
  RC_ASSERT(ahead == 0 || clock.monotonic(world - Duration::nanos(1)) < local);
}

TEST(Clock, never_is_never) {
  const Clock clock(at(Duration::zero()), kStart, 5);
  EXPECT_EQ(clock.world_at(Instant::never()), Instant::never());
}

}  // namespace
}  // namespace bellwether::sim
