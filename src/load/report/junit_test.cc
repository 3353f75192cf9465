
#include <gmock/gmock.h>

#include "load/report/reports.h"
#include "load/report/sample_run_testing.h"
#include "load/report/text.h"

namespace bellwether::report {
namespace {

using testing::HasSubstr;

TEST(Junit, thresholds_and_checks_are_cases_and_what_could_not_be_judged_is_an_error) {
  const auto run = read_result(to_json(open_run()->report));
  ASSERT_TRUE(run.has_value());
  const std::string text = to_junit(*run);
  EXPECT_THAT(text, HasSubstr("<testsuite name=\"shop: thresholds\" tests=\"4\" failures=\"1\" errors=\"1\""));
  EXPECT_THAT(text, HasSubstr("<testsuite name=\"shop: checks\" tests=\"3\" failures=\"1\" errors=\"1\""));
  EXPECT_THAT(text, HasSubstr("classname=\"shop.browse.pay\" name=\"status is 200\""));
  EXPECT_THAT(text, HasSubstr("<failure type=\"checks\" message=\"50 of 9900 failed"));
  EXPECT_THAT(text, HasSubstr("name=\"http_req_duration p(95)&lt;15\""));
  EXPECT_THAT(text, HasSubstr("message=\"http_req_duration p(95)=20.2ms, limit &lt;15ms\""));
  EXPECT_THAT(text, HasSubstr("timestamp=\"2026-07-01T12:00:00\""));
}

TEST(Junit, a_failed_threshold_has_the_text_of_the_verdict) {
  auto run = read_result(to_json(open_run()->report));
  ASSERT_TRUE(run.has_value());
  run->thresholds = {{"first", "p(95)<10", 19.0, false},
                     {"holds", "rate>0.9", 0.95, true},
                     {"empty", "rate>0.9", std::nullopt, false},
                     {"last", "rate>100", 5.5, false}};
  run->reason = "2 of 4 thresholds failed";
  run->failed_thresholds = {"first p(95)=19 EUR, limit <10 EUR", "last rate=5.5/s, limit >100/s"};
  const std::string text = to_junit(*run);
  EXPECT_THAT(text, HasSubstr("2 of 4 thresholds failed: first p(95)=19 EUR, limit &lt;10 EUR; last rate=5.5/s"));
  EXPECT_THAT(text, HasSubstr("<failure type=\"thresholds\" message=\"first p(95)=19 EUR, limit &lt;10 EUR\"/>"));
  EXPECT_THAT(text, HasSubstr("message=\"last rate=5.5/s, limit &gt;100/s\"/>"));
  run->failed_thresholds.clear();
  EXPECT_THAT(to_junit(*run), HasSubstr("<failure type=\"thresholds\" message=\"measured 5.5\"/>")) << "an older file";
}

TEST(Junit, the_verdict_is_a_case_of_its_own) {
  auto run = read_result(to_json(closed_run()->report));
  ASSERT_TRUE(run.has_value());
  EXPECT_THAT(to_junit(*run), HasSubstr("verdict\" tests=\"1\" failures=\"0\" errors=\"0\""));
  run->verdict = "fail";
  EXPECT_THAT(to_junit(*run), HasSubstr("verdict\" tests=\"1\" failures=\"1\" errors=\"0\""));
  run->verdict = "inconclusive";
  EXPECT_THAT(to_junit(*run), HasSubstr("verdict\" tests=\"1\" failures=\"0\" errors=\"1\""));
}

TEST(Junit, nothing_of_an_unconfirmed_run_passes) {
  const std::string text = to_junit(*read_result(to_json(unconfirmed_run()->report)));
  EXPECT_THAT(text,
              HasSubstr("<error type=\"verdict\" message=\"inconclusive (exit code 120): unconfirmed: no manager"));
  EXPECT_THAT(text,
              HasSubstr("<error type=\"thresholds\" message=\"it held so far, but the result is unconfirmed\"/>"));
}

TEST(Junit, a_generator_that_was_the_bottleneck_is_said_with_its_remedy) {
  auto run = read_result(to_json(closed_run()->report));
  ASSERT_TRUE(run.has_value());
  EXPECT_THAT(to_junit(*run), HasSubstr("<system-out>The load generator was a bottleneck: its CPU was fully used. "
                                        "What helps: give it more cores"));
  run->saturated = false;
  EXPECT_THAT(to_junit(*run), testing::Not(HasSubstr("system-out")));
}

TEST(Markup, nothing_from_outside_is_markup_and_what_xml_cannot_hold_is_replaced) {
  EXPECT_EQ(escaped("<a b='c' d=\"e\">&"), "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;");
  EXPECT_EQ(escaped("\x1b[2J\x01"), "\xEF\xBF\xBD[2J\xEF\xBF\xBD");
  EXPECT_EQ(escaped("grün 日本 🐑"), "grün 日本 🐑");
  EXPECT_EQ(escaped("\xff\xc0\xaf\xed\xa0\x80!"),
            "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD!");
  EXPECT_EQ(escaped("\xe2\x82"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(escaped("\xef\xbf\xbe"), "\xEF\xBF\xBD");
}

}  // namespace
}  // namespace bellwether::report
