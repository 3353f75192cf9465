#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>
#include <string>
#include <vector>

#include "load/plan/rows.h"

namespace bellwether::plan {
namespace {

using testing::ElementsAre;

struct Row {
  std::vector<std::string> fields;
  CsvEnd end = CsvEnd::kRow;
  std::size_t at = 0;
};

Row read(std::string_view text, char delimiter = ',') {
  Row row;
  do {
    CsvField field;
    row.end = read_csv_field(text, row.at, delimiter, field);
    std::string value;
    append_csv(field, value);
    row.fields.push_back(value);
  } while (row.end == CsvEnd::kField);
  return row;
}

TEST(CsvRow, fields_end_with_the_delimiter_and_rows_with_lf_or_crlf) {
  EXPECT_THAT(read("a,b,c\nd").fields, ElementsAre("a", "b", "c"));
  EXPECT_THAT(read("a,b\r\nd").fields, ElementsAre("a", "b"));
  EXPECT_EQ(read("a,b\r\nd").at, 5u);
  EXPECT_THAT(read("a;b,c", ';').fields, ElementsAre("a", "b,c"));
  EXPECT_THAT(read(",\n").fields, ElementsAre("", ""));
  EXPECT_THAT(read(" a , b ").fields, ElementsAre(" a ", " b "));
}

TEST(CsvRow, quotes_hold_delimiters_line_ends_and_quotes) {
  EXPECT_THAT(read("\"a,\"\"b\"\"\r\n\",c\n").fields, ElementsAre("a,\"b\"\r\n", "c"));
  EXPECT_THAT(read("\"\",\"\"\"\"").fields, ElementsAre("", "\""));
  EXPECT_THAT(read("\"a\"\r\nb").fields, ElementsAre("a"));
}

TEST(CsvRow, says_where_a_quote_is_wrong) {
  EXPECT_EQ(read("a,b\"c\n").end, CsvEnd::kQuoteInside);
  EXPECT_EQ(read("a,b\"c\n").at, 3u);
  EXPECT_EQ(read("\"a\"b,c\n").end, CsvEnd::kAfterQuote);
  EXPECT_EQ(read("\"a\"b,c\n").at, 3u);
  EXPECT_EQ(read("a,\"b\nc").end, CsvEnd::kOpenQuote);
  EXPECT_EQ(read("a,\"b\nc").at, 2u);
}

TEST(CsvRow, is_passed_over_as_it_is_read) {
  EXPECT_EQ(after_csv_row("a,\"x\ny\"\nb", 0), 8u);
  EXPECT_EQ(after_csv_row("a", 0), 1u);
  EXPECT_EQ(skip_empty_lines("\n\r\na", 0), 3u);
  EXPECT_EQ(skip_empty_lines("\n\n", 0), 2u);
}

// A field as another program would write it.
std::string written(const std::string& value) {
  if (value.find_first_of(",\"\r\n") == std::string::npos) return value;
  std::string out = "\"";
  for (const char c : value) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

RC_GTEST_PROP(CsvRow, what_was_written_is_read_again, (const std::vector<std::vector<std::string>>& rows)) {
  std::string text;
  for (const auto& row : rows) {
    if (row.empty()) continue;
    for (std::size_t i = 0; i < row.size(); ++i) text += (i == 0 ? "" : ",") + written(row[i]);
    text += "\r\n";
  }
  std::string_view rest = text;
  for (const auto& row : rows) {
    if (row.empty()) continue;
    const Row got = read(rest);
    RC_ASSERT(got.fields == row);
    RC_ASSERT(got.at == after_csv_row(rest, 0));
    rest.remove_prefix(got.at);
  }
  RC_ASSERT(rest.empty());
}

}  // namespace
}  // namespace bellwether::plan
