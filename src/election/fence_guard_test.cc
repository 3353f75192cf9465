#include <gtest/gtest.h>

#include "election/epoch.h"

namespace bellwether::election {
namespace {

TEST(FenceGuard, admits_what_is_not_older_than_the_newest_it_has_seen) {
  FenceGuard guard;
  EXPECT_EQ(guard.admit(Epoch(3)), FenceGuard::Answer::kAdmittedNewer);
  EXPECT_EQ(guard.admit(Epoch(3)), FenceGuard::Answer::kAdmitted);
  EXPECT_EQ(guard.admit(Epoch(2)), FenceGuard::Answer::kRefused);
  EXPECT_EQ(guard.admit(Epoch(7)), FenceGuard::Answer::kAdmittedNewer);
  EXPECT_EQ(guard.highest(), Epoch(7));
  EXPECT_EQ(guard.admitted(), 3u);
  EXPECT_EQ(guard.refused(), 1u);
}

TEST(FenceGuard, goes_on_from_what_was_kept) {
  FenceGuard guard(Epoch(9));
  EXPECT_EQ(guard.admit(Epoch(8)), FenceGuard::Answer::kRefused);
}

TEST(FenceGuard, a_dispatch_is_admitted_once_only) {
  BasicFenceGuard<DispatchAttempt> guard;
  const DispatchAttempt first{JobFence(1), 1};
  const DispatchAttempt retry{JobFence(1), 2};
  const DispatchAttempt of_the_next_owner{JobFence(2), 1};
  EXPECT_NE(guard.admit(first), BasicFenceGuard<DispatchAttempt>::Answer::kRefused);
  EXPECT_EQ(guard.admit(first), BasicFenceGuard<DispatchAttempt>::Answer::kRefused);
  EXPECT_NE(guard.admit(retry), BasicFenceGuard<DispatchAttempt>::Answer::kRefused);
  EXPECT_NE(guard.admit(of_the_next_owner), BasicFenceGuard<DispatchAttempt>::Answer::kRefused);
  EXPECT_EQ(guard.admit(retry), BasicFenceGuard<DispatchAttempt>::Answer::kRefused);
}

TEST(FenceGuard, a_term_and_a_job_fence_may_repeat) {
  EXPECT_TRUE(in_order(Term(4), Term(4)));
  EXPECT_FALSE(in_order(Term(3), Term(4)));
  EXPECT_TRUE(in_order(JobFence(4), JobFence(4)));
}

}  // namespace
}  // namespace bellwether::election
