#include "load/report/text.h"

#include <cmath>
#include <gtest/gtest.h>

namespace bellwether::report {
namespace {

TEST(Text, percentages_never_round_to_none_or_all) {
  EXPECT_EQ(percent(0, 10), "0.00%");
  EXPECT_EQ(percent(1, 1'000'000), "<0.01%");
  EXPECT_EQ(percent(1, 8), "12.50%");
  EXPECT_EQ(percent(999'999, 1'000'000), "99.99%");
  EXPECT_EQ(percent(10, 10), "100.00%");
  EXPECT_EQ(percent(0, 0), "-");
}

TEST(Text, decimals_keep_what_matters) {
  EXPECT_EQ(decimal(0), "0.00");
  EXPECT_EQ(decimal(1.234), "1.23");
  EXPECT_EQ(decimal(9.999), "10.0");
  EXPECT_EQ(decimal(999.9), "999.9");
  EXPECT_EQ(decimal(999.96), "1,000");
  EXPECT_EQ(decimal(12'345.6), "12,346");
  EXPECT_EQ(decimal(-1.5), "-1.5");
  EXPECT_EQ(decimal(std::nan("")), "nan");
}

TEST(Text, widths_count_characters) {
  EXPECT_EQ(width_of("µs…"), 3u);
  EXPECT_EQ(pad_left("µ", 3), "  µ");
  EXPECT_EQ(pad_right("µ", 3), "µ  ");
  EXPECT_EQ(pad_left("long", 2), "long");
}

TEST(Text, shortening_keeps_whole_characters) {
  EXPECT_EQ(shorten("abcdef", 6), "abcdef");
  EXPECT_EQ(shorten("abcdef", 4), "abc…");
  EXPECT_EQ(shorten("äöüß", 3), "äö…");
  EXPECT_EQ(shorten("abc", 0), "");
}

TEST(Text, wrapping_breaks_at_spaces_only) {
  EXPECT_EQ(wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap("unbreakable is", 4), (std::vector<std::string>{"unbreakable", "is"}));
  EXPECT_EQ(wrap(" a  b   c  ", 6), (std::vector<std::string>{"a  b", "c"}));
  EXPECT_TRUE(wrap("", 10).empty());
}

TEST(Text, columns_line_up_and_single_cells_stand_alone) {
  EXPECT_EQ(columns({{"", "p50"}, {"a long line of its own"}, {"name", "1µs", "x"}}),
            (std::vector<std::string>{"      p50", "a long line of its own", "name  1µs  x"}));
  EXPECT_EQ(columns({{"longer name", "1", "2"}}, 10), (std::vector<std::string>{"lon…  1  2"}));
}

TEST(Text, colour_is_written_only_when_asked_for) {
  EXPECT_EQ(styled("x", Style::kBad, false), "x");
  EXPECT_EQ(styled("x", Style::kBad, true), "\x1b[31mx\x1b[0m");
  EXPECT_EQ(styled("x", Style::kPlain, true), "x");
}

TEST(Text, thresholds_have_the_unit_of_their_figure) {
  plan::Plan plan;
  plan.metrics = {{"orders", plan::MetricKind::kCounter, "orders"},
                  {"price", plan::MetricKind::kTrend, "EUR"},
                  {"paid", plan::MetricKind::kRate, ""}};
  const auto unit = [&](const char* metric, plan::Aggregation aggregation) {
    plan::Threshold threshold;
    threshold.metric = metric;
    threshold.aggregation = aggregation;
    return unit_of(plan, threshold);
  };
  EXPECT_EQ(unit("http_req_duration", plan::Aggregation::kPercentile), "ms");
  EXPECT_EQ(unit("http_req_duration", plan::Aggregation::kCount), "count");
  EXPECT_EQ(unit("http_req_failed", plan::Aggregation::kRate), "fraction");
  EXPECT_EQ(unit("http_reqs", plan::Aggregation::kRate), "per_s");
  EXPECT_EQ(unit("vus", plan::Aggregation::kValue), "count");
  EXPECT_EQ(unit("orders", plan::Aggregation::kRate), "per_s");
  EXPECT_EQ(unit("price", plan::Aggregation::kMax), "EUR");
  EXPECT_EQ(unit("paid", plan::Aggregation::kRate), "fraction");
}

}  // namespace
}  // namespace bellwether::report
