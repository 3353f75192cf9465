#include "jobs/dispatch/assignment.h"

#include <gtest/gtest.h>
#include <set>

namespace bellwether::dispatch {
namespace {

TEST(Assignment, parts_lie_within_those_that_the_workflow_was_cut_into) {
  EXPECT_TRUE(is_good({0, 1, 1}));
  EXPECT_TRUE(is_good({3, 5, 8}));
  EXPECT_TRUE(is_good({kMaxParts - 1, 1, kMaxParts}));
  EXPECT_FALSE(is_good({0, 0, 8})) << "nothing";
  EXPECT_FALSE(is_good({0, 1, 0})) << "of nothing";
  EXPECT_FALSE(is_good({4, 5, 8})) << "one too far";
  EXPECT_FALSE(is_good({UINT32_MAX, 2, 8})) << "around the end of the numbers";
  EXPECT_FALSE(is_good({0, 9, 8}));
  EXPECT_FALSE(is_good({0, 1, kMaxParts + 1}));
}

TEST(Assignment, a_later_owner_or_a_later_assignment_is_in_order) {
  const DispatchAttempt known = attempt_of(JobFence(3), AssignmentId(7));
  EXPECT_TRUE(election::in_order(attempt_of(JobFence(3), AssignmentId(8)), known));
  EXPECT_TRUE(election::in_order(attempt_of(JobFence(4), AssignmentId(1)), known));
  EXPECT_FALSE(election::in_order(known, known));
  EXPECT_FALSE(election::in_order(attempt_of(JobFence(2), AssignmentId(9)), known));
}

TEST(Assignment, ids_of_jobs_are_letters_digits_and_two_signs) {
  EXPECT_TRUE(is_job_id("a"));
  EXPECT_TRUE(is_job_id("Checkout_2026-11"));
  EXPECT_TRUE(is_job_id(std::string(64, 'f')));
  EXPECT_TRUE(is_bundle_hash(std::string(64, 'f'))) << "a SHA-256 in hexadecimal";
  for (const std::string& bad : {std::string(), std::string(65, 'f'), std::string("a/b"), std::string("a b"),
                                 std::string("\xc3\xa4"), std::string("a\0", 2), std::string("..")}) {
    EXPECT_FALSE(is_job_id(bad)) << bad;
    EXPECT_FALSE(is_bundle_hash(bad)) << bad;
  }
}

TEST(Assignment, names_of_workers_do_not_steer_a_terminal) {
  EXPECT_TRUE(is_worker_name("w1.dc-west"));
  EXPECT_TRUE(is_worker_name("J\xc3\xbcrgen"));
  EXPECT_TRUE(is_worker_name(std::string(64, 'w')));
  EXPECT_FALSE(is_worker_name(""));
  EXPECT_FALSE(is_worker_name(std::string(65, 'w')));
  EXPECT_FALSE(is_worker_name("w\x1b[2J"));
  EXPECT_FALSE(is_worker_name("w\n"));
}

TEST(Assignment, each_outcome_and_each_phase_has_a_name_of_its_own) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kAssignmentOutcomes; ++i) names.insert(to_string(static_cast<AssignmentOutcome>(i)));
  EXPECT_EQ(names.size(), kAssignmentOutcomes);
  EXPECT_EQ(to_string(AssignmentOutcome::kCompleted), "completed");
  EXPECT_EQ(to_string(AssignmentOutcome::kIsolated), "isolated");
  EXPECT_EQ(to_string(AssignmentOutcome::kOvertime), "overtime");
  names.clear();
  for (std::size_t i = 0; i < kAssignmentPhases; ++i) names.insert(to_string(static_cast<AssignmentPhase>(i)));
  EXPECT_EQ(names.size(), kAssignmentPhases);
  EXPECT_EQ(to_string(AssignmentPhase::kEnded), "ended");
}

}  // namespace
}  // namespace bellwether::dispatch
