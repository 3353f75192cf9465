#include "load/console/draw.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sstream>

#include "load/console/sample_view_testing.h"

namespace bellwether::console {
namespace {

// Compares with src/load/console/testdata/NAME. BW_UPDATE_GOLDEN=1 writes the file instead, to be read before it is
// committed.
void expect_golden(const std::string& name, const Grid& grid) {
  std::string got;
  for (int row = 0; row < grid.rows(); ++row) got += grid.line(row) + "\n";
  const std::string path = "src/load/console/testdata/" + name;
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

std::string text_of(const Grid& grid) {
  std::string text;
  for (int row = 0; row < grid.rows(); ++row) text += grid.line(row) + "\n";
  return text;
}

View cluster_view() {
  View view = sample_view();
  view.where = "job 5f0c2a9e11d04b7a";
  view.placement = {"'browse' on w1 (2 cores)", "'buy' on w3 (1 core)"};
  return view;
}

View shop_of_many_workflows() {
  View view = sample_view();
  view.workflows.clear();
  for (int w = 0; w < 8; ++w) {
    const std::string name = "w" + std::to_string(w);
    view.workflows.push_back({.name = name, .iterations = 10, .users = 1, .active = true});
    view.workflows.back().steps = {sample_step(name + "a", 7, 0, 900), sample_step(name + "b", 3, 0, 800)};
  }
  return view;
}

// A run without an end, in which one second was a thousand times slower than the others.
View stalled_view() {
  View view = sample_view();
  view.planned = Duration::zero();
  for (PlotPoint& point : view.points) point.times.p99 = Duration::millis(9);
  view.points[70].times.p99 = Duration::seconds(9);
  return view;
}

TEST(Screen, of_30x8_reads_as_agreed) { expect_golden("30x8.txt", draw(sample_view(), {}, true, 30, 8).grid); }
TEST(Screen, of_160x48_shows_all_workflows) {
  const Drawn drawn = draw(shop_of_many_workflows(), {}, true, 160, 48);
  EXPECT_EQ(drawn.shown.workflows, 8u);
  expect_golden("160x48.txt", drawn.grid);
}
TEST(Screen, of_a_stall_reads_as_agreed) {
  expect_golden("stall_80x24.txt", draw(stalled_view(), {}, true, 80, 24).grid);
}
TEST(Screen, of_80x24_reads_as_agreed) { expect_golden("80x24.txt", draw(sample_view(), {}, true, 80, 24).grid); }
TEST(Screen, of_200x60_reads_as_agreed) { expect_golden("200x60.txt", draw(cluster_view(), {}, true, 200, 60).grid); }
TEST(Screen, of_40x10_reads_as_agreed) { expect_golden("40x10.txt", draw(sample_view(), {}, true, 40, 10).grid); }
TEST(Screen, of_20x5_reads_as_agreed) { expect_golden("20x5.txt", draw(sample_view(), {}, true, 20, 5).grid); }
TEST(Screen, in_ascii_reads_as_agreed) {
  const Drawn drawn = draw(sample_view(), {}, false, 80, 24);
  for (int row = 0; row < 24; ++row) {
    for (int column = 0; column < 80; ++column) {
      const char32_t character = drawn.grid.at(row, column).character;
      EXPECT_TRUE(character >= 0x20 && character < 0x7F);
    }
  }
  expect_golden("ascii_80x24.txt", drawn.grid);
}

TEST(Screen, shows_the_workflow_and_the_steps_that_are_steered_to) {
  View view = sample_view();
  Steering steering;
  steering.workflow = 1;
  EXPECT_NE(text_of(draw(view, steering, true, 80, 24).grid).find("buy (2/2)"), std::string::npos);
  for (int i = 0; i < 30; ++i) view.workflows[1].steps.push_back(sample_step("s" + std::to_string(i), 1, 0, 1));
  steering.first_step = 20;
  const Drawn drawn = draw(view, steering, true, 80, 24);
  const std::string text = text_of(drawn.grid);
  EXPECT_EQ(text.find("\ns18 "), std::string::npos);
  EXPECT_NE(text.find("\ns19 "), std::string::npos);
  EXPECT_NE(text.find("steps 21-" + std::to_string(20 + drawn.shown.steps) + " of 31"), std::string::npos) << text;
}

TEST(Screen, a_page_past_the_end_is_the_last_one) {
  View view = sample_view();
  for (int i = 0; i < 30; ++i) view.workflows[0].steps.push_back(sample_step("s" + std::to_string(i), 1, 0, 1));
  Steering steering;
  steering.first_step = 1000;
  EXPECT_NE(text_of(draw(view, steering, true, 80, 24).grid).find("\ns29 "), std::string::npos);
}

TEST(Screen, as_many_workflows_as_fit_are_a_page) {
  const View view = shop_of_many_workflows();
  Steering steering;
  Drawn drawn = draw(view, steering, true, 100, 40);
  EXPECT_EQ(drawn.shown.first_workflow, 0u);
  EXPECT_GT(drawn.shown.workflows, 1u);
  EXPECT_LT(drawn.shown.workflows, 8u);
  EXPECT_NE(drawn.grid.line(39).find("n next workflow"), std::string::npos);
  const std::size_t on_a_page = drawn.shown.workflows;
  steering.workflow = 7;
  drawn = draw(view, steering, true, 100, 40);
  EXPECT_EQ(drawn.shown.first_workflow + drawn.shown.workflows, 8u);
  EXPECT_EQ(drawn.shown.workflows, on_a_page) << "the last page leaves no rows empty";
  drawn = draw(view, steering, true, 100, 80);
  EXPECT_EQ(drawn.shown.workflows, 8u);
  EXPECT_EQ(drawn.grid.line(79).find("n next workflow"), std::string::npos);
}

TEST(Screen, failures_latency_and_rate_are_the_last_to_go) {
  for (int rows = 1; rows <= 12; ++rows) {
    for (const int columns : {24, 30, 40}) {
      const std::string text = text_of(draw(sample_view(), {}, true, columns, rows).grid);
      EXPECT_NE(text.find("failed 12 (<0.01%)"), std::string::npos) << columns << "x" << rows << "\n" << text;
      if (rows < 2) continue;
      EXPECT_NE(text.find("p99"), std::string::npos) << columns << "x" << rows << "\n" << text;
      EXPECT_NE(text.find("now 1,413/s"), std::string::npos) << columns << "x" << rows << "\n" << text;
    }
  }
}

TEST(Screen, failures_are_shown_with_their_causes) {
  View view = sample_view();
  view.failures = {{"connection refused", 612}, {"status 503", 188}, {std::string(70, 'x'), 1}};
  EXPECT_NE(text_of(draw(view, {}, true, 80, 24).grid).find("\nfailures connection refused 612 · status 503 188\n"),
            std::string::npos);
  EXPECT_NE(text_of(draw(view, {}, true, 24, 24).grid).find("\nfailures connection… 612\n"), std::string::npos);
  view.failures.clear();
  EXPECT_EQ(text_of(draw(view, {}, true, 80, 24).grid).find("failures"), std::string::npos);
}

TEST(Screen, asks_before_it_stops_and_names_the_keys) {
  Steering steering;
  steering.dialog = Steering::Dialog::kStop;
  steering.question = "Stop the run? Running iterations may finish.";
  for (const int columns : {80, 20}) {
    const Grid grid = draw(sample_view(), steering, true, columns, 24).grid;
    EXPECT_TRUE(grid.line(23).starts_with("y/n Stop")) << grid.line(23);
  }
}

TEST(Screen, offers_to_pause_only_what_can_be_paused) {
  Steering steering;
  EXPECT_EQ(draw(sample_view(), steering, true, 80, 24).grid.line(23).find("pause"), std::string::npos);
  steering.can_pause = true;
  EXPECT_NE(draw(sample_view(), steering, true, 80, 24).grid.line(23).find("p pause"), std::string::npos);
  steering.paused = true;
  EXPECT_NE(draw(sample_view(), steering, true, 80, 24).grid.line(23).find("p resume"), std::string::npos);
}

TEST(Screen, help_lists_the_keys_over_the_rest) {
  Steering steering;
  steering.dialog = Steering::Dialog::kHelp;
  const std::string text = text_of(draw(sample_view(), steering, true, 80, 24).grid);
  EXPECT_NE(text.find("q        stop the run"), std::string::npos) << text;
  EXPECT_EQ(text.find("p        pause"), std::string::npos);
}

TEST(Screen, thresholds_that_fail_are_seen_first) {
  const std::string text = text_of(draw(sample_view(), {}, true, 80, 24).grid);
  EXPECT_LT(text.find("✗ http_req_duration"), text.find("✓ http_req_failed"));
}

TEST(Screen, names_cannot_steer_the_terminal) {
  View view = sample_view();
  view.scenario = "evil\x1b[2J\xc2\x9b\xff\n";
  view.workflows[0].steps[0].name = "\x1b]0;x\x07";
  const Grid grid = draw(view, {}, true, 80, 24).grid;
  for (int row = 0; row < 24; ++row) {
    for (int column = 0; column < 80; ++column) {
      const char32_t character = grid.at(row, column).character;
      EXPECT_TRUE(character == 0 || (character >= 0x20 && (character < 0x7F || character > 0x9F)));
    }
  }
}

TEST(Screen, before_anything_is_known_is_drawn_too) {
  const std::string text = text_of(draw(View(), {}, true, 80, 24).grid);
  EXPECT_NE(text.find("requests 0"), std::string::npos) << text;
}

RC_GTEST_PROP(Screen, any_size_and_any_name_can_be_drawn, ()) {
  View view = sample_view();
  view.scenario = *rc::gen::string<std::string>();
  view.workflows[0].steps[0].name = *rc::gen::string<std::string>();
  Steering steering;
  steering.workflow = *rc::gen::inRange<std::size_t>(0, 4);
  steering.first_step = *rc::gen::inRange<std::size_t>(0, 9);
  steering.dialog = static_cast<Steering::Dialog>(*rc::gen::inRange(0, 3));
  const int columns = *rc::gen::inRange(0, 260);
  const int rows = *rc::gen::inRange(0, 70);
  const Drawn drawn = draw(view, steering, *rc::gen::arbitrary<bool>(), columns, rows);
  RC_ASSERT(drawn.grid.columns() == columns);
  RC_ASSERT(drawn.grid.rows() == rows);
  // A wide character has both its halves.
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const char32_t character = drawn.grid.at(row, column).character;
      const bool wide = columns_of(character) == 2;
      RC_ASSERT(!wide || (column + 1 < columns && drawn.grid.at(row, column + 1).character == 0));
      RC_ASSERT(character != 0 || (column > 0 && columns_of(drawn.grid.at(row, column - 1).character) == 2));
    }
  }
}

}  // namespace
}  // namespace bellwether::console
