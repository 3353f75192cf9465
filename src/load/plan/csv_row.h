// Rows of CSV (RFC 4180): fields between delimiters, in quotes where they hold delimiters, quotes or line ends. Lines
// end with LF or CRLF. Bytes are never interpreted otherwise, and any bytes at all can be read without harm.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bellwether::plan {

struct CsvField {
  std::string_view text;  // without the quotes around it
  bool quoted = false;    // a quote in `text` stands there twice
};

// What comes after a field; from kQuoteInside on: what is wrong with it.
enum class CsvEnd : unsigned char {
  kField,
  kRow,          // another row, or the end of the text
  kQuoteInside,  // of a field that does not begin with one
  kAfterQuote,   // something else than a delimiter or a line end comes after the closing quote
  kOpenQuote     // the closing quote is missing
};

// Reads the field at `at` and moves `at` behind what ends it; to the place of the error when something is wrong.
CsvEnd read_csv_field(std::string_view text, std::size_t& at, char delimiter, CsvField& field);

// Appends what the field means.
void append_csv(const CsvField& field, std::string& out);

// Where the row after the one at `at` begins; the size of `text` when there is none.
std::size_t after_csv_row(std::string_view text, std::size_t at);

// Where the next row that is no empty line begins, at `at` or after it.
std::size_t skip_empty_lines(std::string_view text, std::size_t at);

}  // namespace bellwether::plan
