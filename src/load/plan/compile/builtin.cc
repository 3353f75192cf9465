#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "load/plan/compile/scope.h"
#include "load/scenario/section.h"

namespace bellwether::plan {

using Problem = scenario::Diagnostics::Problem;

namespace {

using Made = tl::expected<Piece, Problem>;
using scenario::Arguments;
using scenario::BuiltinEntry;
using scenario::in_quotes;

// The default of random_float.
constexpr int64_t kUsualDecimals = 6;

std::optional<int64_t> parse_int(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "-12.5" as a whole number of 10^-9; empty when it is no decimal number, too long or too large.
std::optional<int64_t> parse_decimal(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  const std::size_t dot = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, dot);
  std::string places(text.substr(std::min(dot + 1, text.size())));
  const auto all_digits = [](std::string_view digits) { return std::ranges::all_of(digits, is_digit); };
  if (whole.empty() || whole.size() > 10 || (dot < text.size() && places.empty()) ||
      places.size() > scenario::kMaxDecimalPlaces || !all_digits(whole) || !all_digits(places)) {
    return std::nullopt;
  }
  places.resize(scenario::kMaxDecimalPlaces, '0');
  const int64_t units = *parse_int(whole);
  constexpr int64_t kUnit = 1'000'000'000;
  if (units > scenario::kMaxDecimal) return std::nullopt;
  const int64_t value = units * kUnit + *parse_int(places);
  if (value > scenario::kMaxDecimal * kUnit) return std::nullopt;
  return is_negative ? -value : value;
}

using Argument = TransformCall::Argument;

// The text between the parentheses: bare words, and texts in quotes of either kind.
class ArgumentReader {
 public:
  // `nested`: the words are expressions, with commas of their own in brackets and quotes.
  ArgumentReader(std::string_view text, bool nested) : text_(text), nested_(nested) {}

  tl::expected<std::vector<Argument>, Problem> read() {
    std::vector<Argument> out;
    skip_spaces();
    if (text_.empty()) return out;
    while (true) {
      BW_TRY(auto one, read_one());
      out.push_back(std::move(one));
      skip_spaces();
      if (text_.empty()) return out;
      if (text_.front() != ',') {
        return tl::unexpected(Problem{.message = "a comma is missing in a template, before " + in_quotes(text_)});
      }
      text_.remove_prefix(1);
    }
  }

 private:
  void skip_spaces() {
    while (text_.starts_with(' ')) text_.remove_prefix(1);
  }

  // The length of the bare word.
  std::size_t word_end() const {
    if (!nested_) return std::min(text_.find(','), text_.size());
    int depth = 0;
    char quote = '\0';
    for (std::size_t i = 0; i < text_.size(); ++i) {
      const char c = text_[i];
      if (quote != '\0') {
        if (c == quote) quote = '\0';
      } else if (c == '\'' || c == '"') {
        quote = c;
      } else if (c == '(' || c == '[') {
        ++depth;
      } else if (c == ')' || c == ']') {
        --depth;
      } else if (c == ',' && depth <= 0) {
        return i;
      }
    }
    return text_.size();
  }

  tl::expected<Argument, Problem> read_one() {
    skip_spaces();
    if (text_.starts_with('"') || text_.starts_with('\'')) {
      const std::size_t end = text_.find(text_.front(), 1);
      if (end == std::string_view::npos) {
        return tl::unexpected(Problem{.message = "a text in a template is not closed: " + in_quotes(text_),
                                      .hint = "a text that contains } or both kinds of quotes cannot stand there"});
      }
      Argument out{.text = std::string(text_.substr(1, end - 1)), .is_text = true};
      text_.remove_prefix(end + 1);
      return out;
    }
    const std::size_t end = word_end();
    const std::string_view word = trim(text_.substr(0, end));
    if (word.empty()) {
      return tl::unexpected(Problem{.message = "an argument in a template is empty", .hint = "write '' for no text"});
    }
    text_.remove_prefix(end);
    return Argument{.text = std::string(word)};
  }

