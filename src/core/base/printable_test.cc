#include <gtest/gtest.h>

#include "core/base/encoding.h"

namespace bellwether {
namespace {

TEST(Printable, control_characters_cannot_reach_a_terminal) {
  EXPECT_EQ(printable("a\x1b[2Jb\x7f\n"), "a?[2Jb??");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "?31m");
  EXPECT_EQ(printable("größe µ"), "größe µ");
}

TEST(Printable, what_is_printable_stays_as_it_is) {
  EXPECT_EQ(printable("\xc2 x"), "\xc2 x") << "half a letter is no control character";
  for (const char* text : {"\xc2\xc2\x80", "\xc2\x80\x80", "\xc2\xc2\xc2\x9f\x9f"}) {
    EXPECT_EQ(printable(printable(text)), printable(text));
  }
}

}  // namespace
}  // namespace bellwether
