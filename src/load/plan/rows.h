// Rows of files of data, in memory. Any bytes are safe to read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "load/plan/plan.h"

namespace bellwether::plan {

// CSV (RFC 4180): fields between delimiters, in quotes where they hold delimiters, quotes or line ends. Lines end with
// LF or CRLF. Bytes are never interpreted otherwise.
struct CsvField {
  std::string_view text;  // without the quotes around it
  bool quoted = false;    // a quote in `text` is doubled
};

// The end of a field; from kQuoteInside on: its problem.
enum class CsvEnd : unsigned char {
  kField,
  kRow,          // another row, or the end of the text
  kQuoteInside,  // of a field that does not begin with one
  kAfterQuote,   // other text than a delimiter or a line end comes after the closing quote
  kOpenQuote     // the closing quote is missing
};

// Reads the field at `at` and moves `at` behind its end, or to the place of the error.
CsvEnd read_csv_field(std::string_view text, std::size_t& at, char delimiter, CsvField& field);

// Appends the value of the field.
void append_csv(const CsvField& field, std::string& out);

// The beginning of the row after the one at `at`; the size of `text` after the last one.
std::size_t after_csv_row(std::string_view text, std::size_t at);

// The beginning of the next row that is not empty, at `at` or after it.
std::size_t skip_empty_lines(std::string_view text, std::size_t at);

// JSON documents (RFC 8259) in memory, one after the other: their syntax is checked, the encoding of texts is not.

// Appends a character in UTF-8.
void append_utf8(uint32_t code, std::string& out);

// Moves `at` behind white space.
void skip_json_space(std::string_view text, std::size_t& at);

// Moves `at` behind the value that begins there. On an error returns the problem, with `at` at the place. Values nest
// at most 64 levels deep.
const char* skip_json(std::string_view text, std::size_t& at);

// Appends the value at `path`, which names one value, of the value with which `text` begins: a text without quotes, all
// else unchanged. False: no such value.
bool find_json(std::string_view text, const JsonPath& path, std::string& out);

// The names of the members of the object with which `text` begins, as written, at most `most`.
std::vector<std::string> members_of(std::string_view text, std::size_t most);

}  // namespace bellwether::plan
