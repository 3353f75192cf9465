// RFC 9535, section 2: the grammar. Each function reads one of its rules and says whether it is there.
#include "load/plan/json_path.h"

#include <algorithm>
#include <array>
#include <re2/re2.h>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "load/plan/rows.h"

namespace bellwether::plan {
namespace {

using Expression = JsonExpression;
using Kind = JsonExpression::Kind;

constexpr std::size_t kMaxPathBytes = 4096;
constexpr std::size_t kMaxSegments = 64;
constexpr int kMaxNested = 32;
constexpr int64_t kMaxIndex = (int64_t{1} << 53) - 1;

bool begins_name(char c) { return is_letter(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80; }

// The type of an operand in a filter (section 2.4.1).
enum class Type : uint8_t { kValue, kLogical, kNodes };

struct Operand {
  Expression expression;
  Type type = Type::kValue;
};

struct Function {
  std::string_view name;
  Kind kind;
  Type result;
  Type argument;
  std::size_t arguments;
};

constexpr std::array kFunctions{Function{"length", Kind::kLength, Type::kValue, Type::kValue, 1},
                                Function{"count", Kind::kCount, Type::kValue, Type::kNodes, 1},
                                Function{"value", Kind::kValue, Type::kValue, Type::kNodes, 1},
                                Function{"match", Kind::kMatch, Type::kLogical, Type::kValue, 2},
                                Function{"search", Kind::kSearch, Type::kLogical, Type::kValue, 2}};

struct Comparator {
  std::string_view text;
  Kind kind;
};

constexpr std::array kComparators{Comparator{"==", Kind::kEqual},     Comparator{"!=", Kind::kNotEqual},
                                  Comparator{"<=", Kind::kLessEqual}, Comparator{">=", Kind::kGreaterEqual},
                                  Comparator{"<", Kind::kLess},       Comparator{">", Kind::kGreater}};

bool names_one_value(const JsonQuery& query) {
  return std::ranges::all_of(query, [](const JsonSegment& segment) {
    const JsonSelector::Kind kind = segment.selectors.front().kind;
    return !segment.of_descendants && segment.selectors.size() == 1 &&
           (kind == JsonSelector::Kind::kName || kind == JsonSelector::Kind::kIndex);
  });
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<JsonPath> path() {
    JsonPath out;
    out.text = text_;
    JsonQuery query;
    bool good = take("$") ? segments(query) : wrong("a JSON path begins with $, which is missing");
    if (good && at_ < text_.size()) {
      good = wrong("'.' or '[' is missing (other names than of letters, digits and _ stand in brackets: ['a-b'])");
    }
    if (!good) return fail(Errc::kInvalid, "{} at character {}", problem_, place_ + 1);
    if (!names_one_value(query)) {
      out.many = std::make_shared<const JsonQuery>(std::move(query));
      return out;
    }
    for (JsonSegment& segment : query) {
      JsonSelector& one = segment.selectors.front();
      out.has_escapes |= std::ranges::any_of(
          one.name, [](char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' '; });
      out.steps.push_back({std::move(one.name), one.index, one.kind == JsonSelector::Kind::kIndex});
    }
    return out;
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r') ++at_;
  }
  bool wrong(std::string_view what) { return wrong(what, at_); }
  bool wrong(std::string_view what, std::size_t place) {
    if (problem_.empty()) {
      problem_ = what;
      place_ = place;
    }
    return false;
  }

  bool segments(JsonQuery& out) {
    while (true) {
      const std::size_t before = at_;
      skip_blanks();
      if (peek() != '.' && peek() != '[') {
        at_ = before;
        return true;
      }
      if (out.size() == kMaxSegments) return wrong("more than 64 parts");
      JsonSegment& segment = out.emplace_back();
      segment.of_descendants = take("..");
      const bool dotted = segment.of_descendants ? peek() != '[' : take(".");
      if (!(dotted ? name_or_wildcard(segment) : bracketed(segment))) return false;
    }
  }

  bool name_or_wildcard(JsonSegment& out) {
    JsonSelector& selector = out.selectors.emplace_back();
    if (take("*")) {
      selector.kind = JsonSelector::Kind::kWildcard;
      return true;
    }
    if (!begins_name(peek())) return wrong("a name that begins with a letter or _, or *, is missing");
    const std::size_t begin = at_;
    while (begins_name(peek()) || is_digit(peek())) ++at_;
    selector.name = text_.substr(begin, at_ - begin);
    return true;
  }

  bool bracketed(JsonSegment& out) {
    const std::size_t begin = at_++;
    do {
      skip_blanks();
      if (at_ == text_.size()) break;
      if (!selector(out.selectors.emplace_back())) return false;
      skip_blanks();
    } while (take(","));
    if (at_ == text_.size()) return wrong("']' is missing for '['", begin);
    return take("]") || wrong("',' or ']' is missing");
  }

  bool selector(JsonSelector& out) {
    if (peek() == '\'' || peek() == '"') return quoted(out.name);
    if (take("*")) {
      out.kind = JsonSelector::Kind::kWildcard;
      return true;
    }
    if (take("?")) {
      out.kind = JsonSelector::Kind::kFilter;
      skip_blanks();
      Expression filter;
      if (!alternatives(filter)) return false;
      out.filter = std::make_shared<const Expression>(std::move(filter));
      return true;
    }
    out.kind = JsonSelector::Kind::kIndex;
    std::optional<int64_t> first;
    if (!whole(first)) return false;
    const std::size_t behind = at_;
    skip_blanks();
    if (take(":")) return slice(first, out);
    at_ = behind;
    if (!first) return wrong("an index, a name in quotes, *, a slice or a filter (?) is missing");
    out.index = *first;
    return true;
  }

  // Behind its first colon.
  bool slice(std::optional<int64_t> start, JsonSelector& out) {
    out.kind = JsonSelector::Kind::kSlice;
    out.start = start;
    skip_blanks();
    if (!whole(out.end)) return false;
    skip_blanks();
    if (!take(":")) return true;
    skip_blanks();
    std::optional<int64_t> step;
    if (!whole(step)) return false;
    out.step = step.value_or(1);
    return true;
  }

  // A whole number, if there is one.
  bool whole(std::optional<int64_t>& out) {
    const std::size_t begin = at_;
    const bool negative = take("-");
    const std::size_t digits = at_;
    while (is_digit(peek())) ++at_;
    if (at_ == begin) return true;
    const std::string_view text = text_.substr(digits, at_ - digits);
    const auto number = parse_u64(text);
    if (text.empty() || (text.front() == '0' && (text.size() > 1 || negative))) {
      return wrong("an index has no digits, or a 0 in front", begin);
    }
    if (!number || *number > static_cast<uint64_t>(kMaxIndex)) return wrong("an index beyond 2^53", begin);
    out = negative ? -static_cast<int64_t>(*number) : static_cast<int64_t>(*number);
    return true;
  }

  bool quoted(std::string& out) {
    const std::size_t begin = at_;
    const char quote = text_[at_++];
    while (peek() != quote) {
      if (at_ == text_.size()) return wrong("a text in quotes is not closed", begin);
      if (static_cast<unsigned char>(peek()) < ' ') return wrong("a control character: write it as \\u00XX");
      if (peek() != '\\') {
        out += text_[at_++];
      } else if (!escape(quote, out)) {
        return false;
      }
    }
    ++at_;
    return true;
  }

  bool escape(char quote, std::string& out) {
    constexpr std::string_view kEscapes = "bfnrt/\\";
    constexpr std::string_view kMeanings = "\b\f\n\r\t/\\";
    const std::size_t begin = at_++;
    const char c = peek();
    ++at_;
    if (c == quote) {
      out += c;
      return true;
    }
    if (const std::size_t known = kEscapes.find(c); known != std::string_view::npos && c != '\0') {
      out += kMeanings[known];
      return true;
    }
    uint32_t code = 0;
    if (c != 'u' || !four_digits(code)) return wrong("this is no escape of JSON", begin);
    if (code >= 0xd800 && code < 0xdc00) {
      uint32_t low = 0;
      if (!take("\\u") || !four_digits(low) || low < 0xdc00 || low > 0xdfff) {
        return wrong("the first half of a pair of surrogates without the second", begin);
      }
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code <= 0xdfff) {
      return wrong("the second half of a pair of surrogates without the first", begin);
    }
    append_utf8(code, out);
    return true;
  }

  bool four_digits(uint32_t& code) {
    for (int i = 0; i < 4; ++i, ++at_) {
      const int digit = hex_digit(peek());
      if (digit < 0) return false;
      code = code << 4 | static_cast<uint32_t>(digit);
    }
    return true;
  }

  bool alternatives(Expression& out) { return chain(out, "||", Kind::kOr, &Parser::conditions); }
  bool conditions(Expression& out) { return chain(out, "&&", Kind::kAnd, &Parser::condition); }

  bool chain(Expression& out, std::string_view word, Kind kind, bool (Parser::*part)(Expression&)) {
    if (!(this->*part)(out)) return false;
    for (skip_blanks(); take(word); skip_blanks()) {
      skip_blanks();
      if (out.kind != kind) out = with_parts(kind, std::move(out));
      if (!(this->*part)(out.parts.emplace_back())) return false;
    }
    return true;
  }

  static Expression with_parts(Kind kind, Expression first) {
    Expression out;
    out.kind = kind;
    out.parts.push_back(std::move(first));
    return out;
  }

  bool condition(Expression& out) {
    const bool negated = take("!");
    skip_blanks();
    Expression made;
    if (peek() == '(') {
      if (!in_parentheses(made)) return false;
    } else {
      const std::size_t begin = at_;
      Operand left;
      if (!operand(left)) return false;
      const std::size_t behind = at_;
      skip_blanks();
      const auto* op = std::ranges::find_if(kComparators, [this](const Comparator& one) { return take(one.text); });
      if (op == kComparators.end()) {
        at_ = behind;
        if (!as(Type::kLogical, left, begin)) return false;
        made = std::move(left.expression);
      } else {
        if (negated) return wrong("a comparison after ! needs parentheses", begin);
        skip_blanks();
        const std::size_t right_begin = at_;
        Operand right;
        if (!as(Type::kValue, left, begin) || !operand(right) || !as(Type::kValue, right, right_begin)) return false;
        made = with_parts(op->kind, std::move(left.expression));
        made.parts.push_back(std::move(right.expression));
      }
    }
    out = negated ? with_parts(Kind::kNot, std::move(made)) : std::move(made);
    return true;
  }

  bool in_parentheses(Expression& out) {
    if (++nested_ > kMaxNested) return wrong("nested more than 32 levels deep");
    ++at_;
    skip_blanks();
    Expression inner;
    if (!alternatives(inner)) return false;
    skip_blanks();
    if (!take(")")) return wrong("')' is missing");
    --nested_;
    // A group of its own: what follows is no further part of it.
    out = with_parts(Kind::kAnd, std::move(inner));
    return true;
  }

  // Makes an operand of this type of it.
  bool as(Type type, Operand& operand, std::size_t place) {
    if (operand.type == Type::kNodes && type == Type::kLogical) {
      operand.expression.kind = Kind::kExists;
    } else if (operand.type == Type::kNodes && type == Type::kValue) {
      if (!names_one_value(operand.expression.query)) {
        return wrong("a path that names one value is needed", place);
      }
      operand.expression.kind = Kind::kValue;
    } else if (operand.type != type) {
      return wrong(type == Type::kLogical ? "a value alone says nothing: a comparison is needed"
                   : type == Type::kValue ? "a value is needed, not a condition"
                                          : "a path is needed",
                   place);
    }
    operand.type = type;
    return true;
  }

  bool operand(Operand& out) {
    const char c = peek();
    if (c == '@' || c == '$') {
      if (++nested_ > kMaxNested) return wrong("nested more than 32 levels deep");
      ++at_;
      out.type = Type::kNodes;
      out.expression.from_root = c == '$';
      const bool good = segments(out.expression.query);
      --nested_;
      return good;
    }
    if (c == '\'' || c == '"') {
      out.expression.kind = Kind::kText;
      return quoted(out.expression.text);
    }
    if (c == '-' || is_digit(c)) return number(out.expression);
    const std::size_t begin = at_;
    while ((peek() >= 'a' && peek() <= 'z') || is_digit(peek()) || peek() == '_') ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (peek() == '(') return function(word, begin, out);
    if (word == "true" || word == "false" || word == "null") {
      out.expression.kind = word == "true" ? Kind::kTrue : word == "false" ? Kind::kFalse : Kind::kNull;
      return true;
    }
    return wrong("a path (@ or $), a number, a text in quotes, true, false, null or a function is missing", begin);
  }

  bool number(Expression& out) {
    const std::size_t begin = at_;
    take("-");
    const std::size_t digits = at_;
    while (is_digit(peek())) ++at_;
    bool good = at_ > digits && (text_[digits] != '0' || at_ == digits + 1);
    if (take(".")) {
      const std::size_t fraction = at_;
      while (is_digit(peek())) ++at_;
      good &= at_ > fraction;
    }
    if (take("e") || take("E")) {
      if (!take("+")) take("-");
      const std::size_t exponent = at_;
      while (is_digit(peek())) ++at_;
      good &= at_ > exponent;
    }
    const auto value = good ? parse_double(text_.substr(begin, at_ - begin)) : std::nullopt;
    if (!value) return wrong("this is no number of JSON", begin);
    out.kind = Kind::kNumber;
    out.number = *value;
    return true;
  }

  bool function(std::string_view name, std::size_t begin, Operand& out) {
    const auto* known = std::ranges::find_if(kFunctions, [name](const Function& one) { return one.name == name; });
    if (known == kFunctions.end()) return wrong("the functions are length, count, value, match and search", begin);
    if (++nested_ > kMaxNested) return wrong("nested more than 32 levels deep");
    ++at_;
    std::vector<Operand> arguments;
    skip_blanks();
    for (bool more = peek() != ')'; more; more = take(",")) {
      skip_blanks();
      const std::size_t place = at_;
      if (!operand(arguments.emplace_back()) || !as(known->argument, arguments.back(), place)) return false;
      skip_blanks();
    }
    --nested_;
    if (!take(")")) return wrong("',' or ')' is missing");
    if (arguments.size() != known->arguments) return wrong("a function has another number of arguments", begin);
    out.type = known->result;
    if (known->argument == Type::kNodes) {
      out.expression = std::move(arguments.front().expression);
    } else {
      for (Operand& one : arguments) out.expression.parts.push_back(std::move(one.expression));
    }
    out.expression.kind = known->kind;
    return known->kind == Kind::kMatch || known->kind == Kind::kSearch ? pattern(out.expression, begin) : true;
  }

  bool pattern(Expression& out, std::size_t place) {
    if (out.parts[1].kind != Kind::kText) return true;
    auto compiled = compile_json_pattern(out.parts[1].text);
    if (compiled == nullptr) return wrong("the pattern is no regular expression", place);
    out.pattern = std::move(compiled);
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int nested_ = 0;
  std::string problem_;
  std::size_t place_ = 0;
};

}  // namespace

std::shared_ptr<const re2::RE2> compile_json_pattern(std::string_view pattern) {
  std::string text;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      text += c;
      text += pattern[++i];
      continue;
    }
    in_class = in_class ? c != ']' : c == '[';
    if (c == '.' && !in_class) {
      text += "[^\\n\\r]";
    } else {
      text += c;
    }
  }
  re2::RE2::Options options;
  options.set_log_errors(false);
  auto compiled = std::make_shared<const re2::RE2>(text, options);
  return compiled->ok() ? compiled : nullptr;
}

Result<JsonPath> parse_json_path(std::string_view text) {
  if (text.size() > kMaxPathBytes) return fail(Errc::kTooLarge, "a JSON path has at most 4096 bytes");
  return Parser(text).path();
}

}  // namespace bellwether::plan
