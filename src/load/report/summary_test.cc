#include <cstdlib>
#include <fstream>
#include <gmock/gmock.h>
#include <sstream>

#include "load/report/reports.h"
#include "load/report/sample_run_testing.h"
#include "load/report/text.h"

namespace bellwether::report {
namespace {

using testing::HasSubstr;

// Compares with src/load/report/testdata/NAME. BW_UPDATE_GOLDEN=1 writes the file instead, to be read before it is
// committed.
void expect_golden(const std::string& name, const std::string& got) {
  const std::string path = "src/load/report/testdata/" + name;
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

std::vector<std::string> summary_lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::stringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Summary, of_an_open_model_run_reads_as_agreed) { expect_golden("summary_open.txt", summary(open_run()->report)); }

TEST(Summary, of_a_closed_model_run_reads_as_agreed) {
  expect_golden("summary_closed.txt", summary(closed_run()->report));
}

TEST(Summary, of_a_run_that_lost_something_reads_as_agreed) {
  expect_golden("summary_spread.txt", summary(spread_run()->report));
}

// On narrow terminals tables continue below instead of being wrapped by the terminal.
TEST(Summary, of_80_and_of_60_columns_reads_as_agreed) {
  expect_golden("summary_open_80.txt", summary(open_run()->report, {.width = 80, .wraps_verdict = true}));
  expect_golden("summary_open_60.txt", summary(open_run()->report, {.width = 60, .wraps_verdict = true}));
  expect_golden("summary_metrics_80.txt", summary(measured_run()->report, {.width = 80, .wraps_verdict = true}));
}

// The lines from this heading to the next empty one.
std::vector<std::string> block(const std::string& text, const std::string& heading) {
  std::vector<std::string> out;
  for (const std::string& line : summary_lines_of(text)) {
    if (out.empty() ? line.starts_with(heading) : !line.empty()) {
      out.push_back(line);
    } else if (!out.empty()) {
      break;
    }
  }
  return out;
}

// With a pace they show the effect of a stall on iterations that were due meanwhile, and need no warning.
TEST(Summary, of_users_with_a_pace_shows_both_times) {
  auto run = closed_run();
  EXPECT_THAT(summary(run->report), HasSubstr("coordinated omission"));
  EXPECT_TRUE(block(summary(run->report), "LATENCY").size() == 4) << "only the response time";
  EXPECT_THAT(summary(run->report), testing::Not(HasSubstr("service:")));
  std::get<plan::ConstantVus>(run->plan.workflows[0].executor).pacing = plan::Delay::of(Duration::millis(5));
  metrics::Window late({1, 1, 0});
  late.second = 2;
  late.steps[0].response.unfinished.record(Duration::millis(700), 12);
  run->totals->add(late);
  const std::string text = summary(run->report);
  EXPECT_THAT(text, testing::Not(HasSubstr("coordinated omission")));
  EXPECT_THAT(text, HasSubstr("  response  "));
  EXPECT_THAT(text, HasSubstr("  service  "));
  EXPECT_THAT(text, HasSubstr("service: sent → done"));
  EXPECT_THAT(text, HasSubstr("12 not sent in time or cut off: their waits are lower bounds (≥)"));
}

TEST(Summary, has_a_row_for_each_tag_of_steps) {
  const auto run = tagged_run();
  const std::vector<std::string> tags = block(summary(run->report), "TAGS");
  ASSERT_EQ(tags.size(), 5u);
  EXPECT_EQ(tags[1], "             requests     rate  failed     p50      p95      p99      max");
  EXPECT_EQ(tags[3], "  api:v2       10,000  1,000/s   1.50%  10.7ms   19.7ms   20.5ms  ≥25.0ms");
  for (int i = 0; i < 100; ++i) run->plan.steps[0].tags.push_back({"z", std::to_string(i)});
  const std::vector<std::string> many = block(summary(run->report), "TAGS");
  ASSERT_EQ(many.size(), 2u + 24 + 2);
  EXPECT_EQ(many[26], "  … and 76 more tags, all in the result file");
  EXPECT_EQ(many[27], "  3 beyond these: only thresholds see them");
}

TEST(Summary, says_how_many_requests_are_left_out_or_were_sent_again) {
  const std::pair<uint64_t metrics::StepWindow::*, std::string> counts[] = {
      {&metrics::StepWindow::left_out, "left out    1,234  not measured, as the program asks"},
      {&metrics::StepWindow::repeated, "repeated    1,234  sent again: the server closed a kept connection"}};
  for (const auto& [count, line] : counts) {
    auto run = closed_run();
    EXPECT_THAT(summary(run->report), testing::Not(HasSubstr(line.substr(0, 8))));
    metrics::Window more({1, 1, 0});
    more.second = 2;
    more.steps[0].*count = 1'234;
    run->totals->add(more);
    EXPECT_THAT(summary(run->report), HasSubstr(line));
  }
}

TEST(Summary, an_arrival_on_a_cluster_has_only_the_users_of_its_core) {
  const auto run = open_run();
  EXPECT_THAT(summary(run->report), HasSubstr("raise vus.max (now 50)."));
  run->report.workers = {{"w1", 2, 1, WorkerState::kCompleted}};
  EXPECT_THAT(summary(run->report), HasSubstr("cluster has only its part of them)."));
}

TEST(Summary, lists_are_short_however_much_happened) {
  auto run = spread_run();
  RunReport& report = run->report;
  report.events.clear();
  std::string story;
  while (story.size() < 5000) story += "and then ";
  report.losses.clear();
  for (int i = 0; i < 11; ++i) report.losses.push_back({Duration::seconds(1), Duration::seconds(2 + i), 0.5, story});
  for (int i = 0; i < 50; ++i) {
    report.events.push_back({Duration::seconds(i), "worker_joined", "worker w" + std::to_string(i) + " is there"});
  }
  report.workers.clear();
  report.generator.cores = 2000;
  for (int i = 0; i < 500; ++i) {
    report.workers.push_back({"w" + std::to_string(i), 4, 1, i == 321 ? WorkerState::kLost : WorkerState::kCompleted});
  }
  const std::string text = summary(report);
  const auto notes = block(text, "NOTES");
  ASSERT_EQ(notes.size(), 1u + 3 + 10 + 1 + 10) << "with the three lines about the closed model";
  EXPECT_EQ(notes[13], "  - at 9s: worker w9 is there");
  EXPECT_EQ(notes[14], "  … and 30 more events, all in the result file");
  EXPECT_EQ(notes[15], "  - at 40s: worker w40 is there");
  const auto workers = block(text, "WORKERS  500 workers, 2,000 cores at once");
  ASSERT_EQ(workers.size(), 1u + 12 + 1);
  EXPECT_NE(workers[1].find("w321"), std::string::npos) << "what happened to somebody comes first";
  EXPECT_EQ(workers.back(), "  … and 488 more workers, all in the result file");
  const auto lost = block(text, "LOST");
  EXPECT_LT(lost.size(), 70u);
  EXPECT_EQ(std::count_if(lost.begin(), lost.end(), [](const auto& line) { return line.starts_with("  ! from"); }), 10);
  EXPECT_EQ(lost.back(), "  … and 1 more gap, all in the result file");
}

TEST(Summary, equal_losses_are_one_line_with_their_number) {
  auto run = spread_run();
  const plan::Loss one{Duration::seconds(1), Duration::seconds(2), 0.25, "worker 'w1' was lost"};
  const plan::Loss longer{Duration::seconds(1), Duration::seconds(3), 0.25, "worker 'w1' was lost"};
  run->report.losses = {one, longer, one, one};
  const auto lost = block(summary(run->report), "LOST");
  ASSERT_EQ(lost.size(), 1u + 2);
  EXPECT_EQ(lost[1], "  ! from 1s to 2s, 3 times 25.00% of the load: worker 'w1' was lost");
  EXPECT_EQ(lost[2], "  ! from 1s to 3s, 25.00% of the load: worker 'w1' was lost");
}

TEST(Summary, just_as_many_events_as_fit_are_all_shown) {
  auto run = spread_run();
  run->report.events.assign(20, {Duration::seconds(1), "late_data", "late"});
  EXPECT_EQ(block(summary(run->report), "NOTES").size(), 1u + 3 + 20);
  run->report.events.resize(21, {Duration::seconds(2), "late_data", "later"});
  const auto notes = block(summary(run->report), "NOTES");
  ASSERT_EQ(notes.size(), 1u + 3 + 10 + 1 + 10);
  EXPECT_EQ(notes[14], "  … and 1 more event, all in the result file");
  EXPECT_EQ(notes.back(), "  - at 2s: later");
}

TEST(Summary, lines_stay_within_the_width) {
  auto run = open_run();
  run->plan.steps[0].name = "browse." + std::string(200, 'x');
  run->plan.checks[0].name = std::string(200, 'y');
  run->plan.thresholds[0].metric_text = std::string(200, 'z');
  run->plan.workflows[0].name = std::string(200, 'w');
  for (const int width : {60, 80, 100, 140}) {
    for (const std::string& line :
         summary_lines_of(summary(run->report, {.color = false, .width = width, .wraps_verdict = true}))) {
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
  EXPECT_EQ(summary_lines_of(summary(open_run()->report)).back(),
            "  FAIL  1 threshold had no samples to judge; 1 of 4 thresholds failed: http_req_duration p(95)=20.2ms, "
            "limit <15ms "
            "(exit code 99)");
  EXPECT_EQ(summary_lines_of(summary(closed_run()->report)).back(), "  PASS  no threshold was given (exit code 0)");
}

TEST(Summary, of_an_unconfirmed_run_says_so_above_the_verdict) {
  const std::string text = summary(unconfirmed_run()->report);
  EXPECT_NE(text.find("\nUNCONFIRMED  the run may have made more load"), std::string::npos) << text;
  EXPECT_EQ(summary_lines_of(text).back(), "  INCONCLUSIVE  unconfirmed: no manager answers (exit code 120)");
  EXPECT_EQ(summary(closed_run()->report).find("UNCONFIRMED"), std::string::npos);
}

TEST(Summary, of_a_run_that_measured_nothing_has_no_figures_made_up) {
  plan::Plan plan = closed_run()->plan;
  const aggregate::Totals totals(plan);
  const RunReport run = conclude(totals, {.run_id = "id", .ending = aggregate::Ending::kSignal});
  const std::string text = summary(run);
  EXPECT_EQ(text.find("LATENCY"), std::string::npos);
  EXPECT_EQ(text.find("DISTRIBUTION"), std::string::npos);
  EXPECT_EQ(text.find("nan"), std::string::npos);
  EXPECT_EQ(summary_lines_of(text).back(), "  ABORTED  stopped by a signal before its end (exit code 105)");
}

TEST(Summary, bars_of_times_that_read_alike_are_one) {
  const auto distribution = [](Duration longest) {
    plan::Plan plan = closed_run()->plan;
    aggregate::Totals totals(plan);
    metrics::Window window(aggregate::shape_of(plan));
    for (const Duration time : {Duration::micros(1'000'100), Duration::micros(1'000'900), longest})
      window.steps[0].response.answered.record(time);
    totals.add(window, Duration::seconds(1));
    const std::string text = summary(conclude(totals, {.run_id = "id"}));
    const std::size_t begin = text.find("DISTRIBUTION");
    return begin == std::string::npos ? "" : text.substr(begin, text.find("\n\n", begin) - begin);
  };
  EXPECT_EQ(distribution(Duration::micros(1'000'900)), "");
  const std::string text = distribution(Duration::micros(1'040'000));
  EXPECT_EQ(text.find("≤ 1.00s"), text.rfind("≤ 1.00s")) << text;
  EXPECT_NE(text.find("≤ 1.00s  2  66.67%"), std::string::npos) << text;
  EXPECT_NE(text.find("≤ 1.04s  1  33.33%"), std::string::npos) << text;
}

TEST(Summary, times_that_are_lower_bounds_are_in_no_bar) {
  plan::Plan plan = closed_run()->plan;
  aggregate::Totals totals(plan);
  metrics::Window window(aggregate::shape_of(plan));
  for (const int64_t time : {1, 2, 3}) window.steps[0].response.answered.record(Duration::millis(time));
  window.steps[0].response.unanswered.record(Duration::nanos(4));
  totals.add(window, Duration::seconds(1));
  const std::string text = summary(conclude(totals, {.run_id = "id"}));
  EXPECT_THAT(text, testing::ContainsRegex("≤ 1.1[0-9]*ms +1  25.00%"));
  EXPECT_THAT(text, testing::ContainsRegex("no response  1  25.00%"));
  EXPECT_THAT(text, testing::Not(HasSubstr("≤ 4ns")));
}

TEST(RunReport, workflows_are_completed_stopped_or_skipped) {
  auto run = closed_run();
  run->plan.workflows[0].start_time = Duration::seconds(1);
  Course course{.run_id = "id", .elapsed = Duration::seconds(2)};
  EXPECT_EQ(conclude(*run->totals, course).workflows[0].status, "completed");
  EXPECT_EQ(conclude(*run->totals, course).workflows[0].elapsed, Duration::seconds(1));
  course.ending = aggregate::Ending::kSignal;
  EXPECT_EQ(conclude(*run->totals, course).workflows[0].status, "stopped");
  run->plan.workflows[0].start_time = Duration::seconds(2);
  EXPECT_EQ(conclude(*run->totals, course).workflows[0].status, "skipped");
  EXPECT_FALSE(conclude(*run->totals, course).workflows[0].skipped_because.empty());
}

}  // namespace
}  // namespace bellwether::report
