#include <gtest/gtest.h>

#include "core/base/encoding.h"

namespace bellwether {
namespace {

TEST(ShellWord, is_quoted_where_a_shell_would_take_it_apart) {
  EXPECT_EQ(shell_word("/tmp/flock-1.yaml"), "/tmp/flock-1.yaml");
  EXPECT_EQ(shell_word("a flock"), "'a flock'");
  EXPECT_EQ(shell_word("$HOME"), "'$HOME'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("~"), "'~'");
}

}  // namespace
}  // namespace bellwether
