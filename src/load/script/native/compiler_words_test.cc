#include <gtest/gtest.h>

#include "load/script/native/build.h"

namespace bellwether::script::native {
namespace {

constexpr std::string_view kSource = "one\n  two();\nthree\nfour\nfive\n";

TEST(CompilerWords, an_error_comes_with_its_line) {
  EXPECT_EQ(first_errors("shop.cc:2:3: error: expected ';'\nshop.cc:1:1: note: to match this\n1 error generated.\n",
                         "shop.cc", kSource),
            "shop.cc:2:3: expected ';'\n    two();");
}

TEST(CompilerWords, an_error_in_a_header_is_told_in_the_line_that_leads_to_it) {
  EXPECT_EQ(first_errors("In file included from shop.cc:1:\n/usr/x.h:99:1: error: no member 'y'\n"
                         "/usr/x.h:50:1: note: in instantiation of 'z' requested here\n"
                         "shop.cc:3:7: note: in instantiation of 'a' requested here\n"
                         "shop.cc:4:7: note: in instantiation of 'b' requested here\n",
                         "shop.cc", kSource),
            "shop.cc:3:7: no member 'y'\n    three");
  EXPECT_EQ(first_errors("x.h: In instantiation of 'z':\nshop.cc:3:7:   required from here\n"
                         "x.h:99:1: error: no member 'y'\n",
                         "shop.cc", kSource),
            "shop.cc:3:7: no member 'y'\n    three")
      << "as gcc says it";
}

TEST(CompilerWords, only_the_first_are_told_and_none_twice) {
  EXPECT_EQ(first_errors("shop.cc:1:1: error: a\nshop.cc:1:9: error: a\nshop.cc:2:1: warning: w\n"
                         "shop.cc:2:1: error: b\nshop.cc:3:1: fatal error: c\n",
                         "shop.cc", kSource, 2),
            "shop.cc:1:1: a\n    one\nshop.cc:2:1: b\n    two();\nand more");
}

TEST(CompilerWords, what_is_not_understood_is_told_as_it_is) {
  EXPECT_EQ(first_errors("clang: error: no such file or directory: 'x'\n", "shop.cc", kSource),
            "clang: error: no such file or directory: 'x'");
  EXPECT_EQ(first_errors("ld: something is wrong\n", "shop.cc", kSource), "ld: something is wrong");
}

}  // namespace
}  // namespace bellwether::script::native
