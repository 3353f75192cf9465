#include <gtest/gtest.h>

#include "load/results/compare/compare.h"

namespace bellwether::results {
namespace {

// Two-sided values as tables print them.
TEST(Student, quantiles_are_those_of_the_tables) {
  EXPECT_NEAR(student_quantile(0.05, 1), 12.706, 0.001);
  EXPECT_NEAR(student_quantile(0.05, 2), 4.303, 0.001);
  EXPECT_NEAR(student_quantile(0.05, 10), 2.228, 0.001);
  EXPECT_NEAR(student_quantile(0.01, 19), 2.861, 0.001);
  EXPECT_NEAR(student_quantile(0.001, 29), 3.659, 0.001);
  EXPECT_NEAR(student_quantile(0.05, 10'000), 1.960, 0.001);
}

TEST(Student, the_quantile_is_where_the_distribution_says) {
  for (const int freedom : {1, 2, 3, 4, 7, 8, 29}) {
    for (const double alpha : {0.5, 0.1, 0.01, 1e-5}) {
      EXPECT_NEAR(student_within(student_quantile(alpha, freedom), freedom), 1 - alpha, 1e-8) << freedom;
    }
  }
}

}  // namespace
}  // namespace bellwether::results
