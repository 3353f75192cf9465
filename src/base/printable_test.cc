#include "base/printable.h"

#include <gtest/gtest.h>

namespace bellwether {
namespace {

TEST(Printable, control_characters_cannot_reach_a_terminal) {
  EXPECT_EQ(printable("a\x1b[2Jb\x7f\n"), "a?[2Jb??");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "?31m");
  EXPECT_EQ(printable("größe µ"), "größe µ");
}

}  // namespace
}  // namespace bellwether
