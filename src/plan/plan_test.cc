#include "plan/plan.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <vector>

namespace bellwether::plan {
namespace {

TEST(ShareOf, the_remainder_goes_to_the_last_parts) {
  EXPECT_EQ(share_of(10, 0, 4).count, 2u);
  EXPECT_EQ(share_of(10, 1, 4).count, 2u);
  EXPECT_EQ(share_of(10, 2, 4).count, 3u);
  EXPECT_EQ(share_of(10, 3, 4).count, 3u);
  EXPECT_EQ(share_of(10, 3, 4).first, 7u);
}

TEST(ShareOf, more_parts_than_things_leaves_the_first_parts_empty) {
  EXPECT_EQ(share_of(1, 0, 3).count, 0u);
  EXPECT_EQ(share_of(1, 2, 3).first, 0u);
  EXPECT_EQ(share_of(1, 2, 3).count, 1u);
}

TEST(ShareOf, every_number_is_in_exactly_one_part) {
  EXPECT_TRUE(rc::check([] {
    const auto total = *rc::gen::inRange<uint32_t>(0, 1'000'000);
    const auto parts = *rc::gen::inRange<uint32_t>(1, 300);
    uint32_t next = 0;
    uint32_t smallest = UINT32_MAX;
    uint32_t largest = 0;
    for (uint32_t part = 0; part < parts; ++part) {
      const Share share = share_of(total, part, parts);
      RC_ASSERT(share.first == next);
      next += share.count;
      smallest = std::min(smallest, share.count);
      largest = std::max(largest, share.count);
    }
    RC_ASSERT(next == total);
    RC_ASSERT(largest - smallest <= 1);
  }));
}

TEST(ArrivalSchedule, arrivals_are_evenly_spaced_from_zero) {
  const ArrivalSchedule schedule(500, Duration::seconds(2), 0, 1);
  ASSERT_EQ(schedule.count(), 1000u);
  EXPECT_EQ(schedule.due(0), Duration::zero());
  EXPECT_EQ(schedule.due(1), Duration::millis(2));
  EXPECT_EQ(schedule.due(999), Duration::millis(1998));
}

TEST(ArrivalSchedule, an_arrival_due_at_the_very_end_is_not_part_of_the_run) {
  EXPECT_EQ(ArrivalSchedule(1, Duration::seconds(3), 0, 1).count(), 3u);
  EXPECT_EQ(ArrivalSchedule(1, Duration::nanos(3'000'000'001), 0, 1).count(), 4u);
}

TEST(ArrivalSchedule, an_arrival_that_rounding_moves_to_the_end_is_not_part_of_the_run) {
  EXPECT_EQ(ArrivalSchedule(700'000, Duration::nanos(1'429), 0, 1).count(), 1u);  // the second is due at 1428.57 ns
  EXPECT_EQ(ArrivalSchedule(700'000, Duration::nanos(1'430), 0, 1).count(), 2u);
}

TEST(ArrivalSchedule, rates_below_one_a_second_work) {
  const ArrivalSchedule schedule(1.0 / 3, Duration::seconds(10), 0, 1);
  ASSERT_EQ(schedule.count(), 4u);
  EXPECT_EQ(schedule.due(3), Duration::seconds(9));
}

TEST(ArrivalSchedule, a_part_without_arrivals_is_empty) {
  EXPECT_EQ(ArrivalSchedule(1, Duration::seconds(2), 2, 3).count(), 0u);
  EXPECT_EQ(ArrivalSchedule(1, Duration::seconds(2), 1, 3).count(), 1u);
}

TEST(ArrivalSchedule, four_weeks_do_not_drift) {
  constexpr Duration kFourWeeks = Duration::hours(24 * 28);
  const ArrivalSchedule schedule(30'000, kFourWeeks, 1, 2);
  ASSERT_EQ(schedule.count(), 30'000ull * 3600 * 24 * 28 / 2);
  const uint64_t last = schedule.count() - 1;
  EXPECT_EQ(schedule.due(last), kFourWeeks - Duration::nanos(33'333));
}

TEST(ArrivalSchedule, the_parts_together_are_the_schedule_of_one_generator) {
  EXPECT_TRUE(rc::check([] {
    const double rate = static_cast<double>(*rc::gen::inRange(1, 2'000'000)) / 1000.0;
    const Duration duration = Duration::micros(*rc::gen::inRange<int64_t>(1, 2'000'000));
    const auto parts = *rc::gen::inRange<uint32_t>(1, 9);
    const ArrivalSchedule whole(rate, duration, 0, 1);
    std::vector<Duration> expected;
    for (uint64_t i = 0; i < whole.count(); ++i) expected.push_back(whole.due(i));
    std::vector<Duration> merged;
    for (uint32_t part = 0; part < parts; ++part) {
      const ArrivalSchedule schedule(rate, duration, part, parts);
      for (uint64_t i = 0; i < schedule.count(); ++i) merged.push_back(schedule.due(i));
    }
    std::sort(merged.begin(), merged.end());
    RC_ASSERT(merged == expected);
    const Duration offset = Duration::micros(*rc::gen::inRange<int64_t>(-1, 2'500'000));
    uint64_t before = 0;
    for (uint32_t part = 0; part < parts; ++part) {
      const ArrivalSchedule schedule(rate, duration, part, parts);
      const uint64_t first = schedule.due_before(offset);
      RC_ASSERT((first == 0 || schedule.due(first - 1) < offset));
      RC_ASSERT((first == schedule.count() || schedule.due(first) >= offset));
      before += first;
    }
    RC_ASSERT(before == static_cast<uint64_t>(std::ranges::lower_bound(expected, offset) - expected.begin()));
    RC_ASSERT(expected.empty() || expected.back() < duration);
  }));
}

}  // namespace
}  // namespace bellwether::plan
