#include "jobs/client/client_format.h"

#include <gmock/gmock.h>

#include "jobs/client/job_follower.h"
#include "jobs/client/scenario_files.h"

namespace bellwether::client::detail {
namespace {

using namespace std::chrono_literals;

plan::Plan two_workflows() {
  Scenario scenario;
  scenario.text = R"(
workflows:
  browse: {vus: 1, duration: 1s, steps: {list: {http: {get: "http://127.0.0.1:1/"}}}}
  pay: {vus: 1, duration: 1s, steps: {pay: {http: {get: "http://127.0.0.1:1/"}}}}
)";
  auto bundled = bundle_of(scenario);
  EXPECT_TRUE(bundled);
  return std::move(bundled->plan);
}

metrics::Window second_of(const plan::Plan& plan, uint64_t second) {
  metrics::Window out(aggregate::shape_of(plan));
  out.second = second;
  for (std::size_t s = 0; s < out.steps.size(); ++s) {
    for (int64_t i = 1; i <= 100; ++i) out.steps[s].service.record(Duration::millis(i * static_cast<int64_t>(s + 1)));
    out.steps[s].response = metrics::ResponseTimes();
    out.steps[s].count = 100;
    out.steps[s].failed = s;
    out.workflows[s].iterations = 50 + s;
    out.workflows[s].vus_active = 7;
  }
  return out;
}

TEST(ClientWords, events_that_were_left_out_are_counted_where_they_were) {
  dispatch::JobRecord record;
  for (int64_t i = 0; i < 200; ++i) record.events.push_back({Duration::seconds(i), "scaled", "x"});
  EXPECT_EQ(node::events_of(record).size(), 200U);
  record.events_dropped = 1234;
  const std::vector<dispatch::JobEvent> events = node::events_of(record);
  ASSERT_EQ(events.size(), 201U);
  EXPECT_EQ(events[100],
            (dispatch::JobEvent{Duration::seconds(100), "events_left_out", "1,234 events from here on are left out"}));
}

TEST(ClientWords, the_rate_of_a_step_is_per_second_in_which_its_workflow_ran) {
  const plan::Plan plan = two_workflows();
  aggregate::Totals totals(plan);
  for (const uint64_t second : {0, 1}) {
    metrics::Window window = second_of(plan, second);
    window.workflows[second].ran = Duration::millis(500);
    for (std::size_t s = 0; s < 2; ++s) window.steps[s].count = s == second ? 100 : 0;
    totals.add(window);
  }
  const Figures figures = figures_of(totals);
  EXPECT_DOUBLE_EQ(figures.rate_per_s, 100);
  EXPECT_DOUBLE_EQ(figures.steps.at(0).rate_per_s, 200);
  EXPECT_DOUBLE_EQ(figures.steps.at(1).rate_per_s, 200);
}

TEST(ClientWords, figures_are_those_of_all_samples_and_of_each_step) {
  const plan::Plan plan = two_workflows();
  const Figures figures = figures_of(plan, second_of(plan, 3), Duration::millis(500));
  EXPECT_EQ(figures.requests, 200U);
  EXPECT_EQ(figures.failed, 1U);
  EXPECT_EQ(figures.covered, 500ms);
  EXPECT_DOUBLE_EQ(figures.rate_per_s, 400);
  EXPECT_EQ(figures.service.count, 200U);
  EXPECT_EQ(figures.service.min, 1ms);
  EXPECT_EQ(figures.service.max, 200ms);
  // Half of the samples of both together are at or below 67 ms; the halves of the steps are 50 and 100.
  EXPECT_NEAR(static_cast<double>(figures.service.p50.count()), 67e6, 67e4);
  EXPECT_EQ(figures.response.count, 0U);
  EXPECT_EQ(figures.response.p99, 0ns);
  ASSERT_EQ(figures.steps.size(), 2U);
  EXPECT_EQ(figures.steps[1].workflow, "pay");
  EXPECT_EQ(figures.steps[1].name, "pay.pay");
  EXPECT_NEAR(static_cast<double>(figures.steps[0].service.p50.count()), 50e6, 50e4);
  EXPECT_NEAR(static_cast<double>(figures.steps[1].service.p99.count()), 198e6, 198e4);
  EXPECT_EQ(figures.workflows.at(1).iterations, 51U);
  EXPECT_EQ(figures.workflows.at(1).vus, 7);
}

TEST(ClientWords, a_workflow_has_its_own_steps_and_its_own_clock) {
  const plan::Plan plan = two_workflows();
  aggregate::Totals totals(plan);
  for (const uint64_t second : {0, 1}) {
    metrics::Window window = second_of(plan, second);
    window.workflows[1].ran = Duration::millis(500);
    totals.add(window);
  }
  dispatch::JobRecord record;
  record.workflows.resize(2);
  record.workflows[1].state = dispatch::WorkflowState::kFailed;
  record.workflows[1].why = "a target that is none";
  for (const auto& [workflow, ran] : {std::pair{0, 9}, {1, 2}, {1, 4}}) {
    dispatch::AssignmentRecord& assignment = record.assignments.emplace_back();
    assignment.workflow = static_cast<uint16_t>(workflow);
    assignment.end.emplace().ran = Duration::seconds(ran);
  }
  const WorkflowResult result = workflow_result_of(totals, record, 1);
  EXPECT_EQ(result.name, "pay");
  EXPECT_EQ(result.state, WorkflowState::kFailed);
  EXPECT_EQ(result.why, "a target that is none");
  EXPECT_EQ(result.elapsed, 4s);
  EXPECT_EQ(result.figures.iterations, 102U);
  ASSERT_EQ(result.steps.size(), 1U);
  EXPECT_EQ(result.steps[0].requests, 200U);
  EXPECT_DOUBLE_EQ(result.steps[0].rate_per_s, 200) << "of the measured time in which it ran";
}

TEST(ClientWords, the_cores_of_a_worker_and_of_the_run_are_those_that_run_load_at_once) {
  dispatch::JobRecord record;
  record.workflows.resize(2);
  record.workflows[1].base_second = 5;
  const auto add = [&](const std::string& worker, uint16_t workflow, uint64_t from, uint32_t cores) {
    dispatch::AssignmentRecord& one = record.assignments.emplace_back();
    one.worker = worker;
    one.workflow = workflow;
    one.from = from;
    one.cores = cores;
    one.parts = {0, cores, cores};
    one.streams = true;
    one.end.emplace().ran = Duration::seconds(5);
  };
  add("w1", 0, 0, 2);
  add("w2", 0, 0, 1);
  add("w1", 1, 5, 2);  // after the first
  add("w2", 1, 5, 1);
  add("w2", 1, 5, 1);  // beside it
  const report::Course course = node::course_of(record);
  ASSERT_EQ(course.workers.size(), 2U);
  EXPECT_EQ(course.workers[0].cores, 2U);
  EXPECT_EQ(course.workers[1].cores, 2U);
  EXPECT_EQ(course.cores, 4);
}

TEST(ClientWords, all_of_a_workflow_is_counted_when_the_totals_reach_beyond_its_last_second) {
  const plan::Plan plan = two_workflows();
  aggregate::Totals totals(plan);
  dispatch::JobRecord record;
  record.workflows.resize(2);
  EXPECT_TRUE(all_counted(record, 0, totals)) << "it has measured nothing";
  // Seconds 2 to 4 of the run; none of an assignment that never began, that is gone, or of another workflow.
  record.assignments.resize(4);
  for (const std::size_t i : {0, 2, 3}) {
    record.assignments[i].streams = i != 2;
    record.assignments[i].from = 2;
    record.assignments[i].end.emplace().last_number = i == 0 ? 3 : 100;
  }
  record.assignments[1].streams = true;
  record.assignments[1].from = 100;
  record.assignments[3].workflow = 1;
  EXPECT_FALSE(all_counted(record, 0, totals));
  for (const uint64_t second : {0, 1, 2, 3}) {
    totals.add(second_of(plan, second));
    EXPECT_FALSE(all_counted(record, 0, totals)) << second;
  }
  totals.add(second_of(plan, 4));
  EXPECT_TRUE(all_counted(record, 0, totals));
  EXPECT_FALSE(all_counted(record, 1, totals));
}

TEST(ClientWords, a_status_has_names_where_they_are_known) {
  const plan::Plan plan = two_workflows();
  dispatch::Watched watched;
  watched.record.id = "j";
  watched.record.state = dispatch::JobState::kRunning;
  watched.record.started = {1'500'000'000};
  watched.record.workflows.resize(2);
  watched.owner = "a";
  watched.position = 2;
  const Status plain = status_of(watched, nullptr);
  EXPECT_EQ(plain.workflows.at(1).name, "");
  EXPECT_FALSE(plain.live);
  EXPECT_EQ(plain.manager, "a");
  EXPECT_EQ(plain.queue_position, 2U);
  EXPECT_EQ(plain.started.time_since_epoch(), 1500ms);
  EXPECT_EQ(plain.submitted, Moment());
  watched.live.vus = 3;
  const Status named = status_of(watched, &plan);
  EXPECT_EQ(named.workflows.at(1).name, "pay");
  ASSERT_TRUE(named.live);
  EXPECT_EQ(named.live->vus, 3);
}

TEST(ClientWords, every_state_has_a_word) {
  EXPECT_EQ(to_string(JobState::kPartial), "partial");
  EXPECT_EQ(to_string(WorkflowState::kSkipped), "skipped");
  EXPECT_TRUE(has_ended(JobState::kCancelled));
  EXPECT_FALSE(has_ended(JobState::kCancelling));
}

TEST(ClientWords, errors_are_told_by_what_can_be_done_about_them) {
  const auto code = [](Errc errc) { return error_of(bellwether::Error{errc, "why"}).code; };
  EXPECT_EQ(code(Errc::kNotFound), Code::kNotFound);
  EXPECT_EQ(code(Errc::kExists), Code::kConflict);
  EXPECT_EQ(code(Errc::kRefused), Code::kRefused);
  EXPECT_EQ(code(Errc::kExhausted), Code::kUnavailable);
  EXPECT_EQ(code(Errc::kCancelled), Code::kClosed);
  for (const Errc one : {Errc::kTimeout, Errc::kReset, Errc::kClosed, Errc::kTls, Errc::kDns, Errc::kUnreachable}) {
    EXPECT_EQ(code(one), Code::kUnreachable);
  }
}

TEST(ClientWords, the_course_without_a_known_end_says_what_is_not_known) {
  const plan::Plan plan = two_workflows();
  aggregate::Totals totals(plan);
  for (uint64_t second = 0; second < 4; ++second) totals.add(second_of(plan, second), Duration::seconds(1));
  dispatch::JobRecord record;
  record.workflows.resize(2);
  record.workflows[0].state = dispatch::WorkflowState::kCompleted;
  record.workflows[1].state = dispatch::WorkflowState::kRunning;
  record.workflows[1].begun = true;
  record.workflows[1].parts = 3;
  record.workflows[1].base_second = 1;
  record.assignments.emplace_back().worker = "w1";
  record.assignments[0].streams = true;
  const report::Course course = node::unconfirmed_course(record, totals, "no manager answers");
  EXPECT_EQ(course.unconfirmed, "no manager answers");
  EXPECT_EQ(course.elapsed, Duration::seconds(4));
  EXPECT_EQ(course.workers.at(0).state, report::WorkerState::kUnconfirmed);
  ASSERT_EQ(course.workflows.size(), 2U);
  EXPECT_EQ(course.workflows[0].status, "completed");
  EXPECT_EQ(course.workflows[1].status, "unconfirmed");
  EXPECT_EQ(course.workflows[1].elapsed, Duration::seconds(3));
  EXPECT_EQ(course.workflows[1].cores, 3U);
  // No manager has ever answered.
  const report::Course nothing = node::unconfirmed_course({}, aggregate::Totals(plan), "no manager answers");
  ASSERT_EQ(nothing.workflows.size(), 2U);
  EXPECT_EQ(nothing.workflows[1].status, "unconfirmed");
}

}  // namespace
}  // namespace bellwether::client::detail
