#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "core/base/prng.h"
#include "load/metrics/window.h"

namespace bellwether::metrics {
namespace {

constexpr double kThousandths = 1e3;

MetricWindow window() { return MetricWindow(nullptr); }

void expect_same(const MetricWindow& a, const MetricWindow& b) {
  EXPECT_EQ(a.count, b.count);
  EXPECT_EQ(a.refused, b.refused);
  EXPECT_TRUE(a.sum == b.sum);
  EXPECT_EQ(a.trues, b.trues);
  EXPECT_EQ(a.last, b.last);
  EXPECT_EQ(a.last_at, b.last_at);
  EXPECT_EQ(a.least, b.least);
  EXPECT_EQ(a.greatest, b.greatest);
  EXPECT_TRUE(a.trend == b.trend);
}

TEST(MetricWindow, a_counter_adds_fractions_exactly) {
  MetricWindow counter = window();
  for (int i = 0; i < 10; ++i) counter.add(0.1);
  EXPECT_EQ(counter.amount(), 1.0);
  EXPECT_EQ(counter.count, 10u);
}

TEST(MetricWindow, what_is_no_value_is_counted_and_changes_nothing) {
  MetricWindow counter = window();
  for (const double wrong : {-1.0, 1e13, std::nan(""), std::numeric_limits<double>::infinity()}) counter.add(wrong);
  counter.record(-0.5, kThousandths);
  EXPECT_EQ(counter.refused, 5u);
  EXPECT_EQ(counter.count, 0u);
  EXPECT_EQ(counter.amount(), 0);
  EXPECT_TRUE(counter.trend.empty());
  EXPECT_FALSE(counter.empty()) << "the refused ones are told";
}

TEST(MetricWindow, a_rate_counts_what_is_not_zero) {
  MetricWindow rate = window();
  for (const double value : {1.0, 0.0, -3.0, 0.25}) rate.observe(value);
  EXPECT_EQ(rate.trues, 3u);
  EXPECT_EQ(rate.count, 4u);
}

TEST(MetricWindow, a_gauge_below_zero_has_its_least_and_greatest_value) {
  MetricWindow gauge = window();
  gauge.set(-5, Duration::seconds(1));
  gauge.set(-7, Duration::seconds(2));
  gauge.set(-6, Duration::seconds(3));
  EXPECT_EQ(gauge.last, -6);
  EXPECT_EQ(gauge.least, -7);
  EXPECT_EQ(gauge.greatest, -5);
}

TEST(MetricWindow, of_two_gauges_the_later_one_is_right) {
  MetricWindow early = window();
  early.set(8, Duration::seconds(1));
  MetricWindow late = window();
  late.set(3, Duration::seconds(2));
  MetricWindow nothing = window();
  MetricWindow one = window();
  one.merge(late);
  one.merge(nothing);
  one.merge(early);
  EXPECT_EQ(one.last, 3);
  EXPECT_EQ(one.greatest, 8);
  EXPECT_EQ(one.least, 3);
}

TEST(MetricWindow, a_trend_keeps_three_digits_and_what_is_too_large_as_the_greatest) {
  MetricWindow trend = window();
  trend.record(1.234, kThousandths);
  EXPECT_EQ(trend.trend.max(), Duration::nanos(1234));
  trend.record(1e12, kThousandths);
  EXPECT_EQ(trend.trend.max(), Duration::nanos(Histogram::kMaxTracked));
  EXPECT_EQ(trend.count, 2u);
}

// For all places of the records, and in any order of the merging.
TEST(MetricWindow, merging_is_the_same_in_any_order_and_grouping) {
  Prng prng(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<MetricWindow> parts;
    MetricWindow whole = window();
    for (int p = 0; p < 3; ++p) {
      MetricWindow& part = parts.emplace_back(nullptr);
      for (uint64_t i = prng.below(4); i > 0; --i) {
        const double value = static_cast<double>(prng.below(1000)) / 8 - 20;
        part.add(value);
        part.observe(value);
        part.set(value, Duration::nanos(static_cast<int64_t>(prng.below(3))));
        part.record(value, kThousandths);
      }
    }
    MetricWindow forwards = window();
    for (const MetricWindow& part : parts) forwards.merge(part);
    MetricWindow tail = window();
    tail.merge(parts[2]);
    tail.merge(parts[1]);
    MetricWindow backwards = window();
    backwards.merge(tail);
    backwards.merge(parts[0]);
    if (forwards.count == 0) continue;
    // Within one part the last to be set counts; between parts the later, and of one moment the greater.
    expect_same(forwards, backwards);
  }
}

TEST(MetricWindow, that_is_cleared_is_as_new) {
  MetricWindow used = window();
  used.add(-1);
  used.set(5, Duration::seconds(1));
  used.record(2, kThousandths);
  used.clear();
  expect_same(used, window());
  EXPECT_TRUE(used.empty());
}

}  // namespace
}  // namespace bellwether::metrics
