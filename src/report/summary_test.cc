#include "report/summary.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

#include "report/sample_run_testing.h"
#include "report/text.h"

namespace bellwether::report {
namespace {

// Compares with src/report/testdata/NAME. BW_UPDATE_GOLDEN=1 writes the file instead, to be read before it is
// committed.
void expect_golden(const std::string& name, const std::string& got) {
  const std::string path = "src/report/testdata/" + name;
  if (std::getenv("BW_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << got;
    return;
  }
  std::ifstream in(path);
  ASSERT_TRUE(in) << path << " is missing (tests run in the top folder of the checkout)";
  std::stringstream expected;
  expected << in.rdbuf();
  EXPECT_EQ(got, expected.str());
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::stringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Summary, of_an_open_model_run_reads_as_agreed) { expect_golden("summary_open.txt", summary(open_run()->report)); }

TEST(Summary, of_a_closed_model_run_reads_as_agreed) {
  expect_golden("summary_closed.txt", summary(closed_run()->report));
}

TEST(Summary, lines_stay_within_the_width) {
  auto run = open_run();
  run->plan.steps[0].name = "browse." + std::string(200, 'x');
  run->plan.checks[0].name = std::string(200, 'y');
  run->plan.thresholds[0].metric_text = std::string(200, 'z');
  run->plan.workflows[0].name = std::string(200, 'w');
  for (const int width : {80, 100, 140}) {
    for (const std::string& line : lines_of(summary(run->report, {.color = false, .width = width}))) {
      EXPECT_LE(width_of(line), static_cast<std::size_t>(width)) << line;
    }
  }
}

TEST(Summary, has_escape_codes_only_with_colour_and_none_from_names) {
  const auto run = open_run();
  EXPECT_EQ(summary(run->report).find('\x1b'), std::string::npos);
  const std::string coloured = summary(run->report, {.color = true});
  EXPECT_NE(coloured.find("\x1b[31m"), std::string::npos);
  EXPECT_EQ(coloured.find("\x1b[2J"), std::string::npos);
}

TEST(Summary, colour_changes_nothing_but_colour) {
  const auto run = open_run();
  std::string coloured = summary(run->report, {.color = true});
  for (std::size_t at = coloured.find('\x1b'); at != std::string::npos; at = coloured.find('\x1b')) {
    coloured.erase(at, coloured.find('m', at) - at + 1);
  }
  EXPECT_EQ(coloured, summary(run->report));
}

TEST(Summary, the_verdict_is_the_last_line) {
  EXPECT_EQ(lines_of(summary(open_run()->report)).back(),
            "  FAIL  1 of 4 thresholds failed, 1 had no samples to judge (exit code 99)");
  EXPECT_EQ(lines_of(summary(closed_run()->report)).back(), "  PASS  no threshold was given (exit code 0)");
}

TEST(Summary, of_a_run_that_measured_nothing_has_no_figures_made_up) {
  plan::Plan plan = closed_run()->plan;
  const aggregate::Totals totals(plan);
  const RunReport run = conclude("id", kSampleStart, Duration::zero(), totals, 1, aggregate::Ending::kSignal);
  const std::string text = summary(run);
  EXPECT_EQ(text.find("LATENCY"), std::string::npos);
  EXPECT_EQ(text.find("DISTRIBUTION"), std::string::npos);
  EXPECT_EQ(text.find("nan"), std::string::npos);
  EXPECT_EQ(lines_of(text).back(), "  ABORTED  stopped by a signal before its end (exit code 105)");
}

TEST(RunReport, workflows_are_completed_stopped_or_skipped) {
  auto run = closed_run();
  run->plan.workflows[0].start_time = Duration::seconds(1);
  EXPECT_EQ(state_of(run->report, 0).status, "completed");
  EXPECT_EQ(state_of(run->report, 0).elapsed, Duration::seconds(1));
  run->report.ended_early = true;
  EXPECT_EQ(state_of(run->report, 0).status, "stopped");
  run->plan.workflows[0].start_time = Duration::seconds(2);
  EXPECT_EQ(state_of(run->report, 0).status, "skipped");
  EXPECT_FALSE(state_of(run->report, 0).skipped_because.empty());
}

}  // namespace
}  // namespace bellwether::report
