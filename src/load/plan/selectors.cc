// Selectors Level 3 (W3C Recommendation), sections 5 to 8.
#include "load/plan/selectors.h"

#include <libxml/xmlerror.h>
#include <libxml/xpath.h>
#include <memory>
#include <optional>

#include "core/base/bytes.h"

namespace bellwether::plan {

namespace {

constexpr std::size_t kSelectorBytesMax = 4096;
constexpr int64_t kNthMax = 1'000'000;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// XPath 1.0 has no escapes: a text with both kinds of quotes is put together.
std::string quoted(std::string_view text) {
  if (text.find('\'') == std::string_view::npos) return fmt::format("'{}'", text);
  if (text.find('"') == std::string_view::npos) return fmt::format("\"{}\"", text);
  std::string out = "concat(";
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\'', at), text.size());
    if (at > 0) out += ",\"'\",";
    out += fmt::format("'{}'", text.substr(at, end - at));
    at = end + 1;
  }
  return out + ")";
}

std::string has_word(const std::string& attribute, std::string_view word) {
  return fmt::format("contains(concat(' ',normalize-space({}),' '),{})", attribute, quoted(fmt::format(" {} ", word)));
}

class Translator {
 public:
  Translator(std::string_view text, std::string_view attribute) : text_(text), attribute_(attribute) {}

  Result<std::string> group() {
    std::string out;
    while (true) {
      skip_spaces();
      auto one = selector();
      if (!one) return one;
      if (!attribute_.empty()) *one += "/@" + lower(std::string(attribute_));
      out += (out.empty() ? "" : " | ") + *one;
      skip_spaces();
      if (at_end()) return out;
      if (text_[at_] != ',') return wrong("a selector");
      ++at_;
    }
  }

 private:
  Result<std::string> selector() {
    std::string out = "//";
    while (true) {
      auto one = compound(out);
      if (!one) return one;
      out = std::move(*one);
      const bool space = skip_spaces();
      if (at_end() || text_[at_] == ',') return out;
      const char c = text_[at_];
      if (c == '>' || c == '+' || c == '~') {
        ++at_;
        skip_spaces();
        out += c == '>' ? "/" : "/following-sibling::";
        next_sibling_ = c == '+';
      } else if (space) {
        out += "//";
      } else {
        return wrong("a combinator");
      }
    }
  }

  // `before`: all text left of it.
  Result<std::string> compound(std::string before) {
    const std::size_t begin = at_;
    std::string name = "*";
    if (!at_end() && text_[at_] == '*') {
      ++at_;
    } else if (!at_end() && is_name(text_[at_])) {
      name = lower(read_name());
    }
    std::string out = std::move(before);
    if (next_sibling_) {
      out += fmt::format("*[1][self::{}]", name);
      next_sibling_ = false;
    } else {
      out += name;
    }
    while (!at_end()) {
      BW_TRY(auto condition, simple(true));
      if (condition.empty()) break;
      out += fmt::format("[{}]", condition);
    }
    if (at_ == begin) return wrong("the name of an element, *, #id, .class, [attribute] or :first-child");
    return out;
  }

  // One condition; empty when the text has none here.
  Result<std::string> simple(bool may_negate) {
    switch (text_[at_]) {
      case '#': {
        ++at_;
        const std::string id = read_name();
        if (id.empty()) return wrong("an id after #");
        return "@id=" + quoted(id);
      }
      case '.': {
        ++at_;
        const std::string word = read_name();
        if (word.empty()) return wrong("a class after .");
        return has_word("@class", word);
      }
      case '[': ++at_; return attribute();
      case ':': ++at_; return pseudo(may_negate);
      default: return std::string();
    }
  }

  Result<std::string> attribute() {
    skip_spaces();
    const std::string name = read_name();
    if (name.empty()) return wrong("the name of an attribute");
    const std::string subject = "@" + lower(name);
    skip_spaces();
    if (take(']')) return subject;
    char op = '=';
    if (!at_end() && std::string_view("~|^$*").find(text_[at_]) != std::string_view::npos) op = text_[at_++];
    if (!take('=')) return wrong("one of = ~= |= ^= $= *= or ]");
    skip_spaces();
    const auto value = read_value();
    if (!value) return wrong("a value, in quotes unless it is a name");
    skip_spaces();
    if (!take(']')) return wrong("]");
    if (op != '=' && op != '|' && value->empty()) return std::string("false()");
    switch (op) {
      case '~': return value->find(' ') == std::string::npos ? has_word(subject, *value) : std::string("false()");
      case '|':
        return fmt::format("({}={} or starts-with({},{}))", subject, quoted(*value), subject, quoted(*value + "-"));
      case '^': return fmt::format("starts-with({},{})", subject, quoted(*value));
      case '*': return fmt::format("contains({},{})", subject, quoted(*value));
      case '$': {
        // Characters, as XPath counts them.
        const std::string length = fmt::format("string-length({})", quoted(*value));
        return fmt::format("substring({},string-length({})-{}+1)={}", subject, subject, length, quoted(*value));
      }
      default: return fmt::format("{}={}", subject, quoted(*value));
    }
  }

