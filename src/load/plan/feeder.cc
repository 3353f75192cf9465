#include "load/plan/feeder.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/encoding.h"
#include "load/plan/rows.h"
#include "load/scenario/document.h"

namespace bellwether::plan {
namespace {

constexpr uint64_t kRowsAMark = 16;

using Trouble = Feeder::Trouble;

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

// The end of the line at `at`, without the character that ends it.
std::size_t end_of_line(std::string_view text, std::size_t at) { return std::min(text.find('\n', at), text.size()); }

std::size_t skip_blank_lines(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const std::size_t end = end_of_line(text, at);
    if (!is_blank(text.substr(at, end - at))) break;
    at = std::min(end + 1, text.size());
  }
  return at;
}

const char* what_is(CsvEnd end) {
  switch (end) {
    case CsvEnd::kQuoteInside:
      return "a quote in a field that does not begin with one: put the field into quotes, and write the quote twice";
    case CsvEnd::kAfterQuote: return "a delimiter or the end of the line is expected after the closing quote";
    case CsvEnd::kOpenQuote: return "a quote is not closed";
    case CsvEnd::kField:
    case CsvEnd::kRow: break;
  }
  return "";
}

}  // namespace

// Goes through the file once, and remembers the first error.
class Feeder::Indexer {
 public:
  explicit Indexer(Feeder& feeder) : feeder_(feeder), text_(feeder.file_.bytes) {}

  bool index() {
    if (text_.starts_with("\xFF\xFE") || text_.starts_with("\xFE\xFF")) return wrong(0, "this is no text in UTF-8");
    if (!is_utf8()) return false;
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    const bool good = feeder_.shape_.format == Format::kCsv    ? csv()
                      : feeder_.shape_.format == Format::kJson ? json()
                                                               : jsonl();
    if (!good) return false;
    if (feeder_.rows_ == 0) {
      trouble.message = feeder_.shape_.format == Format::kCsv ? "there is no row after the line that names the columns"
                                                              : "there is no row";
      return false;
    }
    feeder_.marks_.shrink_to_fit();
    return true;
  }

  Trouble trouble;

 private:
  bool is_utf8() {
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t length = static_cast<signed char>(text_[at]) >= 0 ? 1 : utf8_length(text_.substr(at));
      if (length == 0) {
        return wrong(at, fmt::format("this is no text in UTF-8: byte 0x{:02X}; convert the file, for example with "
                                     "`iconv -f LATIN1 -t UTF-8`",
                                     static_cast<unsigned char>(text_[at])));
      }
      at += length;
    }
    return true;
  }

  bool wrong(std::size_t at, std::string message) {
    const std::string_view before = text_.substr(0, at);
    const std::size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0
    const std::size_t mark = begin == 0 && text_.starts_with("\xEF\xBB\xBF") ? std::min<std::size_t>(3, at) : 0;
    trouble = {.line = static_cast<int>(
                   std::min<std::ptrdiff_t>(std::count(before.begin(), before.end(), '\n') + 1, INT32_MAX)),
               .column = static_cast<int>(std::min<std::size_t>(at - begin - mark + 1, INT32_MAX)),
               .message = std::move(message)};
    return false;
  }

  // A row from `begin` to `end` is right.
  bool take(std::size_t begin, std::size_t end) {
    if (end - begin > kMaxRowBytes) {
      return wrong(begin, fmt::format("the row is longer than {} MiB", kMaxRowBytes >> 20));
    }
    if (feeder_.rows_ == kMaxRows) return wrong(begin, fmt::format("there are more than {} rows", kMaxRows));
    if (feeder_.rows_++ % kRowsAMark == 0) feeder_.marks_.push_back(begin);
    return true;
  }

  bool csv() {
    at_ = skip_empty_lines(text_, at_);
    if (at_ == text_.size()) return wrong(at_, "there is no line that names the columns");
    if (!csv_names()) return false;
    for (at_ = skip_empty_lines(text_, at_); at_ < text_.size(); at_ = skip_empty_lines(text_, at_)) {
      if (!csv_row()) return false;
    }
    return true;
  }

  bool csv_names() {
    std::vector<std::string>& names = feeder_.names_;
    for (CsvEnd end = CsvEnd::kField; end == CsvEnd::kField;) {
      const std::size_t begin = at_;
      CsvField field;
      end = read_csv_field(text_, at_, feeder_.shape_.delimiter, field);
      if (end >= CsvEnd::kQuoteInside) return wrong(at_, what_is(end));
      if (names.size() == kMaxColumns) {
        return wrong(begin, fmt::format("there are more than {} columns", kMaxColumns));
      }
      std::string name;
      if (at_ - begin > kMaxRowBytes) return wrong(begin, "the name of a column is too long");
      append_csv(field, name);
      if (name.empty()) return wrong(begin, fmt::format("column {} has no name", names.size() + 1));
      if (std::find(names.begin(), names.end(), name) != names.end()) {
        return wrong(begin, "two columns are called " + scenario::in_quotes(name));
      }
      names.push_back(std::move(name));
    }
    return true;
  }

  bool csv_row() {
    const std::size_t begin = at_;
    std::size_t fields = 0;
    for (CsvEnd end = CsvEnd::kField; end == CsvEnd::kField; ++fields) {
      CsvField field;
      end = read_csv_field(text_, at_, feeder_.shape_.delimiter, field);
      if (end >= CsvEnd::kQuoteInside) return wrong(at_, what_is(end));
    }
    const std::size_t columns = feeder_.names_.size();
    if (fields != columns) {
      return wrong(begin, fmt::format("the row has {}{}, and the first line names {}", fields,
                                      fields == 1 ? " field" : " fields", columns));
    }
    return take(begin, at_);
  }

  // The object at `at_`, behind which it moves.
  bool object() {
    const std::size_t begin = at_;
    if (at_ >= text_.size() || text_[at_] != '{') return wrong(at_, "a row is an object: { is expected");
    if (const char* bad = skip_json(text_, at_)) return wrong(at_, std::string("this is not JSON: ") + bad);
    if (feeder_.rows_ == 0) {
      feeder_.names_ = members_of(text_.substr(begin, at_ - begin), kMaxColumns + 1);
      if (feeder_.names_.size() > kMaxColumns) {
        return wrong(begin, fmt::format("the row has more than {} members", kMaxColumns));
      }
    }
    return take(begin, at_);
  }

  bool json() {
    skip_json_space(text_, at_);
    if (at_ == text_.size() || text_[at_] != '[') return wrong(at_, "an array of objects is expected: [");
    ++at_;
    skip_json_space(text_, at_);
    const bool empty = at_ < text_.size() && text_[at_] == ']';
    while (!empty) {
      skip_json_space(text_, at_);
      if (!object()) return false;
      skip_json_space(text_, at_);
      if (at_ < text_.size() && text_[at_] == ']') break;
      if (at_ == text_.size() || text_[at_] != ',') return wrong(at_, "this is not JSON: ',' or ']' is expected");
      ++at_;
    }
    ++at_;
    skip_json_space(text_, at_);
    return at_ == text_.size() || wrong(at_, "this is not JSON: something comes after the array");
  }

  bool jsonl() {
    for (at_ = skip_blank_lines(text_, at_); at_ < text_.size(); at_ = skip_blank_lines(text_, at_)) {
      const std::size_t end = end_of_line(text_, at_);
      while (text_[at_] == ' ' || text_[at_] == '\t') ++at_;
      if (!object()) return false;
      if (at_ > end) return wrong(end, "a row is one line, and this object goes on behind it");
      if (!is_blank(text_.substr(at_, end - at_))) return wrong(at_, "a row is one object, and its line goes on");
      at_ = std::min(end + 1, text_.size());
    }
    return true;
  }

  Feeder& feeder_;
  std::string_view text_;
  std::size_t at_ = 0;
};

