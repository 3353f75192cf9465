// Selectors Level 3 (W3C Recommendation), sections 5 to 8.
#include "load/plan/selectors.h"

#include <algorithm>
#include <libxml/xmlerror.h>
#include <libxml/xpath.h>
#include <memory>
#include <optional>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "load/plan/rows.h"

namespace bellwether::plan {

namespace {

constexpr std::size_t kMaxSelectorBytes = 4096;
constexpr int64_t kMaxNth = 1'000'000;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
bool begins_identifier(char c) { return is_letter(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80; }
bool is_name(char c) { return begins_identifier(c) || is_digit(c) || c == '-'; }

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

// Whether XPath takes a name of CSS as a name.
bool is_plain(std::string_view name) {
  return begins_identifier(name.front()) && std::ranges::all_of(name, [](char c) { return is_name(c); });
}

// A test of XPath for an attribute or element of this name; empty: any. `local`: in any namespace.
std::string test_of(std::string_view name, bool local) {
  if (name.empty()) return "*";
  if (!local && is_plain(name)) return std::string(name);
  return fmt::format("*[{}()={}]", local ? "local-name" : "name", quoted(name));
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
      if (!attribute_.empty()) *one += "/@" + lower_case(attribute_);
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
    BW_TRY(const auto type, type_selector());
    std::string out = std::move(before);
    if (next_sibling_) {
      out += fmt::format("*[1][self::{}]", type.value_or("*"));
      next_sibling_ = false;
    } else {
      out += type.value_or("*");
    }
    while (!at_end()) {
      BW_TRY(auto condition, simple(true));
      if (condition.empty()) break;
      out += fmt::format("[{}]", condition);
    }
    if (at_ == begin) return wrong("the name of an element, *, #id, .class, [attribute] or :first-child");
    return out;
  }

  // The test for a name, * or one with a namespace, if there is one.
  Result<std::optional<std::string>> type_selector() {
    const std::size_t begin = at_;
    bool any_space = false;
    if (!at_end() && text_[at_] == '|' && !is_at("|=")) {
      ++at_;  // in no namespace: names are so by themselves
    } else if (is_at("*|") && !is_at("*|=")) {
      at_ += 2;
      any_space = true;
    }
    if (take('*')) return std::string("*");
    const auto name = read_identifier();
    if (!name) return wrong("a name");
    if (name->empty()) {
      if (at_ != begin) return wrong("a name or *");
      return std::optional<std::string>();
    }
    if (!at_end() && text_[at_] == '|' && !is_at("|=")) {
      at_ = begin;
      return wrong("no prefix of a namespace, because none is declared: a name");
    }
    return test_of(lower_case(*name), any_space);
  }

  // One condition; empty when the text has none here.
  Result<std::string> simple(bool may_negate) {
    switch (text_[at_]) {
      case '#': {
        ++at_;
        const auto id = read_identifier();
        if (!id || id->empty()) return wrong("an id after #, a digit in front as \\3x,");
        return "@id=" + quoted(*id);
      }
      case '.': {
        ++at_;
        const auto word = read_identifier();
        if (!word || word->empty()) return wrong("a class after ., a digit in front as \\3x,");
        return has_word("@class", *word);
      }
      case '[': ++at_; return attribute();
      case ':': ++at_; return pseudo(may_negate);
      default: return std::string();
    }
  }

  Result<std::string> attribute() {
    skip_spaces();
    bool any_space = false;
    if (is_at("*|") && !is_at("*|=")) {
      at_ += 2;
      any_space = true;
    } else if (!at_end() && text_[at_] == '|') {
      ++at_;
    }
    const auto name = read_identifier();
    if (!name || name->empty()) return wrong("the name of an attribute");
    const std::string subject = "@" + test_of(lower_case(*name), any_space);
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
      case '~': return std::ranges::none_of(*value, is_space) ? has_word(subject, *value) : std::string("false()");
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

  // The functions of XPath that MarkupReader adds count the siblings of the same name before and after an element.
  Result<std::string> pseudo(bool may_negate) {
    static constexpr std::string_view kFields =
        "(self::button or self::input or self::select or self::textarea or self::optgroup or self::option or "
        "self::fieldset)";
    static constexpr std::pair<std::string_view, std::string_view> kPlain[] = {
        {"first-child", "not(preceding-sibling::*)"},
        {"last-child", "not(following-sibling::*)"},
        {"only-child", "not(preceding-sibling::* or following-sibling::*)"},
        {"first-of-type", "same-before()=0"},
        {"last-of-type", "same-after()=0"},
        {"only-of-type", "same-before()+same-after()=0"},
        {"root", "not(parent::*)"},
        {"empty", "not(* or text())"},
        {"link", "@href and (self::a or self::area or self::link)"},
        {"checked",
         "(@checked and self::input and (@type='checkbox' or @type='radio')) or (@selected and self::option)"}};
    static constexpr std::pair<std::string_view, std::string_view> kCounted[] = {
        {"nth-child", "(count(preceding-sibling::*)+1)"},
        {"nth-last-child", "(count(following-sibling::*)+1)"},
        {"nth-of-type", "(same-before()+1)"},
        {"nth-last-of-type", "(same-after()+1)"}};
    const std::size_t begin = at_;
    const std::string name = lower_case(read_name());
    for (const auto& [word, condition] : kPlain) {
      if (name == word) return std::string(condition);
    }
    for (const auto& [word, position] : kCounted) {
      if (name == word) return nth(std::string(position));
    }
    if (name == "enabled") return fmt::format("not(@disabled) and {}", kFields);
    if (name == "disabled") return fmt::format("@disabled and {}", kFields);
    if (name == "lang" && take('(')) return lang();
    if (name == "not" && may_negate && take('(')) return negation();
    at_ = begin;
    return wrong(
        ":first-child, :last-child, :only-child, :nth-child(), :nth-last-child(), the same with -of-type, :root, "
        ":empty, :link, :enabled, :disabled, :checked, :lang() or :not()");
  }

  Result<std::string> lang() {
    skip_spaces();
    const auto language = read_identifier();
    if (!language || language->empty()) return wrong("a language such as en");
    skip_spaces();
    if (!take(')')) return wrong(")");
    const std::string wanted = quoted(lower_case(*language) + "-");
    constexpr std::string_view kLower =
        "translate(concat(@lang,'-'),'ABCDEFGHIJKLMNOPQRSTUVWXYZ','abcdefghijklmnopqrstuvwxyz')";
    return fmt::format("(lang({}) or ancestor-or-self::*[@lang][1][starts-with({},{})])", quoted(*language), kLower,
                       wanted);
  }

  Result<std::string> negation() {
    skip_spaces();
    BW_TRY(const auto type, type_selector());
    std::string inner = type ? "self::" + *type : std::string();
    if (!type && !at_end()) {
      auto condition = simple(false);
      if (!condition) return condition;
      inner = std::move(*condition);
    }
    if (inner.empty()) return wrong("one simple selector");
    skip_spaces();
    if (!take(')')) return wrong(")");
    return fmt::format("not({})", inner);
  }

  // an+b of `position`.
  Result<std::string> nth(const std::string& position) {
    constexpr std::string_view kPosition = "odd, even, a number, or an+b";
    if (!take('(')) return wrong("(");
    const std::size_t end = text_.find(')', at_);
    if (end == std::string_view::npos) return wrong(")");
    const std::string text = lower_case(trim(text_.substr(at_, end - at_)));
    std::string_view rest = text == "odd" ? "2n+1" : text == "even" ? "2n" : std::string_view(text);
    int64_t step = 0;
    std::optional<int64_t> offset = 0;
    if (const std::size_t n = rest.find('n'); n != std::string_view::npos) {
      const std::string_view factor = rest.substr(0, n);
      const auto parsed = factor.empty() || factor == "+" ? std::optional<int64_t>(1)
                          : factor == "-"                 ? std::optional<int64_t>(-1)
                                                          : whole(factor);
      if (!parsed) return wrong(std::string(kPosition));
      step = *parsed;
      rest = trim(rest.substr(n + 1));
      if (!rest.empty()) {
        // Behind n a sign is needed, and blanks may stand on both sides of it.
        const bool signs = rest.front() == '+' || rest.front() == '-';
        const std::string_view digits = trim(rest.substr(1));
        const auto number = signs && parse_u64(digits) ? whole(digits) : std::nullopt;
        offset = number && rest.front() == '-' ? -*number : number;
      }
    } else {
      offset = whole(rest);
    }
    if (!offset) return wrong(std::string(kPosition));
    at_ = end + 1;
    if (step == 0) return fmt::format("{}={}", position, *offset);
    const std::string past = fmt::format("{}-({})", position, *offset);
    return fmt::format("{}{} and ({}) mod {}=0", past, step > 0 ? ">=0" : "<=0", past, step);
  }

  static std::optional<int64_t> whole(std::string_view text) {
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    const auto number = parse_u64(text);
    if (!number || *number > static_cast<uint64_t>(kMaxNth)) return std::nullopt;
    return negative ? -static_cast<int64_t>(*number) : static_cast<int64_t>(*number);
  }

  std::optional<std::string> read_value() {
    if (at_end()) return std::nullopt;
    const char quote = text_[at_];
    if (quote != '"' && quote != '\'') {
      auto name = read_identifier();
      return name && name->empty() ? std::nullopt : name;
    }
    std::string value;
    for (++at_; !at_end() && text_[at_] != quote;) {
      if (text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\f') return std::nullopt;
      if (text_[at_] != '\\') {
        value += text_[at_++];
      } else if (is_at("\\\n")) {
        at_ += 2;  // goes on in the next line
      } else if (!read_escape(value)) {
        return std::nullopt;
      }
    }
    return take(quote) ? std::optional(std::move(value)) : std::nullopt;
  }

  // At a backslash: the character that it means.
  bool read_escape(std::string& out) {
    ++at_;
    if (at_end() || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\f') return false;
    constexpr int kMaxDigits = 6;
    uint32_t code = 0;
    int digits = 0;
    for (; digits < kMaxDigits && !at_end() && hex_digit(text_[at_]) >= 0; ++digits, ++at_) {
      code = code * 16 + static_cast<uint32_t>(hex_digit(text_[at_]));
    }
    if (digits == 0) {
      out += text_[at_++];
      return true;
    }
    if (is_at("\r\n")) {
      at_ += 2;
    } else if (!at_end() && is_space(text_[at_])) {
      ++at_;
    }
    append_utf8(code == 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? 0xfffd : code, out);
    return true;
  }

  // An identifier with its escapes resolved; empty when there is none, nothing when it is broken.
  std::optional<std::string> read_identifier() {
    const std::size_t begin = at_;
    std::string out;
    if (!at_end() && text_[at_] == '-') out += text_[at_++];
    if (at_end() || !(begins_identifier(text_[at_]) || text_[at_] == '\\')) {
      at_ = begin;
      return std::string();
    }
    while (!at_end() && (is_name(text_[at_]) || text_[at_] == '\\')) {
      if (text_[at_] != '\\') {
        out += text_[at_++];
      } else if (!read_escape(out)) {
        return std::nullopt;
      }
    }
    return out;
  }

  std::string read_name() {
    const std::size_t begin = at_;
    while (!at_end() && is_name(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  // Comments count as nothing. Whether there were spaces.
  bool skip_spaces() {
    bool spaces = false;
    while (!at_end()) {
      if (is_space(text_[at_])) {
        spaces = true;
        ++at_;
      } else if (const std::size_t end = text_.find("*/", at_ + 2); is_at("/*") && end != std::string_view::npos) {
        at_ = end + 2;
      } else {
        break;
      }
    }
    return spaces;
  }
  bool is_at(std::string_view word) const { return text_.substr(at_).starts_with(word); }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool at_end() const { return at_ >= text_.size(); }
  tl::unexpected<Error> wrong(const std::string& expected) const {
    return fail(Errc::kInvalid, "at character {} {} is expected", at_ + 1, expected);
  }

  std::string_view text_;
  std::string_view attribute_;
  std::size_t at_ = 0;
  bool next_sibling_ = false;
};

constexpr std::size_t kMaxExpressionBytes = 16384;

void note(void* context, xmlErrorPtr error) {
  auto* text = static_cast<std::string*>(context);
  if (text->empty() && error != nullptr && error->message != nullptr) *text = std::string(trim(error->message));
}

}  // namespace

Result<std::string> css_to_xpath(std::string_view selector, std::string_view attribute) {
  if (selector.size() > kMaxSelectorBytes) return fail(Errc::kTooLarge, "a selector has at most 4096 bytes");
  for (const char c : attribute) {
    if (!is_name(c) && c != ':') return fail(Errc::kInvalid, "'{}' is no attribute", attribute);
  }
  return Translator(selector, attribute).group();
}

Status check_xpath(const std::string& expression) {
  if (expression.size() > kMaxExpressionBytes) return fail(Errc::kTooLarge, "an expression has at most 16384 bytes");
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
