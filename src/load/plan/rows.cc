#include "load/plan/rows.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/encoding.h"

namespace bellwether::plan {

namespace {

// The length of the line end at `at`; 0: no line end.
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

constexpr int kMaxDepth = 64;

// The four digits at `at`, or -1.
int32_t hex4(std::string_view text, std::size_t at) {
  if (text.size() < at + 4) return -1;
  int32_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    const int digit = hex_digit(text[i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

// `at` is behind the opening quote, and moves behind the closing one.
const char* skip_string(std::string_view text, std::size_t& at) {
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      ++at;
      return nullptr;
    }
    if (static_cast<unsigned char>(c) < 0x20) return "a control character in a text: write it as \\u00XX";
    if (c != '\\') continue;
    if (++at == text.size()) break;
    if (text[at] == 'u') {
      if (hex4(text, at + 1) < 0) return "\\u is followed by four hexadecimal digits";
      at += 4;
    } else if (std::string_view("\"\\/bfnrt").find(text[at]) == std::string_view::npos) {
      return "this is nothing that can come after \\ in a text";
    }
  }
  return "a text is not closed";
}

const char* skip_digits(std::string_view text, std::size_t& at) {
  if (at >= text.size() || !is_digit(text[at])) return "a digit is expected";
  while (at < text.size() && is_digit(text[at])) ++at;
  return nullptr;
}

const char* skip_number(std::string_view text, std::size_t& at) {
  if (text[at] == '-') ++at;
  if (at + 1 < text.size() && text[at] == '0' && is_digit(text[at + 1])) return "a number does not begin with 0";
  if (const char* wrong = skip_digits(text, at)) return wrong;
  if (at < text.size() && text[at] == '.') {
    if (const char* wrong = skip_digits(text, ++at)) return wrong;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    return skip_digits(text, at);
  }
  return nullptr;
}

const char* skip_value(std::string_view text, std::size_t& at, int depth);

// `at` is behind the opening bracket, and moves behind the closing one.
const char* skip_items(std::string_view text, std::size_t& at, bool object, int depth) {
  if (depth == kMaxDepth) return "nested more than 64 levels deep";
  const char close = object ? '}' : ']';
  skip_json_space(text, at);
  if (at < text.size() && text[at] == close) {
    ++at;
    return nullptr;
  }
  while (true) {
    skip_json_space(text, at);
    if (object) {
      if (at >= text.size() || text[at] != '"') return "the name of a member is expected, in quotes";
      if (const char* wrong = skip_string(text, ++at)) return wrong;
      skip_json_space(text, at);
      if (at >= text.size() || text[at] != ':') return "':' is expected";
      ++at;
      skip_json_space(text, at);
    }
    if (const char* wrong = skip_value(text, at, depth + 1)) return wrong;
    skip_json_space(text, at);
    if (at < text.size() && text[at] == ',') {
      ++at;
      continue;
    }
    if (at >= text.size() || text[at] != close) return object ? "',' or '}' is expected" : "',' or ']' is expected";
    ++at;
    return nullptr;
  }
}

const char* skip_value(std::string_view text, std::size_t& at, int depth) {
  if (at >= text.size()) return "a value is expected";
  const char c = text[at];
  if (c == '{' || c == '[') return skip_items(text, ++at, c == '{', depth);
  if (c == '"') return skip_string(text, ++at);
  if (c == '-' || is_digit(c)) return skip_number(text, at);
  for (const std::string_view word : {"true", "false", "null"}) {
    if (!text.substr(at).starts_with(word)) continue;
    at += word.size();
    return nullptr;
  }
  return "a value is expected";
}

// \u and four digits, or two of these that are one character; `at` is at the u. Half a pair becomes U+FFFD.
void append_escaped_code(std::string_view text, std::size_t& at, std::string& out) {
  auto code = static_cast<uint32_t>(hex4(text, at + 1));
  at += 4;
  if (code >= 0xD800 && code < 0xDC00 && text.substr(at + 1).starts_with("\\u")) {
    const int32_t low = hex4(text, at + 3);
    if (low >= 0xDC00 && low < 0xE000) {
      code = 0x10000 + ((code - 0xD800) << 10) + static_cast<uint32_t>(low - 0xDC00);
      at += 6;
    }
  }
  append_utf8(code >= 0xD800 && code < 0xE000 ? 0xFFFD : code, out);
}

// The text between the quotes of a text that was skipped, and so is valid.
void append_text(std::string_view text, std::string& out) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      out += text[at];
      continue;
    }
    switch (const char c = text[++at]) {
      case 'b': out += '\b'; break;
      case 'f': out += '\f'; break;
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      case 't': out += '\t'; break;
      case 'u': append_escaped_code(text, at, out); break;
      default: out += c;
    }
  }
}

