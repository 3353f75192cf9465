#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/base/time_testing.h"
#include "core/resilience/request_limiter.h"

namespace bellwether::resilience {
namespace {

TEST(TokenBucket, a_burst_and_then_the_rate) {
  TokenBucket bucket(20, 5);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(bucket.take(at_ms(1'000))) << i;
  EXPECT_FALSE(bucket.take(at_ms(1'000)));
  EXPECT_EQ(bucket.ready(at_ms(1'000)), at_ms(1'050));
  EXPECT_FALSE(bucket.take(at_ms(1'049)));
  EXPECT_TRUE(bucket.take(at_ms(1'050)));
  EXPECT_FALSE(bucket.take(at_ms(1'050)));
}

TEST(TokenBucket, a_long_pause_gives_no_more_than_the_burst) {
  TokenBucket bucket(20, 5);
  ASSERT_TRUE(bucket.take(at_ms(0)));
  int taken = 0;
  while (bucket.take(at_ms(3'600'000))) ++taken;
  EXPECT_EQ(taken, 5);
}

RC_GTEST_PROP(TokenBucket, in_any_time_no_more_than_burst_and_rate_and_never_less_when_asked_for, ()) {
  const auto rate = *rc::gen::inRange(1, 100);
  const auto burst = *rc::gen::inRange(1, 10);
  TokenBucket bucket(rate, burst);
  Instant now = at_ms(*rc::gen::inRange(0, 1'000'000));
  const Instant begin = now;
  int taken = 0;
  for (const int step : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 200))) {
    now = now + Duration::millis(step);
    if (bucket.take(now)) ++taken;
    RC_ASSERT(taken <= burst + (now - begin).seconds_f() * rate + 1e-3);
    const Instant ready = bucket.ready(now);
    RC_ASSERT(ready >= now);
    if (step % 3 != 0) continue;
    now = ready;
    RC_ASSERT(bucket.take(now));
    ++taken;
  }
}

}  // namespace
}  // namespace bellwether::resilience
