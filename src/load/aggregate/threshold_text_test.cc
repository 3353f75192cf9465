#include <gtest/gtest.h>

#include "load/aggregate/verdict.h"

namespace bellwether::aggregate {
namespace {

using plan::MetricKind;

TEST(ThresholdText, value_and_limit_have_the_unit_of_the_metric) {
  EXPECT_EQ(threshold_text("http_req_duration", "p(99)<0.02", MetricKind::kTrend, "ms", 0.092575, false),
            "http_req_duration p(99)=0.0926ms, limit <0.02ms");
  EXPECT_EQ(threshold_text("http_req_failed{step:shop.pay}", "rate <= 0.05", MetricKind::kRate, "", 0.5, false),
            "http_req_failed{step:shop.pay} rate=50%, limit <=5%");
  EXPECT_EQ(threshold_text("http_reqs", "rate>5000", MetricKind::kCounter, "", 1999.96, false),
            "http_reqs rate=2000/s, limit >5000/s");
  EXPECT_EQ(threshold_text("http_reqs", "count>5000", MetricKind::kCounter, "", 41, false),
            "http_reqs count=41, limit >5000");
  EXPECT_EQ(threshold_text("http_req_duration", "count>5", MetricKind::kTrend, "ms", 4, false),
            "http_req_duration count=4, limit >5");
  EXPECT_EQ(threshold_text("orders", "rate>5", MetricKind::kCounter, "EUR", 2.5, false),
            "orders rate=2.5 EUR/s, limit >5 EUR/s");
  EXPECT_EQ(threshold_text("vus", "max<10", MetricKind::kGauge, "", 12, false), "vus max=12, limit <10");
}

TEST(ThresholdText, rounding_never_hides_that_a_limit_is_missed) {
  EXPECT_EQ(threshold_text("d", "p(95)<300", MetricKind::kTrend, "ms", 300.0004, false),
            "d p(95)=300.0004ms, limit <300ms");
  EXPECT_EQ(threshold_text("d", "p(95)<300", MetricKind::kTrend, "ms", 300, false), "d p(95)=300ms, limit <300ms");
  EXPECT_EQ(threshold_text("f", "rate<0.01", MetricKind::kRate, "", 0.0100004, false), "f rate=1.00004%, limit <1%");
}

TEST(ThresholdText, a_lower_bound_is_marked_and_explained_where_it_seems_to_hold) {
  EXPECT_EQ(threshold_text("d", "p(95)<300", MetricKind::kTrend, "ms", 1000, true), "d p(95)≥1000ms, limit <300ms");
  EXPECT_EQ(threshold_text("d", "p(95)<300", MetricKind::kTrend, "ms", 45, true),
            "d p(95)≥45ms, limit <300ms (requests without a response may be slower)");
}

TEST(ThresholdText, an_expression_without_a_number_is_told_as_it_is) {
  EXPECT_EQ(threshold_text("d", "odd", MetricKind::kTrend, "ms", 12.5, false), "d odd: measured 12.5");
  EXPECT_EQ(threshold_text("d", "p(95)<", MetricKind::kTrend, "ms", 12.5, false), "d p(95)<: measured 12.5");
}

}  // namespace
}  // namespace bellwether::aggregate