// Whether the text between quotes means `name`.
bool means(std::string_view text, std::string_view name) {
  if (text.find('\\') == std::string_view::npos) return text == name;
  std::string meant;
  append_text(text, meant);
  return meant == name;
}

// Goes through the items of the object or array at `at`, and calls visit(name, begin of the value) until it returns
// true. False: it never did, or the text is broken, or it is neither.
template <class Visit>
bool visit_items(std::string_view text, std::size_t& at, const Visit& visit) {
  if (at >= text.size() || (text[at] != '{' && text[at] != '[')) return false;
  const bool object = text[at++] == '{';
  while (true) {
    skip_json_space(text, at);
    std::string_view name;
    if (object) {
      if (at >= text.size() || text[at] != '"') return false;
      const std::size_t begin = ++at;
      if (skip_string(text, at) != nullptr) return false;
      name = text.substr(begin, at - 1 - begin);
      skip_json_space(text, at);
      if (at >= text.size() || text[at++] != ':') return false;
      skip_json_space(text, at);
    }
    if (at >= text.size() || text[at] == ']') return false;
    if (visit(name)) return true;
    if (skip_json(text, at) != nullptr) return false;
    skip_json_space(text, at);
    if (at >= text.size() || text[at++] != ',') return false;
  }
}

// Moves `at` from a value to the part of it that `step` names.
bool step_into(std::string_view text, std::size_t& at, const JsonPath::Step& step) {
  if (at >= text.size() || text[at] != (step.is_index ? '[' : '{')) return false;
  if (!step.is_index) return visit_items(text, at, [&](std::string_view name) { return means(name, step.key); });
  int64_t index = step.index;
  if (index < 0) {  // from the end: becomes one from the beginning, or stays negative and finds nothing
    std::size_t from = at;
    visit_items(text, from, [&](std::string_view) {
      ++index;
      return false;
    });
  }
  return visit_items(text, at, [&](std::string_view) { return index-- == 0; });
}

}  // namespace

void append_utf8(uint32_t code, std::string& out) {
  const auto put = [&out](uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 63));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 63));
    put(0x80 | (code & 63));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 63));
    put(0x80 | (code >> 6 & 63));
    put(0x80 | (code & 63));
  }
}

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

// Quotes come in pairs, unless a line end is inside of them.
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

void skip_json_space(std::string_view text, std::size_t& at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n')) ++at;
}

const char* skip_json(std::string_view text, std::size_t& at) { return skip_value(text, at, 0); }

bool find_json(std::string_view text, const JsonPath& path, std::string& out) {
  std::size_t at = 0;
  skip_json_space(text, at);
  for (const JsonPath::Step& step : path.steps) {
    if (!step_into(text, at, step)) return false;
  }
  const std::size_t begin = at;
  if (skip_json(text, at) != nullptr) return false;
  const std::string_view value = text.substr(begin, at - begin);
  if (value.starts_with('"')) {
    append_text(value.substr(1, value.size() - 2), out);
  } else {
    out += value;
  }
  return true;
}

std::vector<std::string> members_of(std::string_view text, std::size_t most) {
  std::vector<std::string> names;
  std::size_t at = 0;
  skip_json_space(text, at);
  if (at >= text.size() || text[at] != '{') return names;
  visit_items(text, at, [&](std::string_view name) {
    append_text(name, names.emplace_back());
    return names.size() == most;
  });
  return names;
}

}  // namespace bellwether::plan
