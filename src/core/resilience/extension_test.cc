#include "core/resilience/extension.h"

#include <gmock/gmock.h>
#include <limits>
#include <rapidcheck/gtest.h>

#include "core/base/prng.h"
#include "core/base/time_testing.h"

namespace bellwether::resilience {
namespace {

using Denial = ExtensionAnswer::Denial;
using Phase = ExtensionTracker::Phase;

ExtensionRequest after(double progress) { return {.progress = progress}; }

TEST(Extension, each_grant_is_half_of_the_one_before_and_there_are_five) {
  ExtensionTracker tracker(at_seconds(0));
  std::vector<int64_t> granted;
  std::vector<bool> warned;
  for (int i = 0; i < 5; ++i) {
    const auto answer = tracker.ask(at_seconds(1), after(0.1 * (i + 1)), false);
    ASSERT_TRUE(answer.ok());
    granted.push_back(answer.granted.ms());
    warned.push_back(answer.warning);
    EXPECT_EQ(answer.remaining, 4u - static_cast<unsigned>(i));
  }
  EXPECT_THAT(granted, testing::ElementsAre(15'000, 7'500, 3'750, 1'875, 1'000));
  EXPECT_THAT(warned, testing::ElementsAre(false, false, false, true, true));
  EXPECT_EQ(tracker.deadline(), at_seconds(30 + 29.125));
  const auto last = tracker.ask(at_seconds(2), after(0.9), false);
  EXPECT_EQ(last.denial, Denial::kExhausted);
  EXPECT_EQ(last.granted, Duration::zero());
  EXPECT_EQ(last.deadline, at_seconds(59.125)) << "what was granted is not taken back";
}

TEST(Extension, without_progress_there_is_no_more_time_but_the_first_has_nothing_to_compare_with) {
  ExtensionTracker tracker(at_seconds(0));
  EXPECT_TRUE(tracker.ask(at_seconds(1), after(0), false).ok());
  EXPECT_EQ(tracker.ask(at_seconds(2), after(0), false).denial, Denial::kNoProgress);
  EXPECT_TRUE(tracker.ask(at_seconds(3), after(0.01), false).ok());
}

TEST(Extension, work_with_a_deadline_of_its_own_goes_on_where_another_owner_left_it) {
  ExtensionTracker tracker(at_seconds(100), 3, ExtensionSettings());
  EXPECT_EQ(tracker.phase(at_seconds(99)), Phase::kInTime);
  const auto answer = tracker.ask(at_seconds(99), after(0.5), false);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer.granted, Duration::millis(1'875)) << "the fourth";
  EXPECT_EQ(answer.deadline, at_seconds(101.875));
  EXPECT_EQ(answer.remaining, 1u);
}

TEST(Extension, who_is_suspect_or_makes_no_sense_gets_none) {
  ExtensionTracker tracker(at_seconds(0));
  EXPECT_EQ(tracker.ask(at_seconds(1), after(0.5), true).denial, Denial::kSuspect);
  EXPECT_EQ(tracker.ask(at_seconds(1), after(std::numeric_limits<double>::quiet_NaN()), false).denial,
            Denial::kInvalid);
  EXPECT_EQ(ExtensionTracker(at_seconds(0)).ask(at_seconds(1), after(1.01), false).denial, Denial::kInvalid);
}

TEST(Extension, past_the_deadline_there_is_a_grace_and_then_eviction) {
  ExtensionTracker tracker(at_seconds(0));
  EXPECT_EQ(tracker.phase(at_seconds(29.9)), Phase::kInTime);
  EXPECT_EQ(tracker.phase(at_seconds(30)), Phase::kInGrace);
  const auto late = tracker.ask(at_seconds(32), after(0.5), false);
  EXPECT_EQ(late.denial, Denial::kTooLate);
  EXPECT_EQ(late.grace_left, Duration::seconds(8));
  EXPECT_EQ(tracker.phase(at_seconds(39.9)), Phase::kInGrace);
  EXPECT_EQ(tracker.phase(at_seconds(40)), Phase::kEvict);
}

TEST(Extension, three_refusals_in_a_row_begin_the_grace_at_once) {
  ExtensionTracker tracker(at_seconds(0));
  ASSERT_TRUE(tracker.ask(at_seconds(1), after(0.5), false).ok());
  tracker.ask(at_seconds(2), after(0.5), false);
  tracker.ask(at_seconds(3), after(0.5), false);
  EXPECT_EQ(tracker.phase(at_seconds(3)), Phase::kInTime);
  ASSERT_TRUE(tracker.ask(at_seconds(4), after(0.6), false).ok());
  tracker.ask(at_seconds(5), after(0.6), false);
  tracker.ask(at_seconds(6), after(0.6), false);
  EXPECT_EQ(tracker.phase(at_seconds(6)), Phase::kInTime) << "a grant between them";
  EXPECT_EQ(tracker.ask(at_seconds(7), after(0.6), false).grace_left, Duration::seconds(10));
  EXPECT_EQ(tracker.phase(at_seconds(16.9)), Phase::kInGrace);
  EXPECT_EQ(tracker.phase(at_seconds(17)), Phase::kEvict);
}

TEST(Extension, who_completes_or_recovers_starts_from_nothing) {
  ExtensionTracker tracker(at_seconds(0));
  for (int i = 1; i < 9; ++i) tracker.ask(at_seconds(i), after(i * 0.1), false);
  tracker.recovered(at_seconds(20));
  EXPECT_EQ(tracker.deadline(), at_seconds(50));
  EXPECT_EQ(tracker.ask(at_seconds(21), after(0), false).granted, Duration::seconds(15));
}

RC_GTEST_PROP(Extension, nobody_lives_on_extensions, (uint64_t seed)) {
  Prng random(seed);
  ExtensionTracker tracker(at_seconds(0));
  Instant now = at_seconds(0);
  for (int i = 0; i < 100; ++i) {
    now += Duration::millis(static_cast<int64_t>(random.below(3'000)));
    tracker.ask(now, after(static_cast<double>(random.below(1'000)) / 1'000), random.below(8) == 0);
    RC_ASSERT(tracker.evicted_at() <= at_seconds(30 + 29.125 + 10));
    RC_ASSERT(tracker.granted() <= 5u);
  }
}

}  // namespace
}  // namespace bellwether::resilience
