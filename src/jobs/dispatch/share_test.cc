#include "jobs/dispatch/share.h"

#include <gtest/gtest.h>
#include <set>

namespace bellwether::dispatch {
namespace {

TEST(Share, parts_lie_within_those_that_the_workflow_was_cut_into) {
  EXPECT_TRUE(is_good({0, 1, 1}));
  EXPECT_TRUE(is_good({3, 5, 8}));
  EXPECT_TRUE(is_good({kMostParts - 1, 1, kMostParts}));
  EXPECT_FALSE(is_good({0, 0, 8})) << "nothing";
  EXPECT_FALSE(is_good({0, 1, 0})) << "of nothing";
  EXPECT_FALSE(is_good({4, 5, 8})) << "one too far";
  EXPECT_FALSE(is_good({UINT32_MAX, 2, 8})) << "around the end of the numbers";
  EXPECT_FALSE(is_good({0, 9, 8}));
  EXPECT_FALSE(is_good({0, 1, kMostParts + 1}));
}

TEST(Share, a_later_owner_or_a_later_share_is_in_order) {
  const DispatchAttempt known = attempt_of(JobFence(3), ShareId(7));
  EXPECT_TRUE(election::in_order(attempt_of(JobFence(3), ShareId(8)), known));
  EXPECT_TRUE(election::in_order(attempt_of(JobFence(4), ShareId(1)), known));
  EXPECT_FALSE(election::in_order(known, known));
  EXPECT_FALSE(election::in_order(attempt_of(JobFence(2), ShareId(9)), known));
}

TEST(Share, ids_of_jobs_are_letters_digits_and_two_signs) {
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

TEST(Share, names_of_workers_do_not_steer_a_terminal) {
  EXPECT_TRUE(is_worker_name("w1.dc-west"));
  EXPECT_TRUE(is_worker_name("J\xc3\xbcrgen"));
  EXPECT_TRUE(is_worker_name(std::string(64, 'w')));
  EXPECT_FALSE(is_worker_name(""));
  EXPECT_FALSE(is_worker_name(std::string(65, 'w')));
  EXPECT_FALSE(is_worker_name("w\x1b[2J"));
  EXPECT_FALSE(is_worker_name("w\n"));
}

TEST(Share, each_outcome_and_each_phase_has_a_name_of_its_own) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kShareOutcomes; ++i) names.insert(to_string(static_cast<ShareOutcome>(i)));
  EXPECT_EQ(names.size(), kShareOutcomes);
  EXPECT_EQ(to_string(ShareOutcome::kCompleted), "completed");
  EXPECT_EQ(to_string(ShareOutcome::kIsolated), "isolated");
  EXPECT_EQ(to_string(ShareOutcome::kOvertime), "overtime");
  names.clear();
  for (std::size_t i = 0; i < kSharePhases; ++i) names.insert(to_string(static_cast<SharePhase>(i)));
  EXPECT_EQ(names.size(), kSharePhases);
  EXPECT_EQ(to_string(SharePhase::kEnded), "ended");
}

}  // namespace
}  // namespace bellwether::dispatch