tl::expected<std::shared_ptr<const Feeder>, Trouble> Feeder::make(scenario::FileView file, Shape shape) {
  if (file.bytes.size() > kMaxDataFileBytes) {
    return tl::unexpected(Trouble{0, 0, fmt::format("the file is larger than {} GiB", kMaxDataFileBytes >> 30)});
  }
  const std::shared_ptr<Feeder> feeder(new Feeder(std::move(file), shape));
  Indexer indexer(*feeder);
  if (!indexer.index()) return tl::unexpected(std::move(indexer.trouble));
  return feeder;
}

// From the beginning of a row to that of the next one.
std::size_t Feeder::next_row(std::size_t at) const {
  const std::string_view text = file_.bytes;
  switch (shape_.format) {
    case Format::kCsv: return skip_empty_lines(text, after_csv_row(text, at));
    case Format::kJsonl: {
      at = skip_blank_lines(text, std::min(end_of_line(text, at) + 1, text.size()));
      skip_json_space(text, at);
      return at;
    }
    case Format::kJson: break;
  }
  skip_json(text, at);
  skip_json_space(text, at);
  at = std::min(at + 1, text.size());  // the comma
  skip_json_space(text, at);
  return at;
}

std::string_view Feeder::row(uint64_t number) const {
  check(number < rows_, "the row is one of the file");
  std::size_t at = marks_[number / kRowsAMark];
  for (uint64_t i = 0; i < number % kRowsAMark; ++i) at = next_row(at);
  return file_.bytes.substr(at);
}

bool Feeder::read(std::string_view row, const RowField& field, std::string& out) const {
  if (shape_.format != Format::kCsv) return find_json(row, field.path, out);
  std::size_t at = 0;
  CsvField read;
  for (uint16_t column = 0;; ++column) {
    const CsvEnd end = read_csv_field(row, at, shape_.delimiter, read);
    if (end >= CsvEnd::kQuoteInside) return false;
    if (column == field.column) break;
    if (end == CsvEnd::kRow) return false;
  }
  append_csv(read, out);
  return true;
}

uint64_t row_of(const Feed& feed, uint64_t taken, uint32_t part, uint32_t parts, uint32_t vu, uint64_t random) {
  const uint64_t rows = feed.feeder->rows();
  switch (feed.pick) {
    case Feed::Pick::kSequential: return (taken % rows * (parts % rows) + part) % rows;
    case Feed::Pick::kRandom: return random;
    case Feed::Pick::kUniquePerVu: break;
  }
  return (vu - 1) % rows;
}

}  // namespace bellwether::plan
