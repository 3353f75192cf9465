#include <cmath>
#include <gtest/gtest.h>

#include "lead/metrics/lease_figures.h"

namespace bellwether::lead {
namespace {

// The page of a process that asked for its lock so often.
std::string page_of(const std::string& key, std::vector<Duration> waits) {
  LeaseFigures figures(key, "l\"oo\\p\n");
  for (const Duration wait : waits) figures.lock_waited(wait);
  return prometheus_text({figures.read(Instant())});
}

TEST(MetricsReader, reads_what_our_own_page_says_of_any_key) {
  const std::string key("a\"b\\c\n\xff}{,= ", 13);
  const auto samples = parse_metrics(page_of(key, {Duration::millis(1), Duration::millis(300)}));
  const LockPressure pressure = pressure_of({samples, samples}, "l\"oo\\p\n", key);
  EXPECT_EQ(pressure.processes, 2U);
  EXPECT_EQ(pressure.waiting(), 2U);
  EXPECT_EQ(pressure.waits, 4U);
  EXPECT_EQ(pressure.wait_p99_s, 0.5);
  EXPECT_EQ(pressure_of({samples}, "other", key).processes, 0U);
  EXPECT_EQ(pressure_of({samples}, "l\"oo\\p\n", "other").processes, 0U);
}

TEST(MetricsReader, what_was_never_asked_for_has_no_wait) {
  const auto samples = parse_metrics(page_of("k", {}));
  EXPECT_EQ(pressure_of({samples}, "l\"oo\\p\n", "k").wait_p99_s, std::nullopt);
  EXPECT_EQ(pressure_of({}, "l", "k").processes, 0U);
}

TEST(MetricsReader, a_wait_beyond_all_buckets_is_infinite) {
  const auto samples = parse_metrics(page_of("k", {Duration::minutes(1)}));
  EXPECT_TRUE(std::isinf(*pressure_of({samples}, "l\"oo\\p\n", "k").wait_p99_s));
}

TEST(MetricsReader, leaves_out_what_it_cannot_read) {
  const auto samples = parse_metrics(
      "# HELP x y\n\nx{a=\"1\"} 2 1700000000\nbad{a=\"1} 2\nbad{a=1} 2\nbad{a=\"1\" 2\nbad\nbad x\n{a=\"1\"} 3\ny "
      "NaN\nz +Inf\nz 5");
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[0].label("a"), "1");
  EXPECT_EQ(samples[0].value, 2);
  EXPECT_EQ(samples[1].name, "z");
}

}  // namespace
}  // namespace bellwether::lead
