#include <gtest/gtest.h>
#include <sstream>

#include "load/report/reports.h"
#include "load/report/sample_run_testing.h"

namespace bellwether::report {
namespace {

struct Line {
  double value = 0;
  double ratio = 0;
  double count = 0;
};

std::vector<Line> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::string line;
  std::vector<Line> out;
  while (std::getline(in, line)) {
    std::istringstream cells(line);
    Line one;
    if (cells >> one.value >> one.ratio >> one.count) out.push_back(one);
  }
  return out;
}

TEST(Hdr, values_shares_and_counts_rise_to_the_longest_and_to_all) {
  metrics::Histogram histogram;
  for (int i = 1; i <= 10'000; ++i) histogram.record(Duration::micros(100 * i));
  const std::string text = percentile_text(histogram);
  EXPECT_TRUE(text.starts_with("       Value     Percentile TotalCount 1/(1-Percentile)\n\n"));
  const std::vector<Line> lines = lines_of(text);
  ASSERT_GT(lines.size(), 40U);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    EXPECT_GE(lines[i].value, lines[i - 1].value);
    EXPECT_GT(lines[i].ratio, lines[i - 1].ratio);
    EXPECT_GE(lines[i].count, lines[i - 1].count);
  }
  EXPECT_DOUBLE_EQ(lines[0].ratio, 0);
  EXPECT_NEAR(lines[5].ratio, 0.5, 1e-9);
  EXPECT_NEAR(lines[5].value, 500, 1);
  EXPECT_NEAR(lines[5].count, 5'000, 10);
  EXPECT_DOUBLE_EQ(lines.back().ratio, 1);
  EXPECT_DOUBLE_EQ(lines.back().count, 10'000);
  EXPECT_NEAR(lines.back().value, 1000, 1);
  EXPECT_NE(text.find("Total count    =        10000]"), std::string::npos) << text;
}

TEST(Hdr, one_value_and_none_have_an_end) {
  metrics::Histogram histogram;
  EXPECT_TRUE(lines_of(percentile_text(histogram)).empty());
  histogram.record(Duration::millis(3));
  EXPECT_EQ(lines_of(percentile_text(histogram)).size(), 1U);
}

TEST(Hdr, a_step_is_found_by_its_name_and_a_slip_is_told) {
  const auto run = read_result(to_json(open_run()->report));
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(to_hdr(*run, "browse.pay").value(), percentile_text(run->steps[1].response.waits()));
  EXPECT_EQ(to_hdr(*run, "").value(), percentile_text(all_response(*run).waits()));
  const auto wrong = to_hdr(*run, "browse.pai");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code, Errc::kNotFound);
  EXPECT_NE(wrong.error().message.find("did you mean 'browse.pay'?"), std::string::npos);
}

}  // namespace
}  // namespace bellwether::report
