#include <gtest/gtest.h>

#include "core/yaml/diagnostic.h"
#include "core/yaml/node.h"

namespace bellwether::yaml {
namespace {

// The first problem of a YAML text, as a person sees it; empty: none.
std::string problem_of(const std::string& text) {
  Diagnostics diagnostics("x.yaml");
  parse_yaml(text, diagnostics, "make it smaller");
  const auto list = diagnostics.take();
  return list.empty() ? std::string() : format(list.front());
}

TEST(Diagnostic, is_shown_with_place_finding_expectation_and_remedy) {
  Diagnostic diagnostic{.file = "shop.yaml",
                        .line = 12,
                        .column = 7,
                        .found = "'ten'",
                        .expected = "a whole number",
                        .message = "wrong value of 'vus'",
                        .hint = "did you mean '10'?"};
  EXPECT_EQ(format(diagnostic),
            "shop.yaml:12:7: wrong value of 'vus'\n  found: 'ten'\n  expected: a whole number\n  did you mean '10'?");
  diagnostic = {
      .file = "shop.yaml", .line = 0, .column = 0, .found = "'x'", .expected = "", .message = "no 'x'", .hint = ""};
  EXPECT_EQ(format(diagnostic), "shop.yaml: no 'x'");
}

TEST(Diagnostic, only_so_many_are_kept_and_they_come_in_the_order_of_the_file) {
  Diagnostics diagnostics("x.yaml");
  for (int line = 30; line > 0; --line) diagnostics.add({line, 1}, {.message = "m"});
  const auto list = diagnostics.take();
  ASSERT_EQ(list.size(), Diagnostics::kMaxDiagnostics);
  EXPECT_EQ(list.front().line, 11);
  EXPECT_EQ(list.back().line, 30);
}

TEST(Diagnostic, problems_of_one_subject_are_one_with_the_first_places) {
  Diagnostics diagnostics("x.yaml");
  for (int line = 9; line > 0; --line) diagnostics.add({line, 1}, {.message = "m", .subject = "s"});
  diagnostics.add({9, 1}, {.message = "m", .subject = "s"});
  diagnostics.add({5, 1}, {.message = "n", .subject = "t"});
  const auto list = diagnostics.take();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(format(list[0]),
            "x.yaml:1:1: m\n  also at x.yaml:2:1, x.yaml:3:1, x.yaml:4:1, x.yaml:5:1, x.yaml:6:1, and 3 places more");
  EXPECT_EQ(format(list[1]), "x.yaml:5:1: n");
}

TEST(Diagnostic, a_part_that_depends_on_a_fault_adds_independent_problems_only) {
  Diagnostics diagnostics("x.yaml");
  diagnostics.take_independent_only(true);
  diagnostics.add({1, 1}, {.message = "a consequence"});
  diagnostics.add({2, 1}, {.message = "m", .is_independent = true});
  diagnostics.take_independent_only(false);
  diagnostics.add({3, 1}, {.message = "n"});
  EXPECT_EQ(diagnostics.take().size(), 2u);
}

TEST(Diagnostic, each_report_counts_kept_or_not) {
  Diagnostics diagnostics("x.yaml");
  int completed = 0;
  const auto complete = [&](Diagnostics::Problem& problem) {
    ++completed;
    problem.hint = "h";
  };
  diagnostics.add({1, 1}, {.message = "m", .subject = "s", .complete = complete});
  diagnostics.add({2, 1}, {.message = "m", .subject = "s", .complete = complete});
  diagnostics.add({1, 1}, {.message = "m", .complete = complete});
  diagnostics.take_independent_only(true);
  diagnostics.add({3, 1}, {.message = "n", .complete = complete});
  EXPECT_EQ(diagnostics.reported(), 4u);
  EXPECT_EQ(completed, 1);
  while (diagnostics.reported() < Diagnostics::kMaxReported) {
    EXPECT_FALSE(diagnostics.full());
    diagnostics.add({4, 1}, {.message = "n"});
  }
  EXPECT_TRUE(diagnostics.full());
  diagnostics.add({5, 1}, {.message = "o", .is_independent = true});
  diagnostics.add({6, 1}, {.message = "m", .subject = "s", .is_independent = true});
  const auto list = diagnostics.take();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(format(list[0]), "x.yaml:1:1: m\n  h\n  also at x.yaml:2:1");
}

TEST(Diagnostic, quoted_text_is_short_and_printable) {
  EXPECT_EQ(in_quotes("a\nb\x01"), "'a\\nb?'");
  EXPECT_EQ(in_quotes(std::string(100, 'x')), "'" + std::string(60, 'x') + "…'");
}

TEST(Diagnostic, long_lists_are_cut) {
  const std::vector<std::string_view> many(31, "x");
  const std::string shown = one_of(many);
  EXPECT_TRUE(shown.starts_with("one of x, x") && shown.ends_with("x, …")) << shown;
  EXPECT_EQ(one_of(std::vector<std::string_view>{"x"}), "x");
}

TEST(Yaml, each_mistake_is_told_in_our_words_with_a_remedy) {
  struct Case {
    std::string_view text;
    std::string_view message;
    std::string_view hint;
  };
  constexpr std::string_view kQuotes = "inside [ ] and { }, put a text";
  constexpr std::string_view kIndent = "indent all keys of a map equally, and all items of a list";
  for (const Case& one : {
           Case{"a: [1, 2\nb: 3\n", "a list has '[' without ']'", kQuotes},
           Case{"a: {b: 1, c: 2\n", "a map has '{' without '}'", kQuotes},
           Case{"a: 1]\nb: ]\n", "']' or '}' has no '[' or '{' before it", kQuotes},
           Case{"- \"b\"\n  c\n", "this line is not indented like the items of the list", kIndent},
           Case{"a: 1\n  b: 2\n", "a key and ':' cannot stand here", "put a text that contains ': ' into quotes"},
           Case{"a:\n    b: 1\n  c: 2\n", "this line is not indented like the keys of the map", kIndent},
           Case{"a: ? b\n", "a key cannot stand here", kIndent},
           Case{"a: - b\n", "an item of a list ('-') cannot stand here", "begin a line with each item"},
           Case{"a: |\n  b\n\tc\n", "a tab indents this line", "indent with spaces, not with tabs"},
           Case{"a: @b\n", "no value begins with this character", "put a text that begins with @"},
           Case{"a: *b\n", "an alias (*NAME) has no anchor (&NAME) above it", "define the anchor first"},
           Case{"a: \"\\q\"\n", "unknown escape sequence after a backslash", "in double quotes, write"},
           Case{"a: \"\\ud83d\\ude00\"\n", "an escape in double quotes is no character", "one \\U0001F600 in place"},
       }) {
    const std::string told = problem_of(std::string(one.text));
    EXPECT_NE(told.find(one.message), std::string::npos) << told << "\n" << one.text;
    EXPECT_NE(told.find(one.hint), std::string::npos) << told << "\n" << one.text;
  }
}

TEST(Yaml, a_quote_that_is_never_closed_is_told) {
  EXPECT_EQ(problem_of("a: 1\nb: \"x\n"), "x.yaml:2:4: this is not YAML: a text in quotes is not closed");
  EXPECT_EQ(problem_of("a: 'it''\n"), "x.yaml:1:4: this is not YAML: a text in quotes is not closed");
  EXPECT_EQ(problem_of("- \"x\\\"\n"), "x.yaml:1:3: this is not YAML: a text in quotes is not closed");
  for (const char* text : {"a: 'x", "a: 'it''", "- \"x\\\""}) EXPECT_NE(problem_of(text), "") << text;
  EXPECT_EQ(problem_of("a: \"x\\\" y\"\nb: 'it''s'\nü: \"ü\"\n\"c\": ['', \"\"]\r\nd: \"two\n  lines\""), "");
}

TEST(Yaml, nodes_know_where_they_and_their_keys_stand) {
  Diagnostics diagnostics("x.yaml");
  const auto root = parse_yaml("a:\n  b: [1, \"2\"]\n", diagnostics);
  ASSERT_TRUE(root && root->is_map());
  const Node& b = root->items.at(0).items.at(0);
  EXPECT_EQ(b.key, "b");
  EXPECT_EQ(b.key_mark.line, 2);
  EXPECT_EQ(b.key_mark.column, 3);
  EXPECT_EQ(b.items.at(1).mark.column, 10);
  EXPECT_FALSE(b.items.at(0).is_quoted);
  EXPECT_TRUE(b.items.at(1).is_quoted);
}

TEST(Yaml, deep_nesting_is_refused_before_it_can_exhaust_the_stack) {
  EXPECT_EQ(problem_of(std::string(kMaxDepth, '[') + std::string(kMaxDepth, ']')), "");
  for (const char* open : {"[", "{", "[\n", "? ", "- "}) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += open;
    EXPECT_NE(problem_of(text).find("nested more than 64 levels deep"), std::string::npos) << open;
  }
}

TEST(Yaml, aliases_cannot_multiply_without_bound) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) bomb += before + (k == 9 ? "]\n" : ", ");
  }
  EXPECT_NE(problem_of(bomb).find("the document is too large"), std::string::npos);
  EXPECT_EQ(problem_of("a: &a [*a]"), "x.yaml:1:8: an alias refers to the value that contains it");
}

TEST(Yaml, only_one_document_is_read) {
  EXPECT_EQ(problem_of("a: 1\n---\nb: 2\n"),
            "x.yaml:3:1: a second document begins here\n  expected: one document in a file");
}

TEST(Yaml, text_copied_by_aliases_is_counted) {
  std::string text = "a: &a " + std::string(1'000'000, 'x') + "\nb: [*a";
  for (int i = 0; i < 20; ++i) text += ", *a";
  EXPECT_NE(problem_of(text + "]").find("the document is too large"), std::string::npos);
}

TEST(Yaml, files_are_limited) {
  EXPECT_EQ(problem_of(std::string(kMaxFileBytes + 1, ' ')),
            "x.yaml: the file is larger than 1 MiB\n  make it smaller");
}

}  // namespace
}  // namespace bellwether::yaml
