
#include <gtest/gtest.h>
#include <map>
#include <rapidcheck/gtest.h>

#include "core/base/prng.h"
#include "load/aggregate/totals.h"

namespace bellwether::aggregate {
namespace {

enum : std::size_t { kOrders, kDepth, kPaid, kPrice, kTook, kNever };

// One workflow of two steps, which both record `orders` and `price`.
plan::Plan shop() {
  plan::Plan plan;
  plan.workflows.resize(1);
  plan.steps = {{.workflow = 0, .index = 0, .name = "shop.buy", .measured = true},
                {.workflow = 0, .index = 1, .name = "shop.pay", .measured = true}};
  plan.metrics = {{"orders", plan::MetricKind::kCounter, ""}, {"depth", plan::MetricKind::kGauge, ""},
                  {"paid", plan::MetricKind::kRate, ""},      {"price", plan::MetricKind::kTrend, "EUR"},
                  {"took", plan::MetricKind::kTrend, "ms"},   {"never", plan::MetricKind::kGauge, ""}};
  plan.series = {{kOrders, 0}, {kPrice, 0}, {kDepth, 0}, {kOrders, 1},
                 {kPaid, 1},   {kPrice, 1}, {kTook, 1},  {kNever, 1}};
  return plan;
}
enum : std::size_t { kOrdersOfBuy, kPriceOfBuy, kDepthOfBuy, kOrdersOfPay, kPaidOfPay, kPriceOfPay, kTookOfPay };

metrics::Window second_of(const plan::Plan& plan, uint64_t second) {
  metrics::Window window(shape_of(plan));
  window.second = second;
  return window;
}

metrics::Window prices(const plan::Plan& plan, uint64_t second, std::initializer_list<double> prices) {
  metrics::Window window = second_of(plan, second);
  for (const double price : prices) window.series[kPriceOfBuy].record(price, plan.metrics[kPrice].scale());
  return window;
}

struct MetricSeriesTest : testing::Test {
  const plan::Plan plan = shop();
  Totals totals{plan};
};

TEST_F(MetricSeriesTest, a_point_has_the_figures_of_all_steps_together) {
  metrics::Window window = second_of(plan, 0);
  window.series[kOrdersOfBuy].add(2);
  window.series[kOrdersOfPay].add(0.5);
  window.series[kDepthOfBuy].set(-4, Duration::millis(100));
  window.series[kDepthOfBuy].set(9, Duration::millis(200));
  window.series[kDepthOfBuy].set(7, Duration::millis(300));
  for (const double truth : {1.0, 0.0, 1.0, 1.0}) window.series[kPaidOfPay].observe(truth);
  for (int price = 1; price <= 50; ++price) window.series[kPriceOfBuy].record(price, 1e3);
  for (int price = 51; price <= 100; ++price) window.series[kPriceOfPay].record(price, 1e3);
  window.series[kTookOfPay].record(20, 1e6);
  totals.add(window, Duration::millis(500));
  const auto only = [&](std::size_t metric) {
    const auto points = totals.series_of(metric);
    EXPECT_EQ(points.size(), 1u);
    EXPECT_EQ(points[0].second, 0u);
    EXPECT_EQ(points[0].covered, Duration::millis(500));
    return points[0].figure;
  };
  EXPECT_EQ(only(kOrders).sum, 2.5);
  EXPECT_EQ(only(kDepth).last, 7);
  EXPECT_EQ(only(kDepth).least, -4);
  EXPECT_EQ(only(kDepth).greatest, 9);
  EXPECT_EQ(only(kPaid).trues, 3u);
  EXPECT_EQ(only(kPaid).count, 4u);
  EXPECT_EQ(only(kPrice).count, 100u);
  EXPECT_NEAR(only(kPrice).p50, 50, 0.1);
  EXPECT_NEAR(only(kPrice).p95, 95, 0.1);
  EXPECT_NEAR(only(kTook).p50, 20, 0.02);
  EXPECT_TRUE(totals.series_of(kNever).empty());
}

TEST_F(MetricSeriesTest, one_that_begins_late_and_pauses_has_points_only_where_it_was_recorded) {
  for (uint64_t second = 0; second < 20; ++second) {
    metrics::Window window = second_of(plan, second);
    window.series[kOrdersOfBuy].add(1);
    if (second >= 12 && second != 15) window.series[kDepthOfBuy].set(static_cast<double>(second), Duration::zero());
    if (second == 17) window.series[kTookOfPay].record(-1, 1e6);  // refused: no value
    totals.add(window);
  }
  EXPECT_EQ(totals.series_of(kOrders).size(), 20u);
  const auto depth = totals.series_of(kDepth);
  ASSERT_EQ(depth.size(), 7u);
  EXPECT_EQ(depth[0].second, 12u);
  EXPECT_EQ(depth[3].second, 16u);
  EXPECT_TRUE(totals.series_of(kTook).empty());
}

// The percentiles of a interval of any length are those of all its values; parts of workers that arrive during it are
// no exception.
TEST(MetricSeries, the_figures_of_every_interval_are_those_of_its_values_merged) {
  const plan::Plan plan = shop();
  Prng prng(7);
  Totals totals(plan);
  constexpr uint64_t kRun = 9'000;
  metrics::Retention retention(metrics::kHotPoints);
  retention.reach(kRun - 1);
  std::map<uint64_t, metrics::MetricWindow> expected;
  for (uint64_t second = 0; second < kRun; ++second) {
    metrics::Window window = second_of(plan, second);
    // Seconds differ much, so that neither a mean nor the worst of them is the figure of all.
    const uint64_t magnitude = uint64_t{1} << prng.below(20);
    for (uint64_t i = prng.below(6); i > 0; --i) {
      window.series[kPriceOfBuy].record(static_cast<double>(prng.below(magnitude)), 1e3);
    }
    totals.add(window);
    metrics::MetricWindow& of = expected.try_emplace(retention.interval_of(second), nullptr).first->second;
    of.merge(window.series[kPriceOfBuy]);
  }
  std::map<uint64_t, std::size_t> lengths;
  for (const MetricPoint& point : totals.series_of(kPrice)) {
    const metrics::MetricWindow& of = expected.at(point.second);
    EXPECT_EQ(point.figure.count, of.count);
    EXPECT_EQ(point.figure.p50, in_units(of.trend.percentile(50), 1e3)) << point.second;
    EXPECT_EQ(point.figure.p95, in_units(of.trend.percentile(95), 1e3)) << point.second;
    ++lengths[static_cast<uint64_t>(point.covered.ns()) / 1'000'000'000];
  }
  EXPECT_GT(lengths[1], 500u);
  EXPECT_GE(lengths[10], 354u);
  EXPECT_GE(lengths[60], 70u);
}

TEST_F(MetricSeriesTest, more_than_a_day_is_bounded_and_loses_no_value) {
  constexpr uint64_t kRun = 95'007;
  for (uint64_t second = 0; second < kRun; ++second) {
    metrics::Window window = prices(plan, second, {second == 130 ? 900.0 : 5.0});
    window.series[kOrdersOfBuy].add(2);
    window.series[kDepthOfBuy].set(static_cast<double>(second), Duration::seconds(static_cast<int64_t>(second)));
    totals.add(window);
  }
  const auto state = totals.save().metrics;
  ASSERT_EQ(state.tiers.size(), kTierSeconds.size());
  for (std::size_t t = 0; t < state.tiers.size(); ++t) EXPECT_LE(state.tiers[t].begins.size(), most_of_tier(t));
  const auto orders = totals.series_of(kOrders);
  const auto depth = totals.series_of(kDepth);
  const auto price = totals.series_of(kPrice);
  ASSERT_EQ(orders.size(), totals.series().size());
  double sum = 0;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    sum += orders[i].figure.sum;
    EXPECT_EQ(orders[i].second, totals.series()[i].second);
    EXPECT_DOUBLE_EQ(orders[i].figure.sum, 2 * orders[i].covered.seconds_f());
    const auto end = static_cast<double>(i + 1 < orders.size() ? orders[i + 1].second : kRun);
    EXPECT_EQ(depth[i].figure.least, static_cast<double>(orders[i].second));
    EXPECT_EQ(depth[i].figure.greatest, end - 1);
    EXPECT_EQ(depth[i].figure.last, end - 1);
  }
  EXPECT_DOUBLE_EQ(sum, 2.0 * kRun);
  EXPECT_GT(price[0].covered, Duration::seconds(1'000)) << "all that is older than a day";
  EXPECT_NEAR(price[0].figure.p50, 5, 0.01);
  EXPECT_NEAR(price[0].figure.p95, 5, 0.01) << "one of 60 values is above";
}

TEST_F(MetricSeriesTest, what_comes_late_adds_to_its_point_and_changes_no_last_value) {
  for (uint64_t second = 0; second < 4; ++second) {
    metrics::Window window = prices(plan, second, {10, 10, 10});
    window.series[kDepthOfBuy].set(5, Duration::seconds(static_cast<int64_t>(second)));
    totals.add(window);
  }
  metrics::Window late = prices(plan, 1, {1, 2, 30});
  late.series[kDepthOfBuy].set(8, Duration::millis(1'900));
  totals.amend(late);
  const auto price = totals.series_of(kPrice);
  ASSERT_EQ(price.size(), 4u);
  EXPECT_EQ(price[1].figure.count, 6u);
  EXPECT_NEAR(price[1].figure.p50, 10, 0.01) << "of its parts the greater: they cannot be merged any more";
  EXPECT_NEAR(price[1].figure.p95, 30, 0.03);
  EXPECT_NEAR(price[2].figure.p95, 10, 0.01);
  EXPECT_EQ(totals.series_of(kDepth)[1].figure.last, 5);
  EXPECT_EQ(totals.series_of(kDepth)[1].figure.greatest, 8);

  // The interval of ten seconds had not ended: what it will show is exact.
  for (uint64_t second = 4; second < 1'200; ++second) totals.add(prices(plan, second, {}));
  const auto later = totals.series_of(kPrice);
  ASSERT_EQ(later.size(), 1u);
  EXPECT_EQ(later[0].covered, Duration::seconds(10));
  EXPECT_EQ(later[0].figure.count, 15u);
  EXPECT_NEAR(later[0].figure.p95, 30, 0.03);
  EXPECT_NEAR(later[0].figure.p50, 10, 0.01);

  totals.amend(prices(plan, 601, {7}));
  EXPECT_EQ(totals.series_of(kPrice).size(), 2u) << "nobody had told anything of it";
}

// Of a second that goes on, parts of several workers are merged whole, whichever comes first.
TEST(MetricSeries, of_parts_of_one_second_the_later_value_of_a_gauge_is_the_last) {
  const plan::Plan plan = shop();
  for (const bool swapped : {false, true}) {
    Totals totals(plan);
    metrics::Window early = prices(plan, 3, {1, 2, 3, 4});
    early.series[kDepthOfBuy].set(50, Duration::millis(3'100));
    metrics::Window late = prices(plan, 3, {5, 6, 7, 8, 9});
    late.series[kDepthOfBuy].set(20, Duration::millis(3'800));
    totals.add(swapped ? late : early);
    totals.amend(swapped ? early : late);
    const auto depth = totals.series_of(kDepth);
    const auto price = totals.series_of(kPrice);
    ASSERT_EQ(depth.size(), 1u);
    EXPECT_EQ(depth[0].second, 3u);
    EXPECT_EQ(depth[0].figure.last, 20);
    EXPECT_EQ(depth[0].figure.least, 20);
    EXPECT_EQ(depth[0].figure.greatest, 50);
    EXPECT_NEAR(price[0].figure.p50, 5, 0.01);
    EXPECT_NEAR(price[0].figure.p95, 9, 0.01);
  }
}

// In any order of the parts the points are the run, and restored totals continue like the original.
RC_GTEST_PROP(MetricSeries, the_points_add_up_to_the_run, ()) {
  const plan::Plan plan = shop();
  Prng prng(*rc::gen::arbitrary<uint64_t>());
  Totals totals(plan);
  uint64_t second = 0;
  for (int i = 0; i < 200; ++i) {
    const bool late = prng.chance(0.3);
    if (!late) second += prng.chance(0.05) ? prng.below(100'000) : 1 + prng.below(30);
    metrics::Window part = prices(plan, late ? prng.below(second + 1) : second, {2});
    if (prng.chance(0.5)) part.series[kOrdersOfPay].add(3);
    late ? totals.amend(part) : totals.add(part);
    if (prng.chance(0.05)) totals = Totals::restore(plan, totals.save());
    uint64_t values = 0;
    for (const MetricPoint& point : totals.series_of(kPrice)) values += point.figure.count;
    RC_ASSERT(values == totals.sum().series[kPriceOfBuy].count);
    double orders = 0;
    for (const MetricPoint& point : totals.series_of(kOrders)) orders += point.figure.sum;
    RC_ASSERT(orders == totals.sum().series[kOrdersOfPay].amount());
  }
}

}  // namespace
}  // namespace bellwether::aggregate
