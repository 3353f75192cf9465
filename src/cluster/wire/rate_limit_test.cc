#include "cluster/wire/rate_limit.h"

#include <gtest/gtest.h>

#include "core/base/time_testing.h"

namespace bellwether::wire {
namespace {

SourceAddress v4(uint32_t address) {
  SourceAddress source{};
  source[10] = source[11] = 0xff;
  for (unsigned i = 0; i < 4; ++i) source[12 + i] = static_cast<uint8_t>(address >> (24 - 8 * i));
  return source;
}

int allowed(RateLimiter& limiter, const SourceAddress& source, Instant now, int asked) {
  int count = 0;
  for (int i = 0; i < asked; ++i) count += limiter.allow(source, now) ? 1 : 0;
  return count;
}

const RateLimits kLimits = {.per_source = 10, .burst = 20, .in_all = 1000, .burst_in_all = 100, .sources = 64};

TEST(RateLimiter, gives_a_burst_and_then_a_rate) {
  RateLimiter limiter(kLimits, 1);
  EXPECT_EQ(allowed(limiter, v4(1), at_ms(0), 100), 20);
  EXPECT_EQ(allowed(limiter, v4(1), at_ms(1000), 100), 10);
  EXPECT_EQ(allowed(limiter, v4(1), at_ms(100'000), 100), 20) << "a bucket does not overflow";
}

TEST(RateLimiter, one_source_does_not_use_up_what_another_one_has) {
  RateLimiter limiter(kLimits, 1);
  allowed(limiter, v4(1), at_ms(0), 100);
  EXPECT_TRUE(limiter.allow(v4(2), at_ms(0)));
}

TEST(RateLimiter, all_together_have_a_limit) {
  RateLimiter limiter(kLimits, 1);
  int count = 0;
  for (uint32_t i = 0; i < 1000; ++i) count += limiter.allow(v4(i), at_ms(0)) ? 1 : 0;
  EXPECT_EQ(count, 100);
}

TEST(RateLimiter, what_is_refunded_was_free) {
  RateLimiter limiter(kLimits, 1);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(limiter.allow(v4(1), at_ms(0)));
    limiter.refund(v4(1), at_ms(0));
  }
}

TEST(RateLimiter, a_drained_source_does_not_get_a_new_bucket_by_the_crowd_that_comes_with_it) {
  RateLimits limits = kLimits;
  limits.in_all = limits.burst_in_all = 1e9;
  RateLimiter limiter(limits, 1);
  EXPECT_EQ(allowed(limiter, v4(7), at_ms(0), 100), 20);
  for (uint32_t i = 100; i < 10'000; ++i) limiter.allow(v4(i), at_ms(0));
  EXPECT_EQ(allowed(limiter, v4(7), at_ms(0), 100), 0) << "fuller ones give way before it";
}

TEST(RateLimiter, addresses_of_one_network_prefix_are_one_source) {
  RateLimiter limiter(kLimits, 1);
  SourceAddress one{};
  one[0] = 0x20;
  SourceAddress other = one;
  other[15] = 9;
  EXPECT_EQ(allowed(limiter, one, at_ms(0), 15), 15);
  EXPECT_EQ(allowed(limiter, other, at_ms(0), 100), 5);
  other[7] = 1;
  EXPECT_EQ(allowed(limiter, other, at_ms(0), 100), 20);
}

TEST(RateLimiter, a_clock_that_steps_back_gives_nothing) {
  RateLimiter limiter(kLimits, 1);
  allowed(limiter, v4(1), at_ms(5000), 100);
  EXPECT_FALSE(limiter.allow(v4(1), at_ms(1000)));
}

}  // namespace
}  // namespace bellwether::wire
