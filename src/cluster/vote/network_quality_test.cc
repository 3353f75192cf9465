#include <gtest/gtest.h>

#include "cluster/vote/vote_driver.h"

namespace bellwether::cluster {
namespace {

TEST(NetworkQuality, nobody_knows_until_something_was_asked) { EXPECT_FALSE(NetworkQuality().value()); }

TEST(NetworkQuality, round_trips_of_no_time_are_the_best_and_longer_ones_are_worse) {
  NetworkQuality quality;
  quality.answered(Duration::zero());
  EXPECT_DOUBLE_EQ(*quality.value(), 1);
  NetworkQuality far;
  far.answered(Duration::millis(100));
  EXPECT_DOUBLE_EQ(*far.value(), 0.5);
}

TEST(NetworkQuality, each_loss_costs_and_is_forgotten) {
  NetworkQuality quality;
  quality.answered(Duration::zero());
  quality.lost();
  EXPECT_DOUBLE_EQ(*quality.value(), 0.8);
  for (int i = 0; i < 50; ++i) quality.answered(Duration::zero());
  EXPECT_GT(*quality.value(), 0.99);
}

TEST(NetworkQuality, who_never_answers_is_not_there) {
  NetworkQuality quality;
  quality.lost();
  quality.lost();
  EXPECT_DOUBLE_EQ(*quality.value(), 0);
}

}  // namespace
}  // namespace bellwether::cluster
