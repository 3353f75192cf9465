#include "load/import/shell.h"

#include <gtest/gtest.h>

namespace bellwether::imports {
namespace {

// Words in brackets, a line each.
std::string words_of(std::string_view text) {
  yaml::Diagnostics diagnostics("cmd");
  std::string out;
  for (const auto& line : split_commands(text, diagnostics).lines) {
    for (const Word& word : line) out += "[" + word.text + "]";
    out += "\n";
  }
  for (const yaml::Diagnostic& diagnostic : diagnostics.take()) out += yaml::format(diagnostic) + "\n";
  return out;
}

TEST(Shell, words_end_at_blanks_and_quotes_join_them) {
  EXPECT_EQ(words_of("curl  -H 'A: b c' \"d e\"f'g'\t''"), "[curl][-H][A: b c][d efg][]\n");
  EXPECT_EQ(words_of(R"(a\ b \' "x\"y\\z\n")"), "[a b]['][x\"y\\z\\n]\n");
}

TEST(Shell, a_backslash_at_a_line_end_goes_on) {
  EXPECT_EQ(words_of("curl \\\n  -X \\\r\n POST ab\\\ncd"), "[curl][-X][POST][abcd]\n");
}

TEST(Shell, a_line_end_and_operators_begin_a_command) {
  EXPECT_EQ(words_of("a 1\nb; c & d | e && f"), "[a][1]\n[b]\n[c]\n[d]\n[e]\n[f]\n");
}

TEST(Shell, comments_and_redirections_are_left_out) {
  EXPECT_EQ(words_of("# first\ncurl u#1 # rest\ncurl a > out 2>/dev/null b 2>&1"), "[curl][u#1]\n[curl][a][b]\n");
}

TEST(Shell, ansi_quotes_have_escapes) {
  EXPECT_EQ(words_of(R"($'a\nb\t\'\x41\101\u00e9\U0001F600\q')"), "[a\nb\t'AA\xC3\xA9\xF0\x9F\x98\x80\\q]\n");
}

TEST(Shell, a_variable_is_a_template_and_a_dollar_is_not) {
  EXPECT_EQ(words_of("$A \"x${B}y\" '$C' \\$D 5$ '${E}'"), "[${A}][x${B}y][$C][$D][5$][$${E}]\n");
}

TEST(Shell, what_only_a_shell_knows_is_refused_with_its_place) {
  EXPECT_EQ(words_of("curl\n  $(date)"),
            "[curl]\ncmd:2:3: the output of a command cannot be imported\n  write its value, or a $NAME\n");
  EXPECT_NE(words_of("curl \"${A:-b}\"").find("cmd:1:7: this expansion"), std::string::npos);
  EXPECT_NE(words_of("curl 'a").find("cmd:1:6: a quote is not closed"), std::string::npos);
  EXPECT_NE(words_of("curl ^\"a").find("not for cmd"), std::string::npos);
}

}  // namespace
}  // namespace bellwether::imports
