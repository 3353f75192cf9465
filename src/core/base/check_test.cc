#include "core/base/check.h"

#include <gtest/gtest.h>

namespace bellwether {
namespace {

TEST(Check, what_holds_passes) {
  check(true);
  check(1 + 1 == 2, "arithmetic");
}

TEST(CheckDeathTest, what_does_not_hold_aborts_and_says_where_and_what) {
  EXPECT_EXIT(check(false), testing::KilledBySignal(SIGABRT), "internal error at .*check_test\\.cc:[0-9]+ in ");
  EXPECT_EXIT(check(false, "the sky is up"), testing::KilledBySignal(SIGABRT), "check_test\\.cc.*: the sky is up");
}

}  // namespace
}  // namespace bellwether
