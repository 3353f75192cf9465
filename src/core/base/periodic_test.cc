#include "core/base/periodic.h"

#include <gtest/gtest.h>
#include <set>

namespace bellwether {
namespace {

TEST(Periodic, periods_are_the_base_and_some_of_the_spread) {
  Periodic periodic({Duration::seconds(60), Duration::seconds(5)}, Prng(1));
  std::set<Duration> seen;
  for (int i = 0; i < 100; ++i) {
    const Duration next = periodic.next();
    EXPECT_GE(next, Duration::seconds(60));
    EXPECT_LE(next, Duration::seconds(65));
    seen.insert(next);
  }
  EXPECT_GT(seen.size(), 90);
}

TEST(Periodic, what_must_happen_within_a_time_is_early_and_never_late) {
  const Duration most = Duration::millis(100);
  Periodic periodic(Period::up_to(most), Prng(1));
  std::set<Duration> seen;
  for (int i = 0; i < 100; ++i) {
    const Duration next = periodic.next();
    EXPECT_GE(next, most - most / 10);
    EXPECT_LE(next, most);
    seen.insert(next);
  }
  EXPECT_GT(seen.size(), 90);
}

TEST(Periodic, nodes_that_start_at_once_are_apart_from_the_beginning) {
  Duration least = Duration::max();
  Duration most = Duration::zero();
  for (uint64_t node = 0; node < 200; ++node) {
    const Duration first = Periodic(Period::about(Duration::seconds(10)), Prng(node)).first();
    EXPECT_LE(first, Duration::seconds(11));
    least = std::min(least, first);
    most = std::max(most, first);
  }
  EXPECT_LT(least, Duration::seconds(1));
  EXPECT_GT(most, Duration::seconds(10));
}

}  // namespace
}  // namespace bellwether
