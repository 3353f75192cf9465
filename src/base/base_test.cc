#include <gtest/gtest.h>

#include "base/units.h"

namespace bellwether {
TEST(Units, durations_are_read_and_written) { EXPECT_EQ(parse_duration("1h30m")->ns(), 5400'000'000'000); }
}  // namespace bellwether
