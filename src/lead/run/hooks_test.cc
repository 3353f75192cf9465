#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/runtime/scope.h"
#include "core/runtime/temporary_testing.h"
#include "lead/run/term_report.h"
#include "sim/world.h"

namespace bellwether::lead {
namespace {

std::vector<nlohmann::json> lines_of(const std::string& path) {
  std::vector<nlohmann::json> lines;
  FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return lines;
  char text[4096];
  while (std::fgets(text, sizeof text, file) != nullptr) lines.push_back(nlohmann::json::parse(text));
  std::fclose(file);
  return lines;
}

TEST(JournalTest, audits_transitions_only_as_json_lines_whatever_bytes_they_hold) {
  const runtime::TemporaryFolder folder;
  const std::string path = folder.path("audit");
  {
    Journal journal(0, true, "lead");
    ASSERT_TRUE(journal.open_audit({}, path));
    journal.transition(WallTime{1'000'000'000'123'000'000}, "elected", "leading \"k\xff\"\n",
                       {{"key", std::string("k\xff")}, {"epoch", 7}});
    journal.warn(WallTime{}, "no transition");
    journal.step(WallTime{}, "renewed", "no transition", {});
  }
  const auto lines = lines_of(path);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["time"], "2001-09-09T01:46:40.123Z");
  EXPECT_EQ(lines[0]["event"], "elected");
  EXPECT_EQ(lines[0]["epoch"], 7);
  EXPECT_EQ(lines[0]["key"], "k\xef\xbf\xbd");
}

TEST(JournalTest, appends_to_the_log_of_earlier_lives_and_refuses_a_file_that_cannot_be_made) {
  const runtime::TemporaryFolder folder;
  for (int life = 0; life < 2; ++life) {
    Journal journal(0, false, "lead");
    ASSERT_TRUE(journal.open_audit({}, folder.path("audit")));
    journal.transition(WallTime{}, "elected", "", {});
  }
  EXPECT_EQ(lines_of(folder.path("audit")).size(), 2U);
  Journal journal(-1, false, "lead");
  EXPECT_FALSE(journal.open_audit({}, folder.path("none/audit")));
}

// Hooks on a simulated machine whose programs take as long as their command says in seconds.
struct Stage {
  Journal journal{-1, false, "lead"};
  std::vector<std::pair<std::string, std::string>> wanted;  // calls: seconds and their texts
  bool end = false;
  std::vector<std::string> begun;
  bool over = false;

  static sim::ProgramScript play(void* context, const runtime::SpawnOptions& options) {
    auto& self = *static_cast<Stage*>(context);
    self.begun.push_back(options.argv.back() + " " + options.environment.front().second);
    sim::ProgramScript script;
    script.runs_for = Duration::seconds(std::atoi(options.argv.back().c_str()));
    script.end.exit_code = options.argv.back() == "1" ? 3 : 0;
    return script;
  }
};

// Hands on what the test wants, within the simulated process.
runtime::task<void> hand_on(runtime::Runtime& runtime, Stage& stage, Hooks& hooks, runtime::Cancellation& end) {
  while (!stage.end || !stage.wanted.empty()) {
    for (auto& [seconds, what] : std::exchange(stage.wanted, {})) hooks.call(seconds, {{"WHAT", what}});
    co_await runtime.sleep(Duration::millis(1));
  }
  end.cancel();
}

runtime::task<void> run_hooks(runtime::Runtime& runtime, void* context) {
  auto& self = *static_cast<Stage*>(context);
  Hooks hooks(runtime, self.journal);
  runtime::Cancellation end;
  runtime::Scope scope;
  scope.spawn(hand_on(runtime, self, hooks, end));
  co_await hooks.run(&end);
  co_await scope.join();
  self.over = true;
}

class HooksTest : public testing::Test {
 protected:
  HooksTest() {
    node_.programs().set(&Stage::play, &stage_);
    node_.start(&run_hooks, &stage_);
  }
  void call(const std::string& seconds, const std::string& what) { stage_.wanted.emplace_back(seconds, what); }

  Stage stage_;
  sim::World world_{1};
  sim::Node& node_ = world_.add_node("a");
};

TEST_F(HooksTest, run_one_after_the_other_in_the_order_of_the_calls) {
  call("2", "first");
  call("", "nothing");
  call("1", "second");
  call("2", "third");
  world_.run_for(Duration::seconds(1));
  EXPECT_EQ(stage_.begun, (std::vector<std::string>{"2 first"}));
  world_.run_for(Duration::millis(1500));
  EXPECT_EQ(stage_.begun.size(), 2U);
  world_.run_for(Duration::seconds(1));
  EXPECT_EQ(stage_.begun, (std::vector<std::string>{"2 first", "1 second", "2 third"})) << "also after one that failed";
}

TEST_F(HooksTest, end_one_that_takes_longer_than_ten_seconds) {
  call("1000", "slow");
  call("1", "next");
  world_.run_for(Duration::seconds(9));
  EXPECT_EQ(stage_.begun.size(), 1U);
  world_.run_for(Duration::seconds(2));
  EXPECT_EQ(stage_.begun.size(), 2U);
}

TEST_F(HooksTest, drop_the_oldest_when_more_happens_than_they_can_tell) {
  for (int i = 0; i < 70; ++i) call("1", std::to_string(i));
  world_.run_for(Duration::minutes(2));
  ASSERT_EQ(stage_.begun.size(), 64U);
  EXPECT_EQ(stage_.begun.back(), "1 69");
}

TEST_F(HooksTest, run_what_waits_before_they_end) {
  call("1", "first");
  call("1", "last");
  stage_.end = true;
  world_.run_for(Duration::seconds(5));
  EXPECT_EQ(stage_.begun.size(), 2U);
  EXPECT_TRUE(stage_.over);
}

TEST_F(HooksTest, end_within_the_time_of_one_hook_however_many_wait) {
  for (int i = 0; i < 5; ++i) call("1000", std::to_string(i));
  world_.run_for(Duration::seconds(4));
  stage_.end = true;
  world_.run_for(Duration::seconds(11));
  EXPECT_TRUE(stage_.over);
  EXPECT_LT(stage_.begun.size(), 4U);
}

}  // namespace
}  // namespace bellwether::lead
