#include <gtest/gtest.h>

#include "cluster/membership/member_table.h"

namespace bellwether::membership {
namespace {

TEST(RoundTrip, gives_a_member_the_time_it_usually_takes) {
  RoundTrip trip;
  const Duration low = Duration::millis(10);
  const Duration high = Duration::millis(300);
  EXPECT_EQ(trip.timeout(low, high), high) << "nothing is known yet";
  for (int i = 0; i < 50; ++i) trip.add(Duration::millis(40));
  EXPECT_NEAR(trip.timeout(low, high).millis_f(), 40, 2);
  for (int i = 0; i < 50; ++i) trip.add(Duration::millis(i % 2 == 0 ? 20 : 60));
  EXPECT_GT(trip.timeout(low, high), Duration::millis(100)) << "it varies, so it gets more";
  for (int i = 0; i < 50; ++i) trip.add(Duration::micros(200));
  EXPECT_EQ(trip.timeout(low, high), low);
  for (int i = 0; i < 50; ++i) trip.add(Duration::seconds(5));
  EXPECT_EQ(trip.timeout(low, high), high);
}

}  // namespace
}  // namespace bellwether::membership
