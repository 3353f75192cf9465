#include "load/plan/schedule.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>
#include <tuple>
#include <vector>

namespace bellwether::plan {
namespace {

ArrivalSchedule level(double per_s, Duration duration, uint32_t part, uint32_t parts) {
  return ArrivalSchedule({{per_s, per_s, duration}}, part, parts);
}

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

RC_GTEST_PROP(ShareOf, every_number_is_in_exactly_one_part, ()) {
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
}

TEST(ArrivalSchedule, arrivals_are_evenly_spaced_from_zero) {
  const ArrivalSchedule schedule = level(500, Duration::seconds(2), 0, 1);
  ASSERT_EQ(schedule.count(), 1000u);
  EXPECT_EQ(schedule.due(0), Duration::zero());
  EXPECT_EQ(schedule.due(1), Duration::millis(2));
  EXPECT_EQ(schedule.due(999), Duration::millis(1998));
}

TEST(ArrivalSchedule, an_arrival_due_at_the_very_end_is_not_part_of_the_run) {
  EXPECT_EQ(level(1, Duration::seconds(3), 0, 1).count(), 3u);
  EXPECT_EQ(level(1, Duration::nanos(3'000'000'001), 0, 1).count(), 4u);
}

TEST(ArrivalSchedule, an_arrival_that_rounding_moves_to_the_end_is_not_part_of_the_run) {
  EXPECT_EQ(level(700'000, Duration::nanos(1'429), 0, 1).count(), 1u);  // the second is due at 1428.57 ns
  EXPECT_EQ(level(700'000, Duration::nanos(1'430), 0, 1).count(), 2u);
}

TEST(ArrivalSchedule, rates_below_one_a_second_work) {
  const ArrivalSchedule schedule = level(1.0 / 3, Duration::seconds(10), 0, 1);
  ASSERT_EQ(schedule.count(), 4u);
  EXPECT_EQ(schedule.due(3), Duration::seconds(9));
}

TEST(ArrivalSchedule, a_part_without_arrivals_is_empty) {
  EXPECT_EQ(level(1, Duration::seconds(2), 2, 3).count(), 0u);
  EXPECT_EQ(level(1, Duration::seconds(2), 1, 3).count(), 1u);
}

TEST(ArrivalSchedule, four_weeks_do_not_drift) {
  constexpr Duration kFourWeeks = Duration::hours(24 * 28);
  const ArrivalSchedule schedule = level(30'000, kFourWeeks, 1, 2);
  ASSERT_EQ(schedule.count(), 30'000ull * 3600 * 24 * 28 / 2);
  const uint64_t last = schedule.count() - 1;
  EXPECT_EQ(schedule.due(last), kFourWeeks - Duration::nanos(33'333));
}

RC_GTEST_PROP(ArrivalSchedule, the_parts_together_are_the_schedule_of_one_generator, ()) {
  const double rate = static_cast<double>(*rc::gen::inRange(1, 2'000'000)) / 1000.0;
  const Duration duration = Duration::micros(*rc::gen::inRange<int64_t>(1, 2'000'000));
  const auto parts = *rc::gen::inRange<uint32_t>(1, 9);
  const ArrivalSchedule whole = level(rate, duration, 0, 1);
  std::vector<Duration> expected;
  for (uint64_t i = 0; i < whole.count(); ++i) expected.push_back(whole.due(i));
  std::vector<Duration> merged;
  for (uint32_t part = 0; part < parts; ++part) {
    const ArrivalSchedule schedule = level(rate, duration, part, parts);
    for (uint64_t i = 0; i < schedule.count(); ++i) merged.push_back(schedule.due(i));
  }
  std::sort(merged.begin(), merged.end());
  RC_ASSERT(merged == expected);
  const Duration offset = Duration::micros(*rc::gen::inRange<int64_t>(-1, 2'500'000));
  uint64_t before = 0;
  for (uint32_t part = 0; part < parts; ++part) {
    const ArrivalSchedule schedule = level(rate, duration, part, parts);
    const uint64_t first = schedule.due_before(offset);
    RC_ASSERT((first == 0 || schedule.due(first - 1) < offset));
    RC_ASSERT((first == schedule.count() || schedule.due(first) >= offset));
    before += first;
  }
  RC_ASSERT(before == static_cast<uint64_t>(std::ranges::lower_bound(expected, offset) - expected.begin()));
  RC_ASSERT(expected.empty() || expected.back() < duration);
}

TEST(ArrivalSchedule, a_rate_that_grows_makes_as_many_as_its_integral) {
  // 0 to 100 a second in 10 s: 500, of which n are due after sqrt(n / 5) seconds.
  const ArrivalSchedule schedule({{0, 100, Duration::seconds(10)}}, 0, 1);
  ASSERT_EQ(schedule.count(), 500u);
  EXPECT_EQ(schedule.due(0), Duration::zero());
  EXPECT_EQ(schedule.due(5), Duration::seconds(1));
  EXPECT_EQ(schedule.due(20), Duration::seconds(2));
  EXPECT_EQ(schedule.due(125), Duration::seconds(5));
  EXPECT_EQ(schedule.due_before(Duration::seconds(5)), 125u);
}

TEST(ArrivalSchedule, a_rate_that_falls_is_the_mirror_of_one_that_grows) {
  const ArrivalSchedule schedule({{100, 0, Duration::seconds(10)}}, 0, 1);
  ASSERT_EQ(schedule.count(), 500u);
  EXPECT_EQ(schedule.due(375), Duration::seconds(5));
  EXPECT_EQ(schedule.due(480), Duration::seconds(8));
  EXPECT_EQ(schedule.due(495), Duration::seconds(9));
}

TEST(ArrivalSchedule, lines_follow_each_other_and_a_pause_has_no_arrivals) {
  const ArrivalSchedule schedule({{10, 10, Duration::seconds(1)},
                                  {0, 0, Duration::seconds(5)},
                                  {20, 20, Duration::seconds(1)},
                                  {20, 40, Duration::zero()},
                                  {40, 40, Duration::seconds(1)}},
                                 0, 1);
  ASSERT_EQ(schedule.count(), 70u);
  EXPECT_EQ(schedule.due(9), Duration::millis(900));
  EXPECT_EQ(schedule.due(11), Duration::millis(6'050));
  EXPECT_EQ(schedule.due(30), Duration::seconds(7));
  EXPECT_EQ(schedule.due(31), Duration::millis(7'025));
  EXPECT_EQ(schedule.due_before(Duration::seconds(4)), 11u) << "the eleventh is due as the first line ends";
}

TEST(ArrivalSchedule, without_any_rate_there_are_no_arrivals) {
  EXPECT_EQ(ArrivalSchedule({{0, 0, Duration::seconds(5)}}, 0, 1).count(), 0u);
  EXPECT_EQ(ArrivalSchedule({}, 0, 1).count(), 0u);
  EXPECT_EQ(ArrivalSchedule({{0, 50, Duration::zero()}}, 0, 1).count(), 0u);
}

RC_GTEST_PROP(ArrivalSchedule, the_parts_of_a_course_together_are_the_course, ()) {
  std::vector<RateStage> stages;
  double rate = *rc::gen::inRange(0, 500);
  const auto lines = *rc::gen::inRange(1, 6);
  for (int i = 0; i < lines; ++i) {
    const double to = *rc::gen::inRange(0, 500);
    stages.push_back({rate, to, Duration::micros(*rc::gen::inRange<int64_t>(0, 1'000'000))});
    rate = to;
  }
  const ArrivalSchedule whole(stages, 0, 1);
  std::vector<Duration> expected;
  for (uint64_t i = 0; i < whole.count(); ++i) expected.push_back(whole.due(i));
  RC_ASSERT(std::ranges::is_sorted(expected));
  if (!expected.empty()) RC_ASSERT(expected.back() < length_of(stages));
  double integral = 0;
  for (const RateStage& one : stages) integral += (one.from_per_s + one.to_per_s) / 2 * one.duration.seconds_f();
  RC_ASSERT(static_cast<double>(whole.count()) >= integral - 1e-6 &&
            static_cast<double>(whole.count()) < integral + 1 + 1e-6);
  const auto parts = *rc::gen::inRange<uint32_t>(1, 9);
  std::vector<Duration> merged;
  const Duration offset = Duration::micros(*rc::gen::inRange<int64_t>(-1, 3'000'000));
  uint64_t before = 0;
  for (uint32_t part = 0; part < parts; ++part) {
    const ArrivalSchedule schedule(stages, part, parts);
    for (uint64_t i = 0; i < schedule.count(); ++i) merged.push_back(schedule.due(i));
    before += schedule.due_before(offset);
  }
  std::sort(merged.begin(), merged.end());
  RC_ASSERT(merged == expected);
  RC_ASSERT(before == static_cast<uint64_t>(std::ranges::lower_bound(expected, offset) - expected.begin()));
}

TEST(IterationsOf, users_share_them_in_proportion_and_each_is_done_once) {
  EXPECT_EQ(iterations_of(10, 4, {0, 1}), 2u);
  EXPECT_EQ(iterations_of(10, 4, {1, 1}), 3u);
  EXPECT_EQ(iterations_of(10, 4, {2, 0}), 0u);
  EXPECT_TRUE(rc::check([] {
    const auto total = *rc::gen::inRange<uint64_t>(0, 1'000'000'000'000);
    const auto vus = *rc::gen::inRange<uint32_t>(1, 1'000'000);
    const auto parts = *rc::gen::inRange<uint32_t>(1, 100);
    uint64_t sum = 0;
    for (uint32_t part = 0; part < parts; ++part) sum += iterations_of(total, vus, share_of(vus, part, parts));
    RC_ASSERT(sum == total);
  }));
}

std::vector<VuRamp::Turn> turns_of(VuRamp ramp) {
  std::vector<VuRamp::Turn> out;
  while (const auto turn = ramp.next()) out.push_back(*turn);
  return out;
}

constexpr Duration at_ms(int64_t ms) { return Duration::millis(ms); }

TEST(VuRamp, users_come_when_their_number_is_reached_and_go_when_it_is_left) {
  const VuRamp ramp(1, {{at_ms(2'000), 3}, {at_ms(1'000), 3}, {at_ms(1'000), 1}}, 0, 1);
  EXPECT_EQ(ramp.length(), at_ms(4'000));
  EXPECT_EQ(ramp.most(), 3u);
  EXPECT_THAT(turns_of(ramp),
              testing::ElementsAre(VuRamp::Turn{at_ms(0), 0, true}, VuRamp::Turn{at_ms(1'000), 1, true},
                                   VuRamp::Turn{at_ms(2'000), 2, true}, VuRamp::Turn{at_ms(3'500), 2, false},
                                   VuRamp::Turn{at_ms(4'000), 1, false}));
}

TEST(VuRamp, a_stage_that_takes_no_time_is_a_step) {
  EXPECT_THAT(turns_of(VuRamp(0, {{at_ms(0), 2}, {at_ms(500), 2}, {at_ms(0), 0}, {at_ms(500), 0}}, 0, 1)),
              testing::ElementsAre(VuRamp::Turn{at_ms(0), 0, true}, VuRamp::Turn{at_ms(0), 1, true},
                                   VuRamp::Turn{at_ms(500), 1, false}, VuRamp::Turn{at_ms(500), 0, false}));
}

RC_GTEST_PROP(VuRamp, the_parts_together_follow_the_course_and_each_does_by_itself, ()) {
  std::vector<VuStage> stages;
  const auto start = *rc::gen::inRange<uint32_t>(0, 200);
  const auto count = *rc::gen::inRange(1, 6);
  for (int i = 0; i < count; ++i) {
    stages.push_back({Duration::micros(*rc::gen::inRange<int64_t>(0, 1'000'000)), *rc::gen::inRange<uint32_t>(0, 200)});
  }
  const auto parts = *rc::gen::inRange<uint32_t>(1, 9);
  std::vector<std::tuple<Duration, uint32_t, bool>> whole;
  for (const VuRamp::Turn& turn : turns_of(VuRamp(start, stages, 0, 1))) {
    whole.emplace_back(turn.at, turn.index + 1, turn.wanted);
  }
  std::vector<std::tuple<Duration, uint32_t, bool>> merged;
  uint32_t most = 0;
  for (uint32_t part = 0; part < parts; ++part) {
    const VuRamp ramp(start, stages, part, parts);
    most += ramp.most();
    std::vector<bool> there(ramp.most());
    for (const VuRamp::Turn& turn : turns_of(ramp)) {
      RC_ASSERT(there.at(turn.index) != turn.wanted);
      there[turn.index] = turn.wanted;
      merged.emplace_back(turn.at, ramp.number_of(turn.index), turn.wanted);
    }
    RC_ASSERT(static_cast<uint32_t>(std::ranges::count(there, true)) ==
              (stages.back().target + parts - 1 - part) / parts);
  }
  std::ranges::sort(whole);
  std::ranges::sort(merged);
  RC_ASSERT(merged == whole);
  RC_ASSERT(most == most_vus(start, stages));
}

}  // namespace
}  // namespace bellwether::plan
