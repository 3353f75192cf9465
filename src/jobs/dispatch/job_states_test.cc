#include <algorithm>
#include <fstream>
#include <gmock/gmock.h>
#include <sstream>
#include <utility>
#include <vector>

#include "jobs/dispatch/job_record.h"

namespace bellwether::dispatch {
namespace {

using testing::HasSubstr;

template <class State>
std::string table(std::size_t states) {
  std::string out = "| state | may become |\n|---|---|\n";
  for (std::size_t i = 0; i < states; ++i) {
    const auto from = static_cast<State>(i);
    std::string next;
    for (std::size_t j = 0; j < states; ++j) {
      const auto to = static_cast<State>(j);
      if (may_become(from, to)) next += (next.empty() ? "" : ", ") + std::string(to_string(to));
    }
    out += "| " + std::string(to_string(from)) + " | " + (next.empty() ? "–" : next) + " |\n";
  }
  return out;
}

TEST(JobStates, the_documentation_has_the_moves_that_there_are) {
  std::ifstream file("docs/cluster/jobs.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr(table<JobState>(kJobStates)));
  EXPECT_THAT(text.str(), HasSubstr(table<WorkflowState>(kWorkflowStates)));
}

template <class State>
std::vector<State> reached_from(State begin, std::size_t states) {
  std::vector<State> found{begin};
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (std::size_t j = 0; j < states; ++j) {
      const auto to = static_cast<State>(j);
      const bool known = std::find(found.begin(), found.end(), to) != found.end();
      if (!known && may_become(found[i], to)) found.push_back(to);
    }
  }
  return found;
}

template <class State>
void expect_a_way(State begin, std::size_t states) {
  EXPECT_EQ(reached_from(begin, states).size(), states) << "one cannot be reached";
  for (std::size_t i = 0; i < states; ++i) {
    const std::vector<State> after = reached_from(static_cast<State>(i), states);
    EXPECT_TRUE(std::any_of(after.begin(), after.end(), [](State one) { return is_final(one); }))
        << to_string(static_cast<State>(i));
  }
}

TEST(JobStates, each_can_be_reached_and_left_towards_an_end) {
  expect_a_way(JobState::kSubmitted, kJobStates);
  expect_a_way(WorkflowState::kPending, kWorkflowStates);
}

TEST(JobStates, whatever_has_ended_stays_as_it_is) {
  for (std::size_t i = 0; i < kJobStates; ++i) {
    const auto from = static_cast<JobState>(i);
    for (std::size_t j = 0; j < kJobStates && is_final(from); ++j) {
      EXPECT_FALSE(may_become(from, static_cast<JobState>(j)));
    }
  }
  EXPECT_TRUE(is_final(WorkflowState::kSkipped));
}

TEST(JobStates, cancelling_wins_over_a_completion_until_that_is_recorded) {
  EXPECT_TRUE(may_become(JobState::kCompleting, JobState::kCancelling));
  EXPECT_FALSE(may_become(JobState::kCancelling, JobState::kCompleted));
  EXPECT_TRUE(may_become(JobState::kCompleting, JobState::kCompleted));
  EXPECT_FALSE(may_become(JobState::kCompleted, JobState::kCancelling));
}

TEST(JobStates, a_workflow_whose_worker_died_is_assigned_again) {
  WorkflowState state = WorkflowState::kPending;
  for (const WorkflowState next : {WorkflowState::kAssigned, WorkflowState::kRunning, WorkflowState::kRetrying,
                                   WorkflowState::kAssigned, WorkflowState::kRunning, WorkflowState::kCompleted}) {
    EXPECT_TRUE(may_become(std::exchange(state, next), next)) << to_string(next);
  }
}

}  // namespace
}  // namespace bellwether::dispatch
