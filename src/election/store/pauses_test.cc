#include <gtest/gtest.h>

#include "election/store/turns.h"

namespace bellwether::store {
namespace {

const Status kBroken = fail(Errc::kReset, "broken");
const Status kNever = fail(Errc::kUnsupported, "no");

TEST(Pauses, a_connection_that_came_to_its_end_is_followed_at_once) {
  Prng prng(1);
  EXPECT_EQ(Pauses().next(Duration::seconds(60), Status(), prng), Duration::zero());
  EXPECT_GT(Pauses().next(Duration::seconds(60), kBroken, prng), Duration::zero());
  EXPECT_GT(Pauses().next(Duration::millis(1), Status(), prng), Duration::zero()) << "a server that ends it at once";
}

TEST(Pauses, grow_while_it_fails_up_to_a_limit_and_begin_anew_after_a_good_one) {
  Prng prng(1);
  Pauses pauses;
  for (Duration longest = Pauses::kMinPause; longest < Pauses::kMaxPause * 4; longest = longest * 2) {
    const Duration pause = pauses.next(Duration::millis(1), kBroken, prng);
    EXPECT_GE(pause, std::min(longest, Pauses::kMaxPause) / 2);
    EXPECT_LE(pause, std::min(longest, Pauses::kMaxPause));
  }
  EXPECT_LE(pauses.next(Pauses::kGoodLife, kBroken, prng), Pauses::kMinPause);
}

TEST(Pauses, are_long_where_there_is_no_such_thing) {
  Prng prng(1);
  EXPECT_GE(Pauses().next(Duration::millis(1), kNever, prng), Pauses::kUnsupported / 2);
}

}  // namespace
}  // namespace bellwether::store
