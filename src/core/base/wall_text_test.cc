#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/base/units.h"

namespace bellwether {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

TEST(WallText, is_written_as_javascript_and_rust_programs_read_it) {
  EXPECT_EQ(format_wall({0}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_wall({1'767'555'140'091'999'999}), "2026-01-04T19:32:20.091Z");
  EXPECT_EQ(format_wall({-5}), "1970-01-01T00:00:00.000Z");
}

TEST(WallText, offsets_and_decimals_of_other_writers_are_read) {
  const WallTime time{1'767'555'140'000'000'000};
  EXPECT_EQ(parse_wall("2026-01-04T19:32:20Z"), time);
  EXPECT_EQ(parse_wall("2026-01-04T19:32:20+00:00"), time);
  EXPECT_EQ(parse_wall("2026-01-04T21:02:20+01:30"), time);
  EXPECT_EQ(parse_wall("2026-01-04T14:32:20.000-05:00"), time);
  EXPECT_EQ(parse_wall("2026-01-04T19:32:20.123456789123Z"), (WallTime{time.unix_ns + 123'456'789}));
  EXPECT_EQ(parse_wall("2026-01-04t19:32:20.5z"), (WallTime{time.unix_ns + 500'000'000}));
}

TEST(WallText, what_is_no_time_is_refused) {
  for (const char* text :
       {"", "now", "2026-01-04", "2026-01-04T19:32:20", "2026-01-04 19:32:20Z", "2026-02-30T00:00:00Z",
        "2026-01-04T24:00:00Z", "2026-01-04T19:60:00Z", "2026-01-04T19:32:61Z", "2026-01-04T19:32:20.Z",
        "2026-01-04T19:32:20Zx", "2026-01-04T19:32:20+24:00", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00+01:00",
        "9999-01-01T00:00:00Z", "2026-1-4T19:32:20Z", "-026-01-04T19:32:20Z"}) {
    EXPECT_FALSE(parse_wall(text)) << text;
  }
}

RC_GTEST_PROP(WallText, what_is_written_is_read_back_to_the_millisecond, ()) {
  const int64_t ms = *rc::gen::inRange<int64_t>(0, 9'000'000'000'000);
  RC_ASSERT(parse_wall(format_wall({ms * kMillisecond})) == WallTime{ms * kMillisecond});
}

}  // namespace
}  // namespace bellwether
