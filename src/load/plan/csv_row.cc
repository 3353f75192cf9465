#include "load/plan/csv_row.h"

#include <algorithm>

namespace bellwether::plan {
namespace {

// The length of the line end at `at`; 0: there is none.
std::size_t line_end(std::string_view text, std::size_t at) {
  if (text[at] == '\n') return 1;
  return text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n' ? 2 : 0;
}

CsvEnd read_quoted(std::string_view text, std::size_t& at, char delimiter, CsvField& field) {
  const std::size_t begin = at + 1;
  std::size_t close = text.find('"', begin);
  while (close != std::string_view::npos && close + 1 < text.size() && text[close + 1] == '"') {
    close = text.find('"', close + 2);
  }
  if (close == std::string_view::npos) return CsvEnd::kOpenQuote;
  field = {text.substr(begin, close - begin), true};
  at = close + 1;
  if (at == text.size()) return CsvEnd::kRow;
  if (text[at] == delimiter) {
    ++at;
    return CsvEnd::kField;
  }
  const std::size_t length = line_end(text, at);
  at += length;
  return length > 0 ? CsvEnd::kRow : CsvEnd::kAfterQuote;
}

}  // namespace

CsvEnd read_csv_field(std::string_view text, std::size_t& at, char delimiter, CsvField& field) {
  if (at < text.size() && text[at] == '"') return read_quoted(text, at, delimiter, field);
  const std::size_t begin = at;
  const auto ends = [delimiter](char c) { return c == delimiter || c == '\n' || c == '"'; };
  while (at < text.size() && !ends(text[at])) ++at;
  field = {text.substr(begin, at - begin), false};
  if (at == text.size()) return CsvEnd::kRow;
  if (text[at] == '"') return CsvEnd::kQuoteInside;
  if (text[at++] == delimiter) return CsvEnd::kField;
  if (field.text.ends_with('\r')) field.text.remove_suffix(1);
  return CsvEnd::kRow;
}

void append_csv(const CsvField& field, std::string& out) {
  if (!field.quoted) {
    out += field.text;
    return;
  }
  std::string_view rest = field.text;
  for (std::size_t quote = rest.find('"'); quote != std::string_view::npos; quote = rest.find('"')) {
    out += rest.substr(0, quote + 1);
    rest.remove_prefix(std::min(quote + 2, rest.size()));
  }
  out += rest;
}

// Quotes come in pairs, but where a line end is inside of them.
std::size_t after_csv_row(std::string_view text, std::size_t at) {
  bool inside = false;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const auto quotes = std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                   text.begin() + static_cast<std::ptrdiff_t>(end), '"');
    inside ^= quotes % 2 == 1;
    at = std::min(end + 1, text.size());
    if (!inside) break;
  }
  return at;
}

std::size_t skip_empty_lines(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const std::size_t length = line_end(text, at);
    if (length == 0) break;
    at += length;
  }
  return at;
}

}  // namespace bellwether::plan
