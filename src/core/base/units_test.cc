#include "core/base/units.h"

#include <cmath>
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

namespace bellwether {
namespace {

using testing::HasSubstr;

TEST(Units, durations_are_read) {
  const std::pair<const char*, int64_t> kDurations[] = {
      {"0", 0},
      {"0s", 0},
      {"7ns", 7},
      {"7us", 7'000},
      {"7µs", 7'000},
      {"250ms", 250'000'000},
      {"30s", 30'000'000'000},
      {"1.5s", 1'500'000'000},
      {".5s", 500'000'000},
      {"5m", 300'000'000'000},
      {"1h30m", 5'400'000'000'000},
      {"1d", 86'400'000'000'000},
      {"1h1m1s1ms1us1ns", 3'661'001'001'001},
      {"90m", 5'400'000'000'000},
      {"106000d", 106'000 * 86'400'000'000'000},
  };
  for (const auto& [text, ns] : kDurations) {
    const auto read = parse_duration(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->ns(), ns) << text;
  }
}

TEST(Units, what_is_no_duration_is_refused) {
  for (const char* text : {"",     "s",    "5",    "-5s",  "+5s",   "5 s",     "5s ",
                           " 5s",  "1h30", "5x",   "5S",   "1..5s", ".s",      "1.2.3s",
                           "five", "1e3s", "infs", "nans", "5sm",   "200000d", "99999999999999999999s"}) {
    const auto read = parse_duration(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Errc::kInvalid) << text;
    EXPECT_FALSE(read.error().message.empty()) << text;
  }
  EXPECT_THAT(parse_duration("30").error().message, HasSubstr("has no unit; write for example 30s"));
  EXPECT_THAT(parse_duration("5x").error().message, HasSubstr("'x' in '5x' is no unit of time"));
  EXPECT_THAT(parse_duration("200000d").error().message, HasSubstr("292 years"));
}

TEST(Units, sizes_are_read) {
  const std::pair<const char*, uint64_t> kSizes[] = {
      {"0", 0},           {"512", 512},         {"512B", 512},         {"10kB", 10'000},       {"10KB", 10'000},
      {"64KiB", 65'536},  {"10MB", 10'000'000}, {"1.5MiB", 1'572'864}, {"2GB", 2'000'000'000}, {"1GiB", 1'073'741'824},
      {"64 KiB", 65'536},
  };
  for (const auto& [text, bytes] : kSizes) {
    const auto read = parse_size(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(*read, bytes) << text;
  }
  for (const char* text :
       {"", "B", "-1", "+1", "1kb", "1 2", "1TB", "KiB", "1.2.3", "99999999999999999999", "10000000000GB"}) {
    EXPECT_FALSE(parse_size(text)) << text;
  }
}

TEST(Units, rates_are_read) {
  EXPECT_DOUBLE_EQ(*parse_rate("500"), 500);
  EXPECT_DOUBLE_EQ(*parse_rate("500/s"), 500);
  EXPECT_DOUBLE_EQ(*parse_rate("30/m"), 0.5);
  EXPECT_DOUBLE_EQ(*parse_rate("2.5 / s"), 2.5);
  EXPECT_DOUBLE_EQ(*parse_rate("100/250ms"), 400);
  EXPECT_DOUBLE_EQ(*parse_rate("0/s"), 0);
  for (const char* text : {"", "/s", "-1/s", "1/", "1/0s", "1/x", "1/5", "inf/s", "nan", "1/s/s", "x/s", "1e308/1ns"}) {
    EXPECT_FALSE(parse_rate(text)) << text;
  }
}

TEST(Units, durations_are_written_for_people) {
  const std::pair<Duration, const char*> kDurations[] = {
      {Duration::zero(), "0ns"},
      {Duration::nanos(999), "999ns"},
      {Duration::micros(42), "42.0µs"},
      {Duration::nanos(1'530'000), "1.53ms"},
      {Duration::nanos(12'340'000), "12.3ms"},
      {Duration::millis(250), "250ms"},
      {Duration::nanos(999'600'000), "1.00s"},
      {Duration::seconds(1), "1s"},
      {Duration::millis(1530), "1.53s"},
      {Duration::seconds(90), "1m30s"},
      {Duration::minutes(60), "1h"},
      {Duration::seconds(60), "1m"},
      {Duration::seconds(3660), "1h1m"},
      {Duration::seconds(3601), "1h1s"},
      {Duration::nanos(89'600'000'000), "1m30s"},
      {-Duration::millis(5), "-5.00ms"},
      {Duration::max(), "2562047h47m17s"},
  };
  for (const auto& [span, text] : kDurations) EXPECT_EQ(format_duration(span), text);
}

TEST(Units, every_duration_can_be_written) {
  EXPECT_EQ(format_duration(Duration::nanos(INT64_MIN)), "-" + format_duration(Duration::max()));
  EXPECT_TRUE(rc::check([](int64_t ns) { RC_ASSERT(!format_duration(Duration::nanos(ns)).empty()); }));
}

RC_GTEST_PROP(Units, what_was_written_is_read_back_within_its_digits, ()) {
  const int64_t ns = *rc::gen::inRange<int64_t>(0, 200'000'000'000'000) >> *rc::gen::inRange(0, 47);
  const auto back = parse_duration(format_duration(Duration::nanos(ns)));
  RC_ASSERT(back.has_value());
  const double error = std::abs(static_cast<double>(back->ns() - ns));
  RC_ASSERT(error <= 0.0051 * static_cast<double>(ns) || error <= 0.51e9);
  RC_ASSERT(ns >= 60'000'000'000 || error <= 0.0051 * static_cast<double>(ns));
}

TEST(Units, bytes_and_counts_are_written_for_people) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1000), "1.00 kB");
  EXPECT_EQ(format_bytes(64'000), "64.0 kB");
  EXPECT_EQ(format_bytes(1.21e9), "1.21 GB");
  EXPECT_EQ(format_bytes(999'600), "1.00 MB");
  EXPECT_EQ(format_bytes(5e18), "5000 PB");
  EXPECT_EQ(format_count(0, "step"), "0 steps");
  EXPECT_EQ(format_count(1, "step"), "1 step");
  EXPECT_EQ(format_count(2000, "step"), "2,000 steps");
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_count(UINT64_MAX), "18,446,744,073,709,551,615");
}

}  // namespace
}  // namespace bellwether
