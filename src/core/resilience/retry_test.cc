#include "core/resilience/retry.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "core/base/time_testing.h"

namespace bellwether::resilience {
namespace {

// The waits between attempts that all fail at once.
std::vector<Duration> waits(RetryPolicy policy, uint64_t seed, Instant deadline = Instant::never()) {
  Retry retry(policy, deadline, Prng(seed));
  std::vector<Duration> all;
  Instant now = at_ms(0);
  while (const auto next = retry.failed(now, Errc::kReset)) {
    all.push_back(*next - now);
    now = *next;
  }
  return all;
}

TEST(Retry, the_attempts_are_limited_and_the_first_is_one_of_them) {
  EXPECT_EQ(waits({3}, 1).size(), 2);
  EXPECT_EQ(waits({2}, 1).size(), 1);
  EXPECT_EQ(waits({1}, 1).size(), 0);
}

TEST(Retry, full_jitter_is_anywhere_below_a_bound_that_doubles_up_to_the_cap) {
  RetryPolicy policy{8, Duration::millis(100), Duration::seconds(1), Jitter::kFull};
  std::array<Duration, 7> most{};
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const auto all = waits(policy, seed);
    ASSERT_EQ(all.size(), 7);
    for (std::size_t i = 0; i < 7; ++i) {
      EXPECT_GE(all[i], Duration::zero());
      most[i] = std::max(most[i], all[i]);
    }
  }
  const int64_t bounds[] = {100, 200, 400, 800, 1000, 1000, 1000};
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_LE(most[i], Duration::millis(bounds[i]));
    EXPECT_GT(most[i], Duration::millis(bounds[i] * 9 / 10));
  }
}

TEST(Retry, equal_jitter_is_never_less_than_half_of_the_bound) {
  RetryPolicy policy{4, Duration::millis(100), Duration::seconds(1), Jitter::kEqual};
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const auto all = waits(policy, seed);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_GE(all[i], Duration::millis(50) * (1 << i));
      EXPECT_LE(all[i], Duration::millis(100) * (1 << i));
    }
  }
}

RC_GTEST_PROP(Retry, decorrelated_jitter_is_between_the_base_and_three_times_the_last_wait, (uint64_t seed)) {
  const RetryPolicy policy{20, Duration::millis(100), Duration::seconds(30), Jitter::kDecorrelated};
  Duration last = policy.base;
  for (const Duration wait : waits(policy, seed)) {
    RC_ASSERT(wait >= policy.base);
    RC_ASSERT(wait <= std::min(policy.cap, last * 3));
    last = wait;
  }
}

TEST(Retry, no_attempt_begins_at_the_deadline_or_later) {
  RetryPolicy policy{1000, Duration::millis(100), Duration::millis(100), Jitter::kEqual};
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Duration total;
    for (const Duration wait : waits(policy, seed, at_ms(1000))) total += wait;
    EXPECT_LT(total, Duration::seconds(1));
    EXPECT_GE(total, Duration::millis(900));
  }
}

TEST(Retry, an_answer_that_cannot_be_helped_is_not_asked_for_again) {
  for (const Errc error : {Errc::kInvalid, Errc::kTls, Errc::kProtocol, Errc::kCancelled, Errc::kUnsupported}) {
    EXPECT_FALSE(Retry(RetryPolicy{}, Instant::never(), Prng(1)).failed(at_ms(0), error));
  }
  for (const Errc error : {Errc::kRefused, Errc::kReset, Errc::kTimeout, Errc::kUnreachable, Errc::kClosed}) {
    EXPECT_TRUE(Retry(RetryPolicy{}, Instant::never(), Prng(1)).failed(at_ms(0), error));
  }
}

TEST(Retry, a_peer_that_says_how_long_is_waited_for) {
  Retry retry(RetryPolicy{}, at_ms(10'000), Prng(1));
  EXPECT_EQ(retry.failed(at_ms(0), Errc::kExhausted, Duration::seconds(5)), at_ms(5000));
  EXPECT_EQ(retry.failed(at_ms(5000), Errc::kExhausted, Duration::seconds(5)), std::nullopt) << "beyond the deadline";
  EXPECT_EQ(retry.attempts(), 2);
}

}  // namespace
}  // namespace bellwether::resilience
