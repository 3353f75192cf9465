#include <gmock/gmock.h>

#include "target/routes.h"

namespace bellwether::target {
namespace {

Instant at(int64_t ms) { return Instant::from_ns(ms * 1'000'000); }

TEST(Faults, a_stall_is_the_last_part_of_each_period) {
  const FaultOptions options{.stall_every = Duration::seconds(10), .stall_for = Duration::seconds(1)};
  const Instant start = at(500);
  EXPECT_EQ(after_stall(options, start, at(500)), at(500));
  EXPECT_EQ(after_stall(options, start, at(9'499)), at(9'499));
  EXPECT_EQ(after_stall(options, start, at(9'500)), at(10'500));
  EXPECT_EQ(after_stall(options, start, at(10'499)), at(10'500));
  EXPECT_EQ(after_stall(options, start, at(10'500)), at(10'500));
  EXPECT_EQ(after_stall(options, start, at(29'700)), at(30'500));
}

TEST(Faults, latency_stays_in_its_range_and_may_end_in_a_stall) {
  Prng prng(1);
  const Faults faults({.latency_low = Duration::millis(5), .latency_high = Duration::millis(20)}, at(0));
  for (int i = 0; i < 1000; ++i) {
    const Instant answer = faults.answer_at(at(100), prng);
    EXPECT_GE(answer, at(105));
    EXPECT_LE(answer, at(120));
  }
  const Faults both({.latency_low = Duration::millis(50),
                     .latency_high = Duration::millis(50),
                     .stall_every = Duration::seconds(1),
                     .stall_for = Duration::millis(100)},
                    at(0));
  EXPECT_EQ(both.answer_at(at(880), prng), at(1000));
}

TEST(Faults, errors_come_at_their_rate) {
  Prng prng(1);
  const Faults faults({.error_rate = 0.25}, at(0));
  int failed = 0;
  for (int i = 0; i < 10'000; ++i) failed += faults.fails(prng) ? 1 : 0;
  EXPECT_NEAR(failed, 2500, 200);
  EXPECT_EQ(faults.answer_at(at(7), prng), at(7));
}

TEST(Faults, without_options_nothing_is_wrong) { EXPECT_FALSE(Faults({}, at(0)).any()); }

}  // namespace
}  // namespace bellwether::target
