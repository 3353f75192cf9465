#include <csignal>
#include <gmock/gmock.h>

#include "core/runtime/scope.h"
#include "sim/node.h"
#include "sim/sim_testing.h"

namespace bellwether::sim {
namespace {

using runtime::Child;
using runtime::Runtime;
using runtime::SpawnOptions;
using runtime::task;
using testing::ElementsAre;

// What the machine's programs do, and what their starter saw.
struct Stage {
  ProgramScript script;
  std::vector<std::string> started;
  std::vector<std::string> log;
  Duration patience = Duration::max();
  int signal = 0;
  Instant began;
  Instant ended;
};

ProgramScript play(void* context, const SpawnOptions& options) {
  auto& stage = *static_cast<Stage*>(context);
  stage.started.push_back(options.argv[0]);
  return stage.script;
}

task<void> signal_later(Runtime& runtime, Child& child, int number) {
  co_await runtime.sleep(Duration::seconds(3));
  (void)child.signal_group(number);
}

task<void> run_one(Runtime& runtime, void* context) {
  auto& stage = *static_cast<Stage*>(context);
  SpawnOptions options;
  options.argv = {"hook"};
  options.capture = 5;
  options.group = SpawnOptions::Group::kOwnGroup;
  auto spawned = co_await runtime.spawn(options);
  if (!spawned) {
    stage.log.emplace_back(to_string(spawned.error().code));
    co_return;
  }
  Child& child = **spawned;
  stage.began = runtime.now();
  runtime::Scope scope;
  if (stage.signal != 0) scope.spawn(signal_later(runtime, child, stage.signal));
  auto end = co_await child.wait(runtime.now() + stage.patience, nullptr);
  stage.ended = runtime.now();
  if (!end) {
    stage.log.emplace_back(to_string(end.error().code));
  } else {
    stage.log.push_back("exit " + std::to_string(end->exit_code) + " signal " + std::to_string(end->signal));
    stage.log.push_back(child.output());
  }
  co_await scope.join();
}

class ProgramsTest : public testing::Test {
 protected:
  void run(Duration span = Duration::seconds(60)) {
    node_.programs().set(&play, &stage_);
    node_.start(&run_one, &stage_);
    world_.run_for(span);
  }
  Duration took() const { return stage_.ended - stage_.began; }
  Stage stage_;
  World world_{13};
  Node& node_ = world_.add_node("node");
};

TEST_F(ProgramsTest, a_program_does_what_its_script_says) {
  stage_.script.runs_for = Duration::seconds(2);
  stage_.script.end = {4, 0};
  stage_.script.output = "good evening";
  run();
  EXPECT_THAT(stage_.started, ElementsAre("hook"));
  EXPECT_THAT(stage_.log, ElementsAre("exit 4 signal 0", "good "));
  EXPECT_EQ(took(), Duration::seconds(2));
}

TEST_F(ProgramsTest, a_machine_without_programs_starts_none) {
  node_.start(&run_one, &stage_);
  world_.run_for(Duration::seconds(1));
  EXPECT_THAT(stage_.log, ElementsAre("not_found"));
}

TEST_F(ProgramsTest, one_that_cannot_be_started_says_why) {
  stage_.script.refusal = Error{Errc::kRefused, "not today"};
  run();
  EXPECT_THAT(stage_.log, ElementsAre("refused"));
}

TEST_F(ProgramsTest, one_that_hangs_is_waited_for_as_long_as_somebody_likes) {
  stage_.script.runs_for = Duration::max();
  stage_.patience = Duration::seconds(5);
  run();
  EXPECT_THAT(stage_.log, ElementsAre("timeout"));
  EXPECT_EQ(took(), Duration::seconds(5));
}

TEST_F(ProgramsTest, a_signal_ends_one_that_hangs) {
  std::vector<int> signals;
  stage_.script.runs_for = Duration::max();
  stage_.script.output = "never said";
  stage_.script.signals = &signals;
  stage_.signal = SIGTERM;
  run();
  EXPECT_THAT(stage_.log, ElementsAre("exit 0 signal " + std::to_string(SIGTERM), ""));
  EXPECT_EQ(took(), Duration::seconds(3));
  EXPECT_THAT(signals, ElementsAre(SIGTERM));
}

TEST_F(ProgramsTest, a_stubborn_one_is_ended_only_by_the_signal_that_nobody_ignores) {
  stage_.script.runs_for = Duration::max();
  stage_.script.ignores_terminate = true;
  stage_.patience = Duration::seconds(10);
  stage_.signal = SIGTERM;
  run();
  EXPECT_THAT(stage_.log, ElementsAre("timeout"));
  stage_.log.clear();
  stage_.signal = SIGKILL;
  run();
  EXPECT_THAT(stage_.log, ElementsAre("exit 0 signal " + std::to_string(SIGKILL), ""));
}

TEST_F(ProgramsTest, a_program_ends_with_the_process_that_started_it) {
  stage_.script.runs_for = Duration::seconds(10);
  run(Duration::seconds(1));
  node_.kill();
  world_.run_for(Duration::seconds(60));
  EXPECT_THAT(stage_.log, testing::IsEmpty());
}

}  // namespace
}  // namespace bellwether::sim
