#include "load/plan/feeder.h"

#include <gmock/gmock.h>

#include "load/plan/json_path.h"

namespace bellwether::plan {
namespace {

using testing::ElementsAre;
using Format = Feeder::Format;

auto make(std::string text, Format format, char delimiter = ',') {
  return Feeder::make(scenario::view_of(std::move(text)), {format, delimiter});
}

// "line:column message"
std::string trouble(std::string text, Format format) {
  const auto made = make(std::move(text), format);
  if (made) return "";
  const Feeder::Trouble& what = made.error();
  return std::to_string(what.line) + ":" + std::to_string(what.column) + " " + what.message;
}

std::string value(const Feeder& feeder, uint64_t row, const RowField& field) {
  std::string out;
  return feeder.read(feeder.row(row), field, out) ? out : "(none)";
}
RowField column(uint16_t number) { return {.slot = 0, .column = number, .path = {}}; }
RowField member(std::string_view path) { return {.slot = 0, .column = 0, .path = *parse_json_path(path)}; }

TEST(Feeder, csv_has_a_row_for_each_line_after_the_first) {
  const auto feeder = make("\xEF\xBB\xBFname,age\r\nann,1\r\n\r\n\"b\"\"o\nb\",2\r\n\ncy,3", Format::kCsv);
  ASSERT_TRUE(feeder) << feeder.error().message;
  EXPECT_THAT((*feeder)->names(), ElementsAre("name", "age"));
  ASSERT_EQ((*feeder)->rows(), 3u);
  EXPECT_EQ(value(**feeder, 0, column(0)), "ann");
  EXPECT_EQ(value(**feeder, 1, column(0)), "b\"o\nb");
  EXPECT_EQ(value(**feeder, 1, column(1)), "2");
  EXPECT_EQ(value(**feeder, 2, column(0)), "cy");
}

TEST(Feeder, json_is_an_array_of_objects_and_jsonl_one_a_line) {
  const auto array = make("\xEF\xBB\xBF [ {\"n\": \"a]\"},\n{\"n\": 1.0}\n , {\"m\": 3} ]\n", Format::kJson);
  ASSERT_TRUE(array) << array.error().message;
  ASSERT_EQ((*array)->rows(), 3u);
  EXPECT_EQ(value(**array, 0, member("$.n")), "a]");
  EXPECT_EQ(value(**array, 1, member("$.n")), "1.0");
  EXPECT_EQ(value(**array, 2, member("$.n")), "(none)");
  EXPECT_THAT((*array)->names(), ElementsAre("n"));
  const auto lines = make("\n{\"n\": 1}\r\n  \n  {\"n\": {\"m\": [true]}}", Format::kJsonl);
  ASSERT_TRUE(lines) << lines.error().message;
  ASSERT_EQ((*lines)->rows(), 2u);
  EXPECT_EQ(value(**lines, 1, member("$.n.m[0]")), "true");
}

// Rows of lengths that differ, with what could be taken for the end of one.
TEST(Feeder, each_row_is_found_by_its_number) {
  constexpr int kRows = 1'000;
  std::string csv = "id,text\n";
  std::string json = "[";
  std::string jsonl;
  for (int i = 0; i < kRows; ++i) {
    const std::string id = std::to_string(i);
    csv += id + ",\"" + std::string(static_cast<std::size_t>(i % 7), '\n') + "\"\"\"\n" + (i % 5 == 0 ? "\r\n" : "");
    const std::string object =
        "{\"id\": " + id + ", \"text\": \"" + std::string(static_cast<std::size_t>(i % 7), ',') + "}\"}";
    json += (i == 0 ? "" : i % 3 == 0 ? "\n ,\n" : ",") + object;
    jsonl += (i % 4 == 0 ? "  " : "") + object + (i % 5 == 0 ? "\n \r\n" : "\n");
  }
  const auto from_csv = make(csv, Format::kCsv);
  const auto from_json = make(json + "]", Format::kJson);
  const auto from_jsonl = make(jsonl, Format::kJsonl);
  ASSERT_TRUE(from_csv) << from_csv.error().message;
  ASSERT_TRUE(from_json) << from_json.error().message;
  ASSERT_TRUE(from_jsonl) << from_jsonl.error().message;
  ASSERT_EQ((*from_csv)->rows(), uint64_t{kRows});
  ASSERT_EQ((*from_json)->rows(), uint64_t{kRows});
  ASSERT_EQ((*from_jsonl)->rows(), uint64_t{kRows});
  for (uint64_t i = 0; i < kRows; ++i) {
    ASSERT_EQ(value(**from_csv, i, column(0)), std::to_string(i));
    ASSERT_EQ(value(**from_json, i, member("$.id")), std::to_string(i));
    ASSERT_EQ(value(**from_jsonl, i, member("$.id")), std::to_string(i));
  }
}

TEST(Feeder, says_where_csv_is_wrong) {
  EXPECT_EQ(trouble("", Format::kCsv), "1:1 there is no line that names the columns");
  EXPECT_EQ(trouble("a,b\n", Format::kCsv), "0:0 there is no row after the line that names the columns");
  EXPECT_EQ(trouble("a,b\n1,2\n\n3\n", Format::kCsv), "4:1 the row has 1 field, and the first line names 2");
  EXPECT_EQ(trouble("a,b\n1,2,3\n", Format::kCsv), "2:1 the row has 3 fields, and the first line names 2");
  EXPECT_EQ(trouble("a,,c\n", Format::kCsv), "1:3 column 2 has no name");
  EXPECT_EQ(trouble("\xEF\xBB\xBF"
                    "a,b,a\n",
                    Format::kCsv),
            "1:5 two columns are called 'a'");
  EXPECT_EQ(
      trouble("a\nx\ny\"z\n", Format::kCsv),
      "3:2 a quote in a field that does not begin with one: put the field into quotes, and write the quote twice");
  EXPECT_EQ(trouble("a\n\"x\"y\n", Format::kCsv),
            "2:4 a delimiter or the end of the line is expected after the closing quote");
  EXPECT_EQ(trouble("a\n\"x\n\n", Format::kCsv), "2:1 a quote is not closed");
  EXPECT_EQ(trouble("\xFF\xFE"
                    "a",
                    Format::kCsv),
            "1:1 this is no text in UTF-8");
  const std::string fix = "; convert the file, for example with `iconv -f LATIN1 -t UTF-8`";
  EXPECT_EQ(trouble("name\nann\nb\xE4rbel\n", Format::kCsv), "3:2 this is no text in UTF-8: byte 0xE4" + fix);
  EXPECT_EQ(trouble("{\"a\": \"\xC3\"}", Format::kJsonl), "1:8 this is no text in UTF-8: byte 0xC3" + fix);
  EXPECT_EQ(trouble("n\n\xC3\xA4\xF0\x9F\x90\x91\n", Format::kCsv), "");
}

TEST(Feeder, says_where_json_is_wrong) {
  EXPECT_EQ(trouble("{}", Format::kJson), "1:1 an array of objects is expected: [");
  EXPECT_EQ(trouble("[]", Format::kJson), "0:0 there is no row");
  EXPECT_EQ(trouble("[{}, 1]", Format::kJson), "1:6 a row is an object: { is expected");
  EXPECT_EQ(trouble("[{},\n {\"a\" 1}]", Format::kJson), "2:7 this is not JSON: ':' is expected");
  EXPECT_EQ(trouble("[{}", Format::kJson), "1:4 this is not JSON: ',' or ']' is expected");
  EXPECT_EQ(trouble("[{}] x", Format::kJson), "1:6 this is not JSON: something comes after the array");
  EXPECT_EQ(trouble("\n\n", Format::kJsonl), "0:0 there is no row");
  EXPECT_EQ(trouble("{}\n[]", Format::kJsonl), "2:1 a row is an object: { is expected");
  EXPECT_EQ(trouble("{} {}\n", Format::kJsonl), "1:3 a row is one object, and its line goes on");
  EXPECT_EQ(trouble("{\"a\":\n1}\n", Format::kJsonl), "1:6 a row is one line, and this object goes on behind it");
}

TEST(Feeder, has_limits) {
  std::string wide;
  for (std::size_t i = 0; i <= kMaxColumns; ++i) wide += (i == 0 ? "c" : ",c") + std::to_string(i);
  EXPECT_THAT(trouble(wide + "\n", Format::kCsv), testing::EndsWith("there are more than 1000 columns"));
  EXPECT_EQ(trouble("a\n1\n" + std::string(kMaxRowBytes + 1, 'x') + "\n", Format::kCsv),
            "3:1 the row is longer than 1 MiB");
  EXPECT_EQ(trouble("{\"a\": \"" + std::string(kMaxRowBytes, 'x') + "\"}", Format::kJsonl),
            "1:1 the row is longer than 1 MiB");
}

// Other programs may change a mapped file while it is read: the reader must never touch memory outside of it.
TEST(Feeder, a_file_that_changes_does_no_harm) {
  auto text = std::make_shared<std::string>("a,b\n1,2\n3,4\n5,6\n");
  const auto feeder = Feeder::make({*text, text}, {Format::kCsv, ','});
  ASSERT_TRUE(feeder);
  std::fill(text->begin(), text->end(), '"');
  EXPECT_EQ(value(**feeder, 2, column(1)), "(none)");
  std::fill(text->begin(), text->end(), '\n');
  EXPECT_EQ(value(**feeder, 2, column(1)), "(none)");
}

Feed feed_of(int rows, Feed::Pick pick) {
  std::string text = "n\n";
  for (int i = 0; i < rows; ++i) text += std::to_string(i) + "\n";
  return {*make(text, Format::kCsv), pick, false, {}};
}

TEST(RowOf, parts_take_all_rows_evenly_one_after_the_other) {
  const Feed feed = feed_of(7, Feed::Pick::kSequential);
  for (const uint32_t parts : {1u, 2u, 3u, 7u, 12u}) {
    std::vector<int> times(7);
    // Each part takes seven.
    for (uint32_t part = 0; part < parts; ++part) {
      for (uint64_t taken = 0; taken < 7; ++taken) ++times[row_of(feed, taken, part, parts, 1, 0)];
    }
    EXPECT_THAT(times, testing::Each(static_cast<int>(parts)));
  }
  EXPECT_EQ(row_of(feed, 0, 1, 3, 1, 0), 1u);
  EXPECT_EQ(row_of(feed, 1, 1, 3, 1, 0), 4u);
  EXPECT_EQ(row_of(feed, 2, 1, 3, 1, 0), 0u);  // 7, from the beginning again
}

TEST(RowOf, a_user_keeps_its_row_and_random_is_what_was_drawn) {
  const Feed own = feed_of(3, Feed::Pick::kUniquePerVu);
  EXPECT_EQ(row_of(own, 0, 1, 2, 2, 0), 1u);
  EXPECT_EQ(row_of(own, 9, 1, 2, 2, 0), 1u);
  EXPECT_EQ(row_of(own, 0, 0, 2, 4, 0), 0u);
  EXPECT_EQ(row_of(feed_of(3, Feed::Pick::kRandom), 5, 0, 2, 4, 2), 2u);
}

}  // namespace
}  // namespace bellwether::plan