  Result<std::string> pseudo(bool may_negate) {
    const std::size_t begin = at_;
    const std::string name = lower(read_name());
    if (name == "first-child") return std::string("not(preceding-sibling::*)");
    if (name == "last-child") return std::string("not(following-sibling::*)");
    if (name == "only-child") return std::string("not(preceding-sibling::* or following-sibling::*)");
    if (name == "empty") return std::string("not(* or text())");
    if (name == "nth-child" || name == "nth-last-child") {
      return nth(name == "nth-child" ? "(count(preceding-sibling::*)+1)" : "(count(following-sibling::*)+1)");
    }
    if (name == "not" && may_negate && take('(')) {
      skip_spaces();
      std::string inner;
      if (!at_end() && is_name(text_[at_])) {
        inner = "self::" + lower(read_name());
      } else if (!at_end()) {
        auto condition = simple(false);
        if (!condition) return condition;
        inner = std::move(*condition);
      }
      if (inner.empty()) return wrong("one simple selector");
      skip_spaces();
      if (!take(')')) return wrong(")");
      return fmt::format("not({})", inner);
    }
    at_ = begin;
    return wrong(":first-child, :last-child, :only-child, :nth-child(), :nth-last-child(), :empty or :not()");
  }

  // an+b of `position`.
  Result<std::string> nth(const std::string& position) {
    if (!take('(')) return wrong("(");
    std::string text;
    while (!at_end() && text_[at_] != ')') {
      if (!is_space(text_[at_])) text += text_[at_];
      ++at_;
    }
    if (!take(')')) return wrong(")");
    text = lower(text);
    if (text == "odd") text = "2n+1";
    if (text == "even") text = "2n";
    const std::size_t n = text.find('n');
    int64_t step = 0;
    std::optional<int64_t> offset = 0;
    if (n != std::string::npos) {
      const std::string factor = text.substr(0, n);
      const auto parsed = factor.empty() || factor == "+" ? std::optional<int64_t>(1)
                          : factor == "-"                 ? std::optional<int64_t>(-1)
                                                          : whole(factor);
      if (!parsed) return wrong("odd, even, a number, or an+b");
      step = *parsed;
      text = text.substr(n + 1);
    }
    if (!text.empty() || n == std::string::npos) offset = whole(text);
    if (!offset) return wrong("odd, even, a number, or an+b");
    if (step == 0) return fmt::format("{}={}", position, *offset);
    const std::string past = fmt::format("{}-({})", position, *offset);
    return fmt::format("{}{} and ({}) mod {}=0", past, step > 0 ? ">=0" : "<=0", past, step);
  }

  static std::optional<int64_t> whole(std::string_view text) {
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    const auto number = parse_u64(text);
    if (!number || *number > static_cast<uint64_t>(kNthMax)) return std::nullopt;
    return negative ? -static_cast<int64_t>(*number) : static_cast<int64_t>(*number);
  }

  std::optional<std::string> read_value() {
    if (at_end()) return std::nullopt;
    const char quote = text_[at_];
    if (quote != '"' && quote != '\'') {
      std::string name = read_name();
      return name.empty() ? std::nullopt : std::optional(std::move(name));
    }
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }

  std::string read_name() {
    const std::size_t begin = at_;
    while (!at_end() && is_name(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  bool skip_spaces() {
    const std::size_t begin = at_;
    while (!at_end() && is_space(text_[at_])) ++at_;
    return at_ > begin;
  }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool at_end() const { return at_ >= text_.size(); }
  Result<std::string> wrong(const std::string& expected) const {
    return fail(Errc::kInvalid, "at character {} {} is expected", at_ + 1, expected);
  }

  std::string_view text_;
  std::string_view attribute_;
  std::size_t at_ = 0;
  bool next_sibling_ = false;
};

constexpr std::size_t kExpressionBytesMax = 16384;

void note(void* context, xmlErrorPtr error) {
  auto* text = static_cast<std::string*>(context);
  if (text->empty() && error != nullptr && error->message != nullptr) *text = std::string(trim(error->message));
}

}  // namespace

Result<std::string> css_to_xpath(std::string_view selector, std::string_view attribute) {
  if (selector.size() > kSelectorBytesMax) return fail(Errc::kTooLarge, "a selector has at most 4096 bytes");
  for (const char c : attribute) {
    if (!is_name(c) && c != ':') return fail(Errc::kInvalid, "'{}' is no attribute", attribute);
  }
  return Translator(selector, attribute).group();
}

Status check_xpath(const std::string& expression) {
  if (expression.size() > kExpressionBytesMax) return fail(Errc::kTooLarge, "an expression has at most 16384 bytes");
  std::string problem;
  const std::unique_ptr<xmlXPathContext, void (*)(xmlXPathContext*)> context(
      xmlXPathNewContext(nullptr), [](xmlXPathContext* one) { xmlXPathFreeContext(one); });
  if (context == nullptr) return fail(Errc::kExhausted, "there is no memory left");
  context->error = &note;
  context->userData = &problem;
  const std::unique_ptr<xmlXPathCompExpr, void (*)(xmlXPathCompExpr*)> compiled(
      xmlXPathCtxtCompile(context.get(), reinterpret_cast<const xmlChar*>(expression.c_str())),
      [](xmlXPathCompExpr* one) { xmlXPathFreeCompExpr(one); });
  if (compiled != nullptr && problem.empty()) return {};
  return fail(Errc::kInvalid, problem.empty() ? "it is not valid" : problem);
}

}  // namespace bellwether::plan
