#include "load/console/steering.h"

#include <gtest/gtest.h>

#include "load/console/sample_view_testing.h"

namespace bellwether::console {
namespace {

struct Told final : Controls {
  bool can_pause() const override { return pauses; }
  bool paused() const override { return is_paused; }
  void pause() override { is_paused = true; }
  void resume() override { is_paused = false; }
  void stop(const std::string&) override { ++stops; }
  const char* stop_question() const override { return "Stop?"; }
  bool pauses = true;
  bool is_paused = false;
  int stops = 0;
};

class SteeringTest : public testing::Test {
 protected:
  void press(Key key) { console::press(steering_, key, view_, told_); }
  void turn_after(Duration span) {
    now_ += span;
    turn(steering_, view_, now_);
  }
  View view_ = sample_view();
  Steering steering_;
  Told told_;
  Instant now_;
};

TEST_F(SteeringTest, stops_only_after_a_yes) {
  press(Key::kQuit);
  EXPECT_EQ(steering_.dialog, Steering::Dialog::kStop);
  EXPECT_STREQ(steering_.question, "Stop?");
  press(Key::kNext);
  EXPECT_EQ(steering_.dialog, Steering::Dialog::kNone);
  EXPECT_EQ(told_.stops, 0);
  press(Key::kYes);
  EXPECT_EQ(told_.stops, 0);
  press(Key::kQuit);
  press(Key::kQuit);
  EXPECT_EQ(told_.stops, 0);
  press(Key::kQuit);
  press(Key::kYes);
  EXPECT_EQ(told_.stops, 1);
  EXPECT_EQ(steering_.workflow, 0u);
}

TEST_F(SteeringTest, pauses_and_goes_on_when_it_can) {
  press(Key::kPause);
  EXPECT_TRUE(told_.is_paused);
  press(Key::kPause);
  EXPECT_FALSE(told_.is_paused);
  told_.pauses = false;
  press(Key::kPause);
  EXPECT_FALSE(told_.is_paused);
}

TEST_F(SteeringTest, help_goes_with_any_key) {
  press(Key::kHelp);
  EXPECT_EQ(steering_.dialog, Steering::Dialog::kHelp);
  press(Key::kNext);
  EXPECT_EQ(steering_.dialog, Steering::Dialog::kNone);
  EXPECT_EQ(steering_.workflow, 0u);
}

TEST_F(SteeringTest, workflows_are_shown_in_turn_every_three_seconds) {
  steering_.shown.steps = 10;
  turn_after(Duration::millis(2900));
  EXPECT_EQ(steering_.workflow, 0u);
  turn_after(Duration::millis(100));
  EXPECT_EQ(steering_.workflow, 1u);
  turn_after(Duration::seconds(3));
  EXPECT_EQ(steering_.workflow, 0u);
}

TEST_F(SteeringTest, all_pages_of_a_workflow_come_before_the_next_one) {
  steering_.shown.steps = 2;
  turn_after(Duration::seconds(3));
  EXPECT_EQ(steering_.workflow, 0u);
  EXPECT_EQ(steering_.first_step, 2u);
  turn_after(Duration::seconds(3));
  EXPECT_EQ(steering_.workflow, 1u);
  EXPECT_EQ(steering_.first_step, 0u);
}

TEST_F(SteeringTest, a_workflow_in_which_nothing_happens_is_passed_over) {
  steering_.shown.steps = 10;
  view_.workflows[1].active = false;
  turn_after(Duration::seconds(3));
  EXPECT_EQ(steering_.workflow, 0u);
  press(Key::kNext);
  EXPECT_EQ(steering_.workflow, 1u) << "a key shows it all the same";
}

TEST_F(SteeringTest, a_key_holds_the_page_until_it_may_turn_again) {
  steering_.shown.steps = 10;
  press(Key::kNext);
  turn_after(Duration::seconds(60));
  EXPECT_EQ(steering_.workflow, 1u);
  press(Key::kPrevious);
  EXPECT_EQ(steering_.workflow, 0u);
  press(Key::kPrevious);
  EXPECT_EQ(steering_.workflow, 1u);
  press(Key::kAuto);
  turn_after(Duration::seconds(2));
  EXPECT_EQ(steering_.workflow, 1u);
  turn_after(Duration::seconds(1));
  EXPECT_EQ(steering_.workflow, 0u);
}

TEST_F(SteeringTest, steps_scroll_within_their_table) {
  steering_.shown.steps = 2;
  press(Key::kUp);
  EXPECT_EQ(steering_.first_step, 0u);
  press(Key::kDown);
  press(Key::kDown);
  EXPECT_EQ(steering_.first_step, 1u);
  press(Key::kUp);
  EXPECT_EQ(steering_.first_step, 0u);
}

TEST_F(SteeringTest, a_page_turns_to_what_it_did_not_show) {
  view_.workflows.resize(5, view_.workflows[0]);
  steering_.shown = {.steps = 10, .first_workflow = 0, .workflows = 3};
  turn_after(Duration::seconds(3));
  EXPECT_EQ(steering_.workflow, 3u);
  steering_.shown = {.steps = 10, .first_workflow = 2, .workflows = 3};
  turn_after(Duration::seconds(3));
  EXPECT_EQ(steering_.workflow, 0u);
  press(Key::kPrevious);
  EXPECT_EQ(steering_.workflow, 1u);
  press(Key::kNext);
  EXPECT_EQ(steering_.workflow, 0u);
}

TEST_F(SteeringTest, nothing_turns_when_all_workflows_are_shown) {
  steering_.shown = {.steps = 10, .first_workflow = 0, .workflows = 2};
  turn_after(Duration::seconds(60));
  press(Key::kNext);
  EXPECT_EQ(steering_.workflow, 0u);
}

TEST_F(SteeringTest, without_workflows_nothing_happens) {
  view_ = View();
  press(Key::kNext);
  press(Key::kDown);
  turn_after(Duration::seconds(10));
  EXPECT_EQ(steering_.workflow, 0u);
}

}  // namespace
}  // namespace bellwether::console
