#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/scope.h"
#include "load/local/control_socket.h"
#include "load/plan/load_testing.h"

namespace bellwether::node {
namespace {

using Json = nlohmann::json;

// Users that wait for an answer that never comes.
plan::Plan plan_of(const std::string& workflows) {
  plan::TestSources sources("workflows:\n" + workflows);
  auto plan = sources.load();
  check(plan.has_value(), "the test's scenario is right");
  return std::move(*plan);
}

std::string workflow(const std::string& name, const std::string& executor) {
  return "  " + name + ": {" + executor + ", steps: {a: {http: {get: \"http://127.0.0.1:1/\"}, think: 20ms}}}\n";
}

class RunControlsTest : public testing::Test {
 protected:
  // Sends a run all these lines when it goes, and returns the answers.
  std::vector<Json> tell(const plan::Plan& plan, const std::vector<std::string>& lines) {
    LocalRun run(*runtime_, plan, {.cores = 1, .seed = 1});
    check(run.prepare().has_value(), "the plan is right");
    RunControls controls(run, plan, "0123");
    std::vector<Json> answers;
    runtime_->run(beside(&run, &controls, &lines, &answers));
    ending_ = run.ending();
    events_.clear();
    for (const report::Event& event : run.events()) {
      if (!event.kind.starts_with("generator_")) events_.push_back(event.kind);  // those depend on the machine
    }
    return answers;
  }

  static runtime::task<void> beside(LocalRun* run, RunControls* controls, const std::vector<std::string>* lines,
                                    std::vector<Json>* answers) {
    auto going = run->run();
    for (const std::string& line : *lines) answers->push_back(Json::parse(controls->answer(line)));
    co_await going;
  }

  std::unique_ptr<runtime::EpollRuntime> runtime_ = std::move(*runtime::EpollRuntime::create({}));
  aggregate::Ending ending_ = aggregate::Ending::kCompleted;
  std::vector<std::string> events_;
};

TEST_F(RunControlsTest, a_run_is_paused_resumed_scaled_and_stopped) {
  const plan::Plan plan = plan_of(workflow("w", "executor: externally-controlled, vus: 2, max_vus: 20"));
  const auto answers =
      tell(plan, {R"({"do": "status"})", R"({"do": "pause"})", R"({"do": "pause"})", R"({"do": "vus", "vus": 7})",
                  R"({"do": "resume"})", R"({"do": "stop"})", R"({"do": "resume"})", R"({"do": "status"})"});
  EXPECT_EQ(answers[0]["state"], "running");
  EXPECT_EQ(answers[0]["run"], "0123");
  EXPECT_EQ(answers[0]["controlled"], Json::parse(R"([{"name": "w", "vus": 2, "max_vus": 20}])"));
  EXPECT_EQ(answers[1]["state"], "paused");
  EXPECT_EQ(answers[3]["controlled"][0]["vus"], 7);
  EXPECT_EQ(answers[4]["state"], "running");
  EXPECT_EQ(answers[5]["state"], "stopping");
  EXPECT_EQ(answers[6]["ok"], false) << "it is too late";
  EXPECT_EQ(answers[7]["state"], "stopping");
  EXPECT_EQ(ending_, aggregate::Ending::kCompleted) << "that is how it ends";
  EXPECT_EQ(events_, (std::vector<std::string>{"paused", "scaled", "resumed", "stopping"}));
}

TEST_F(RunControlsTest, a_run_that_has_an_end_is_cancelled_by_a_stop) {
  tell(plan_of(workflow("w", "vus: 2, duration: 1h")), {R"({"do": "stop"})"});
  EXPECT_EQ(ending_, aggregate::Ending::kCancelled);
}

runtime::task<void> stop_before_the_second(runtime::Runtime* control, LocalRun* run) {
  auto going = run->run();
  while (run->workflow_states()[1].skipped_because.find("depends") != std::string::npos) {
    co_await control->sleep(Duration::millis(1));
  }
  run->stop("the test says so");
  co_await going;
}

TEST_F(RunControlsTest, a_run_that_is_stopped_while_its_next_workflow_waits_for_a_whole_second_ends_then) {
  const plan::Plan plan =
      plan_of(workflow("one", "vus: 1, iterations: 1") + workflow("two", "depends: [one], vus: 1, duration: 1h"));
  LocalRun run(*runtime_, plan, {.cores = 1, .seed = 1});
  ASSERT_TRUE(run.prepare());
  const Instant before = runtime_->read_clock();
  runtime_->run(stop_before_the_second(runtime_.get(), &run));
  EXPECT_LE(run.running_for(), runtime_->read_clock() - before);
}

TEST_F(RunControlsTest, what_is_wrong_is_told_and_changes_nothing) {
  const std::string told = "executor: externally-controlled, vus: 2, max_vus: 20";
  const auto answers = tell(plan_of(workflow("one", told) + workflow("two", told)),
                            {R"({"do": "vus", "vus": 5})", R"({"do": "vus", "vus": 5, "workflow": "three"})",
                             R"({"do": "vus", "vus": 21, "workflow": "two"})", R"({"do": "vus", "vus": -1})",
                             R"({"do": "dance"})", "[]", "{", R"({"do": "status"})", R"({"do": "stop"})"});
  const char* const kErrors[] = {"name one: one, two", "no workflow 'three'", "at most 20 virtual users",
                                 "whole number",       "not 'dance'",         "not a JSON object",
                                 "not a JSON object"};
  for (std::size_t i = 0; i < std::size(kErrors); ++i) {
    EXPECT_EQ(answers[i]["ok"], false);
    EXPECT_NE(answers[i]["error"].get<std::string>().find(kErrors[i]), std::string::npos) << answers[i];
  }
  EXPECT_EQ(answers[7]["controlled"][0]["vus"], 2);
  EXPECT_EQ(answers[7]["controlled"][1]["vus"], 2);
}

TEST_F(RunControlsTest, nothing_to_scale_is_told) {
  const auto answers =
      tell(plan_of(workflow("w", "vus: 2, duration: 1h")), {R"({"do": "vus", "vus": 5})", R"({"do": "stop"})"});
  EXPECT_NE(answers[0]["error"].get<std::string>().find("externally-controlled"), std::string::npos);
}

}  // namespace
}  // namespace bellwether::node
