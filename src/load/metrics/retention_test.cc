#include <gtest/gtest.h>
#include <map>
#include <rapidcheck/gtest.h>

#include "core/base/prng.h"
#include "load/metrics/window.h"

namespace bellwether::metrics {
namespace {

// Intervals by their first second: where they end, their tier, and how many seconds were put into them.
struct Interval {
  uint64_t end = 0;
  Tier tier = Tier::kHot;
  uint64_t seconds = 1;
};

class Kept {
 public:
  void add(uint64_t second) {
    kept[second] = {second + 1, Tier::kHot, 1};
    for (const Fold& fold : retention.add(second)) {
      Interval sum{fold.end, fold.into, 0};
      auto it = kept.lower_bound(fold.first);
      while (it != kept.end() && it->first < fold.end) {
        EXPECT_LE(it->second.end, fold.end) << "a interval is folded whole";
        sum.seconds += it->second.seconds;
        it = kept.erase(it);
      }
      if (sum.seconds > 0) kept[fold.first] = sum;
      expect_bounded();
    }
    expect_bounded();
  }
  void expect_bounded() {
    std::array<std::size_t, kTiers> of{};
    for (const auto& [first, interval] : kept) ++of[static_cast<std::size_t>(interval.tier)];
    for (std::size_t t = 0; t < kTiers; ++t) ASSERT_LE(of[t], most_of_tiers(kHotWindows)[t]) << "tier " << t;
  }

  Retention retention;
  std::map<uint64_t, Interval> kept;
};

TEST(Retention, two_days_are_kept_in_bounded_tiers_that_are_the_whole_run) {
  Kept of;
  constexpr uint64_t kSeconds = 2 * 86'400 + 17;
  for (uint64_t second = 0; second < kSeconds; ++second) {
    of.add(second);
    if (HasFatalFailure()) return;
  }
  uint64_t end = 0;
  uint64_t seconds = 0;
  Tier last = Tier::kArchive;
  for (const auto& [first, interval] : of.kept) {
    EXPECT_EQ(first, end);
    EXPECT_LE(interval.tier, last) << "the older, the coarser";
    end = interval.end;
    last = interval.tier;
    seconds += interval.seconds;
  }
  EXPECT_EQ(end, kSeconds);
  EXPECT_EQ(seconds, kSeconds);
}

TEST(Retention, the_last_minute_and_the_last_hour_are_as_fine_as_was_said) {
  Kept of;
  for (uint64_t second = 0; second < 10'000; ++second) {
    of.add(second);
    EXPECT_GE(second + 1 - of.retention.hot_begin(), std::min<uint64_t>(second + 1, 60));
  }
  for (uint64_t second = 9'940; second < 10'000; ++second) EXPECT_EQ(of.kept.at(second).tier, Tier::kHot);
  for (const auto& [first, interval] : of.kept) {
    if (first >= 10'000 - 3'600) EXPECT_LE(interval.end - first, 10U);
  }
}

TEST(Retention, seconds_that_are_missing_do_no_harm) {
  Kept of;
  for (const uint64_t second : {0U, 5U, 6U, 300U, 301U, 9'000U}) of.add(second);
  uint64_t seconds = 0;
  for (const auto& [first, interval] : of.kept) seconds += interval.seconds;
  EXPECT_EQ(seconds, 6U);
}

// interval_of() of each second gives the same intervals as the folds of add().
RC_GTEST_PROP(Retention, both_ways_to_keep_intervals_agree, ()) {
  Prng prng(*rc::gen::arbitrary<uint64_t>());
  Kept of;
  Retention asked;
  std::vector<uint64_t> seconds;
  uint64_t second = 0;
  for (int i = 0; i < 400; ++i) {
    second += 1 + prng.below(prng.chance(0.02) ? 100'000 : 40);
    seconds.push_back(second);
    of.add(second);
    asked.reach(second);
  }
  std::map<uint64_t, uint64_t> intervals;
  for (const uint64_t one : seconds) ++intervals[asked.interval_of(one)];
  std::map<uint64_t, uint64_t> kept;
  for (const auto& [first, interval] : of.kept) kept[first] = interval.seconds;
  RC_ASSERT(intervals == kept);
}

TEST(Retention, a_second_far_ahead_costs_no_more_than_any_other) {
  Kept of;
  for (uint64_t s = 0; s < 5'000; ++s) of.add(s);
  of.add(uint64_t{1} << 40);
  ASSERT_EQ(of.kept.size(), 2U);
  EXPECT_EQ(of.kept.begin()->second.seconds, 5'000U);
}

TEST(Retention, what_was_kept_before_it_began_is_left_alone_until_it_is_archived) {
  Retention retention(kHotWindows, 17);
  for (uint64_t s = 17; s < 17 + 3'600; ++s) {
    for (const Fold& fold : retention.add(s)) EXPECT_GE(fold.first, 17U);
  }
  EXPECT_EQ(retention.interval_of(16), 16U);
  uint64_t first = UINT64_MAX;
  for (uint64_t s = 17 + 3'600; s < 17 + 100'000; ++s) {
    for (const Fold& fold : retention.add(s)) first = std::min(first, fold.first);
  }
  EXPECT_EQ(first, 0U);
}

TEST(Retention, an_interval_has_the_counts_of_both_and_the_most_users) {
  Window a({1, 1, 1});
  Window b({1, 1, 1});
  a.second = 4;
  b.second = 5;
  a.covered = b.covered = Duration::seconds(1);
  a.steps[0].count = 3;
  b.steps[0].count = 4;
  a.steps[0].service.record(Duration::millis(1));
  b.steps[0].service.record(Duration::millis(2));
  a.workflows[0].vus_active = 7;
  b.workflows[0].vus_active = 5;
  b.workflows[0].vus_allocated = 9;
  a.workflows[0].ran = Duration::millis(700);
  b.workflows[0].ran = Duration::seconds(1);
  append(a, b);
  EXPECT_EQ(a.second, 4U);
  EXPECT_EQ(a.covered, Duration::seconds(2));
  EXPECT_EQ(a.workflows[0].ran, Duration::millis(1700));
  EXPECT_EQ(a.steps[0].count, 7U);
  EXPECT_EQ(a.steps[0].service.count(), 2U);
  EXPECT_EQ(a.workflows[0].vus_active, 7);
  EXPECT_EQ(a.workflows[0].vus_allocated, 9);
}

}  // namespace
}  // namespace bellwether::metrics
