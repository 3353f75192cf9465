#include "election/budget.h"

#include <gtest/gtest.h>

#include "core/base/prng.h"
#include "election/elector.h"

namespace bellwether::election {
namespace {

BudgetInput loop(int64_t poll_s, int64_t lease_s, std::string_view scheme = "redis") {
  return {.mechanism = mechanism_of(scheme),
          .poll = Duration::seconds(poll_s),
          .lease = Duration::seconds(lease_s),
          .renew_every = Duration::zero()};
}

TEST(Budget, a_crash_costs_a_poll_and_the_lease_as_a_slow_clock_shows_it) {
  const FailoverBudget budget = budget_of(loop(30, 60));
  EXPECT_EQ(budget.crash_worst.formula(), "poll + store + TTL x 1.01 + poll / 16 + 2 x store");
  EXPECT_EQ(budget.crash_worst.arithmetic(), "30s + 0.05s + 60.6s + 1.875s + 0.1s = 92.625s");
  EXPECT_EQ(budget.crash_worst.total, Duration::millis(92'625));
  EXPECT_FALSE(budget.hang_worst);
}

TEST(Budget, renewals_win_back_half_of_their_interval_in_the_typical_case) {
  BudgetInput input = loop(30, 60);
  const Duration without = budget_of(input).crash_typical.total;
  input.renew_every = Duration::seconds(20);
  const FailoverBudget with = budget_of(input);
  EXPECT_EQ(without - with.crash_typical.total, Duration::seconds(10));
  EXPECT_EQ(with.crash_worst.total, budget_of(loop(30, 60)).crash_worst.total);
  EXPECT_EQ(with.crash_typical.arithmetic(), "15s + 0.05s + 60.6s + 0.937s - 10s + 0.1s = 66.687s");
}

TEST(Budget, a_key_that_is_given_back_is_found_at_the_next_poll_and_one_that_is_not_costs_its_lease) {
  BudgetInput input = loop(5, 30);
  EXPECT_EQ(budget_of(input).release_worst.total, Duration::millis(5100));
  EXPECT_EQ(budget_of(input).release_typical.total, Duration::millis(2600));
  input.gives_back = false;
  EXPECT_EQ(budget_of(input).release_worst.total, budget_of(input).crash_worst.total);
}

TEST(Budget, a_host_lock_tells_a_crash_at_the_next_look_and_a_hang_costs_the_lease) {
  const FailoverBudget budget = budget_of(loop(5, 10, "flock"));
  EXPECT_EQ(budget.crash_worst.formula(), "poll + 2 x store");
  ASSERT_TRUE(budget.hang_worst);
  EXPECT_GT(budget.hang_worst->total, Duration::seconds(15));
}

TEST(Budget, etcd_counts_whole_seconds_and_at_least_two) {
  BudgetInput input = loop(1, 1, "etcd");
  EXPECT_EQ(budget_of(input).crash_worst.arithmetic(), "2s + 1s + 1s + 0.1s = 4.1s");
  input.lease = Duration::millis(4001);
  EXPECT_EQ(budget_of(input).crash_worst.parts.front().span, Duration::seconds(5));
}

// What the formula promises is compared with the rule that candidates really follow, over all moments at which a
// holder may die and a candidate may look.
TEST(Budget, no_candidate_that_follows_the_claim_rule_needs_longer_than_the_worst_case) {
  Prng prng(7);
  const BudgetInput input{.mechanism = mechanism_of("redis"),
                          .poll = Duration::seconds(5),
                          .lease = Duration::seconds(10),
                          .renew_every = Duration::seconds(3),
                          .operation = Duration::zero()};
  LeaseTiming timing = LeaseTiming::of(input.lease);
  timing.retry = input.poll;
  Duration longest;
  for (int round = 0; round < 20'000; ++round) {
    ClaimRule rule({.holder = "b"}, timing, false);
    const Instant last_renewal = Instant() + prng.between(Duration::seconds(20), Duration::seconds(40));
    Observation seen{.present = true};
    seen.record = {.holder = "a", .token = "t", .epoch = Epoch(1), .lease = input.lease};
    for (Instant now;;) {
      seen.version = now >= last_renewal ? "last" : std::to_string(now.ns() / input.renew_every.ns());
      const Verdict verdict = rule.assess(now, seen, "ours", Epoch(1));
      if (verdict.kind == Verdict::Kind::kFree) {
        longest = std::max(longest, now - last_renewal);
        break;
      }
      const Duration wait = prng.between(input.poll * 4 / 5, input.poll);
      const Instant spread = verdict.free_at + (wait - wait * 3 / 4) / 4;
      now = std::min(now + wait, verdict.free_at < now + wait ? spread : Instant::never());
    }
  }
  const Duration promised = budget_of(input).crash_worst.total;
  EXPECT_LE(longest, promised);
  EXPECT_GT(longest, promised - input.poll / 5) << "the promise is far from what happens";
}

TEST(Budget, a_suggestion_keeps_the_promise_and_is_the_longest_that_does) {
  for (const char* scheme : {"redis", "etcd", "file"}) {
    for (const int64_t seconds : {8, 15, 60, 90, 600}) {
      const BudgetInput like = loop(30, 60, scheme);
      const Duration promised = Duration::seconds(seconds);
      const auto found = suggest(like, {promised}, 2);
      ASSERT_TRUE(found) << scheme << seconds;
      BudgetInput tried = like;
      tried.poll = found->poll;
      tried.lease = found->lease;
      EXPECT_LE(budget_of(tried).crash_worst.total, promised) << scheme << seconds;
      EXPECT_GE(budget_of(tried).crash_worst.total, promised * 3 / 4) << scheme << seconds;
      EXPECT_GE(found->lease, found->poll * 2);
      EXPECT_EQ(found->renew_every, found->lease / 3);
    }
  }
}

TEST(Budget, a_window_between_ticks_leaves_room_for_the_poll_before_the_crash) {
  BudgetInput tried = loop(30, 60);
  const Promise promise{Duration::minutes(2), true};
  const auto found = suggest(tried, promise, 2);
  ASSERT_TRUE(found);
  tried.poll = found->poll;
  tried.lease = found->lease;
  EXPECT_EQ(worst_of(tried, true), worst_of(tried, false) + tried.poll);
  EXPECT_LE(worst_of(tried, true), promise.longest);
  EXPECT_GT(worst_of(tried, true), promise.longest * 9 / 10);
}

TEST(Budget, what_no_values_can_keep_has_no_suggestion) {
  EXPECT_FALSE(suggest(loop(5, 10, "etcd"), {Duration::seconds(3)}, 2));
  EXPECT_FALSE(suggest(loop(5, 10), {Duration::millis(150)}, 2)) << "three operations alone take that long";
  EXPECT_TRUE(suggest(loop(5, 10), {Duration::millis(400)}, 2));
}

TEST(Budget, back_off_is_told_by_the_number_of_elections_before) {
  const BackoffSettings backoff;
  EXPECT_EQ(backoff_worst(backoff, 0), Duration::zero());
  EXPECT_EQ(backoff_worst(backoff, 1), Duration::seconds(10));
  EXPECT_EQ(backoff_worst(backoff, 5), Duration::seconds(30));
}

}  // namespace
}  // namespace bellwether::election
