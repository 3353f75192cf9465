#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/base/prng.h"
#include "core/base/time_testing.h"
#include "load/metrics/live_windows.h"

namespace bellwether::metrics {
namespace {

// Another machine whose clock shows `ahead` more than this one, and messages of it that take at least 2 ms.
struct Other {
  explicit Other(Duration by, double its_pace = 1) : ahead(by), pace(its_pace) {}
  Duration ahead;
  double pace;  // of its clock
  Prng prng{7};
  ClockOffset offset;
  Duration worst;  // of all that were heard: how far from when it was written, without the shortest way

  void hear(int64_t ms, Duration delay) {
    const Instant written = Instant::from_ns(static_cast<int64_t>(static_cast<double>(at_ms(ms).ns()) * pace)) + ahead;
    const Instant now = at_ms(ms) + Duration::millis(2) + delay;
    const Instant said = offset.heard(now, written);
    EXPECT_LE(said, now) << "nothing is written after it came";
    const Duration error = said - at_ms(ms) - Duration::millis(2);
    worst = std::max({worst, error, -error});
  }
  // JobMessages each 50 ms, of which one in four is not delayed.
  void talk(int64_t from_ms, int64_t to_ms, Duration jitter) {
    for (int64_t ms = from_ms; ms < to_ms; ms += 50) {
      const double jittered = jitter.seconds_f() * prng.unit();
      hear(ms, (ms / 50) % 4 == 0 ? Duration::zero() : Duration::from_seconds_f(jittered));
    }
  }
};

RC_GTEST_PROP(ClockOffset, moments_are_right_whatever_the_other_clock_shows_and_letters_meet_with, ()) {
  const auto ahead = *rc::gen::inRange<int64_t>(-1'000'000, 1'000'000'000);
  Other other(Duration::millis(ahead));
  other.talk(2'000'000, 2'000'200, Duration::millis(40));
  other.worst = {};
  other.talk(2'000'200, 2'020'000, Duration::millis(40));
  RC_ASSERT(other.worst == Duration::zero());
}

TEST(ClockOffset, a_delayed_message_was_not_written_later) {
  Other other(Duration::hours(3));
  other.hear(1'000'000, Duration::zero());
  other.hear(1'000'050, Duration::millis(900));
  EXPECT_EQ(other.worst, Duration::zero());
}

TEST(ClockOffset, a_clock_that_goes_fast_or_slow_is_followed) {
  for (const double pace : {1.0001, 0.9999}) {
    Other other(Duration::hours(1), pace);
    other.talk(1'000'000, 1'600'000, Duration::millis(10));
    EXPECT_LT(other.worst, Duration::millis(1)) << pace;  // 60 ms in these ten minutes
  }
}

TEST(ClockOffset, a_clock_that_is_set_forward_is_followed_at_once) {
  Other other(Duration::zero());
  other.talk(1'000'000, 1'010'000, Duration::millis(10));
  other.ahead = Duration::minutes(5);
  other.talk(1'010'000, 1'020'000, Duration::millis(10));
  EXPECT_EQ(other.worst, Duration::zero());
}

TEST(ClockOffset, a_clock_that_lost_time_is_followed_within_two_spans) {
  Other other(Duration::minutes(10));
  other.talk(1'000'000, 1'010'000, Duration::millis(10));
  other.ahead = Duration::zero();
  other.talk(1'010'000, 1'014'000, Duration::millis(10));
  EXPECT_EQ(other.worst, Duration::minutes(10)) << "it may as well be that messages are late";
  other.worst = {};
  other.talk(1'014'000, 1'020'000, Duration::millis(10));
  EXPECT_EQ(other.worst, Duration::zero());
}

TEST(ClockOffset, after_a_silence_it_begins_anew) {
  Other other(Duration::minutes(10));
  other.hear(1'000'000, Duration::zero());
  other.ahead = Duration::zero();
  other.hear(1'000'000 + 2 * ClockOffset::kSpan.ns() / 1'000'000, Duration::zero());
  EXPECT_EQ(other.worst, Duration::zero());
}

}  // namespace
}  // namespace bellwether::metrics
