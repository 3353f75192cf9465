#include <gtest/gtest.h>

#include "lead/policy/policy.h"

namespace bellwether::lead {
namespace {

LoopPolicy loop_of(Duration poll, Duration ttl, Duration renew, ReleaseMode mode) {
  LoopPolicy loop;
  loop.name = "l";
  loop.lock_key = "k";
  loop.poll_interval = poll;
  loop.lock_ttl = ttl;
  loop.renew_every = renew;
  loop.release_mode = mode;
  return loop;
}

TEST(LoopTiming, follows_from_every_sheet_that_is_allowed) {
  for (const int64_t ttl_ms : {100, 1000, 5000, 60000}) {
    const Duration ttl = Duration::millis(ttl_ms);
    for (const double ratio : {0.0, 0.1, 0.33, 0.5, 0.9, 0.999}) {
      const Duration renew = Duration::nanos(static_cast<int64_t>(static_cast<double>(ttl.ns()) * ratio));
      for (const Duration poll : {ttl / 10, ttl / 2, ttl}) {
        const auto timing = timing_of(loop_of(poll, ttl, renew, ReleaseMode::kTtlHold), Duration::millis(100));
        ASSERT_TRUE(timing) << timing.error().message;
        EXPECT_TRUE(timing->renews_in_ticks == (ratio > 0));
        EXPECT_LT(timing->extend_within, timing->leading.renew_deadline);
        EXPECT_EQ(timing->waiting.retry, poll);
        if (ratio > 0) {
          EXPECT_TRUE(timing->leading.validate());
          EXPECT_LE(timing->leading.renew_every, renew);
        } else {
          EXPECT_GT(timing->leading.renew_every, ttl);
        }
      }
    }
  }
}

TEST(LoopTiming, gives_a_tick_without_renewals_most_of_the_lock) {
  const auto timing =
      timing_of(loop_of(Duration::seconds(5), Duration::seconds(10), {}, ReleaseMode::kTtlHold), Duration::zero());
  ASSERT_TRUE(timing);
  EXPECT_GT(timing->leading.renew_deadline, Duration::seconds(8));
  EXPECT_LT(timing->leading.last_act(), Duration::seconds(10));
}

TEST(LoopTiming, says_when_it_renews_more_often_than_the_sheet_wants) {
  const auto timing = timing_of(
      loop_of(Duration::seconds(5), Duration::seconds(10), Duration::millis(9900), ReleaseMode::kTtlHold), {});
  ASSERT_TRUE(timing);
  ASSERT_EQ(timing->warnings.size(), 1U);
  EXPECT_NE(timing->warnings[0].find("leaves no time"), std::string::npos);
}

TEST(LoopTiming, refuses_a_lock_that_its_store_cannot_keep) {
  const auto timing =
      timing_of(loop_of(Duration::seconds(1), Duration::seconds(1), {}, ReleaseMode::kExplicit), Duration::seconds(2));
  ASSERT_FALSE(timing);
  EXPECT_NE(timing.error().message.find("lock_ttl"), std::string::npos);
}

}  // namespace
}  // namespace bellwether::lead