  std::string_view text_;
  bool nested_;
};

// The arguments in the parentheses, which must end the expression.
tl::expected<std::vector<Argument>, Problem> read_arguments(std::string_view name, std::string_view written,
                                                            std::string_view arguments, bool nested) {
  if (!arguments.ends_with(')')) {
    return tl::unexpected(Problem{.message = fmt::format("{} is written ${{{}}}", in_quotes(name), written),
                                  .found = in_quotes(std::string(name) + std::string(arguments)),
                                  .hint = "a text there cannot contain }"});
  }
  return ArgumentReader(arguments.substr(1, arguments.size() - 2), nested).read();
}

std::string written(const BuiltinEntry& entry) { return fmt::format("${{{}}}", entry.written); }

Made wrong_form(const BuiltinEntry& entry) {
  return tl::unexpected(Problem{.message = fmt::format("{} is written {}", in_quotes(entry.name), written(entry))});
}

Made wrong_argument(const BuiltinEntry& entry, const std::string& found, std::string expected) {
  return tl::unexpected(Problem{
      .message = fmt::format("wrong argument of {}, which is written like {}", in_quotes(entry.name), written(entry)),
      .found = in_quotes(found),
      .expected = std::move(expected)});
}

Made lowest_first(const BuiltinEntry& entry, const std::vector<std::string>& given) {
  return tl::unexpected(Problem{.message = fmt::format("the first number of {} is the lowest: {}({}, {})",
                                                       in_quotes(entry.name), entry.name, given[1], given[0])});
}

Made make_whole(const BuiltinEntry& entry, const std::vector<std::string>& given, Piece piece) {
  if (given.size() > 1 || (given.empty() && entry.arguments == Arguments::kWhole)) return wrong_form(entry);
  if (given.empty()) return piece;
  const auto number = parse_int(given[0]);
  if (!number || *number < entry.low || *number > entry.high) {
    return wrong_argument(entry, given[0], fmt::format("a whole number from {} to {}", entry.low, entry.high));
  }
  piece.low = *number;
  return piece;
}

Made make_wholes(const BuiltinEntry& entry, const std::vector<std::string>& given, Piece piece) {
  if (given.size() != 2) return wrong_form(entry);
  for (const std::string& one : given) {
    if (!parse_int(one)) return wrong_argument(entry, one, "a whole number");
  }
  piece.low = *parse_int(given[0]);
  piece.high = *parse_int(given[1]);
  if (piece.low > piece.high) return lowest_first(entry, given);
  return piece;
}

Made make_decimals(const BuiltinEntry& entry, const std::vector<std::string>& given, Piece piece) {
  if (given.size() != 2 && given.size() != 3) return wrong_form(entry);
  for (std::size_t i = 0; i < 2; ++i) {
    if (parse_decimal(given[i])) continue;
    return wrong_argument(
        entry, given[i],
        fmt::format("a number such as 0.5, from -1000000000 to 1000000000, with up to {} decimal places",
                    scenario::kMaxDecimalPlaces));
  }
  const auto decimals = given.size() == 3 ? parse_int(given[2]) : kUsualDecimals;
  if (!decimals || *decimals < 0 || *decimals > scenario::kMaxDecimalPlaces) {
    return wrong_argument(entry, given[2],
                          fmt::format("how many decimal places, from 0 to {}", scenario::kMaxDecimalPlaces));
  }
  const int64_t low = *parse_decimal(given[0]);
  const int64_t high = *parse_decimal(given[1]);
  if (low > high) return lowest_first(entry, given);
  int64_t unit = 1;
  for (int64_t i = *decimals; i < scenario::kMaxDecimalPlaces; ++i) unit *= 10;
  // Division truncates towards 0: only numbers between the two count.
  piece.low = low / unit + (low > 0 && low % unit != 0);
  piece.high = high / unit - (high < 0 && high % unit != 0);
  piece.decimals = static_cast<uint8_t>(*decimals);
  if (piece.low > piece.high) {
    return wrong_argument(entry, fmt::format("{}, {}", given[0], given[1]),
                          fmt::format("two numbers with one of {} decimal places between them", *decimals));
  }
  return piece;
}

Made make_choice(const BuiltinEntry& entry, const std::vector<std::string>& given, Piece piece) {
  if (given.empty()) return wrong_form(entry);
  if (given.size() > scenario::kMaxChoices) {
    return wrong_argument(entry, fmt::format("{} texts", given.size()),
                          fmt::format("at most {}", scenario::kMaxChoices));
  }
  piece.kind = Piece::Kind::kList;
  piece.pick = Pick::kRandom;
  auto list = std::make_shared<GivenList>();
  list->elements.assign(given.begin(), given.end());
  piece.list = std::move(list);
  return piece;
}

// `arguments`: the text after the name, with its parentheses.
Made make(const BuiltinEntry& entry, std::string_view arguments) {
  Piece piece;
  piece.kind = Piece::Kind::kBuiltin;
  piece.builtin = entry.id;
  if (entry.arguments == Arguments::kNone) return arguments.empty() ? Made(piece) : wrong_form(entry);
  std::vector<std::string> given;
  if (!arguments.empty()) {
    BW_TRY(const auto read, read_arguments(entry.name, entry.written, arguments, false));
    for (const Argument& one : read) given.push_back(one.text);
  }
  switch (entry.arguments) {
    case Arguments::kWhole:
    case Arguments::kMaybeWhole: return make_whole(entry, given, std::move(piece));
    case Arguments::kWholes: return make_wholes(entry, given, std::move(piece));
    case Arguments::kDecimals: return make_decimals(entry, given, std::move(piece));
    case Arguments::kTexts: return make_choice(entry, given, std::move(piece));
    case Arguments::kNone: break;  // was seen to
  }
  return wrong_form(entry);
}

// Those with the prefix of made-up values, or those that take arguments.
Made unknown(std::string_view name, bool is_fake) {
  std::vector<std::string_view> names;
  for (const BuiltinEntry& entry : scenario::kBuiltins) {
    const bool has_prefix = entry.name.find('.') != std::string_view::npos;
    if (is_fake ? has_prefix : entry.arguments != Arguments::kNone) names.push_back(entry.name);
  }
  for (const scenario::TransformEntry& entry : scenario::kTransforms) {
    if (!is_fake) names.push_back(entry.name);
  }
  return tl::unexpected(Problem{
      .message =
          fmt::format("{}{} in a template", is_fake ? "unknown made-up value " : "unknown function ", in_quotes(name)),
      .expected = scenario::one_of(names),
      .hint = scenario::did_you_mean(name, names)});
}

// "hash.sha255", which is none: a misspelt one.
bool is_like_transform(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos || !scenario::is_value_name(name.substr(dot + 1))) return false;
  return std::any_of(
      scenario::kTransforms.begin(), scenario::kTransforms.end(),
      [&](const scenario::TransformEntry& entry) { return entry.name.starts_with(name.substr(0, dot + 1)); });
}

}  // namespace

std::optional<Made> parse_builtin(std::string_view expression) {
  const std::size_t open = std::min(expression.find('('), expression.size());
  const std::string_view name = trim(expression.substr(0, open));
  for (const BuiltinEntry& entry : scenario::kBuiltins) {
    if (entry.name == name) return make(entry, expression.substr(open));
  }
  const std::size_t dot = name.find('.');
  if (scenario::is_taken_prefix(name.substr(0, dot))) return unknown(name, true);
  if (open < expression.size() && (scenario::is_value_name(name) || is_like_transform(name))) {
    return unknown(name, false);
  }
  return std::nullopt;
}

std::optional<tl::expected<TransformCall, Problem>> parse_transform(std::string_view expression) {
  const std::size_t open = expression.find('(');
  if (open == std::string_view::npos) return std::nullopt;
  const std::string_view name = trim(expression.substr(0, open));
  for (const scenario::TransformEntry& entry : scenario::kTransforms) {
    if (entry.name != name) continue;
    auto arguments = read_arguments(entry.name, entry.written, expression.substr(open), true);
    if (!arguments) return tl::unexpected(std::move(arguments.error()));
    return TransformCall{&entry, std::move(*arguments)};
  }
  return std::nullopt;
}

}  // namespace bellwether::plan
