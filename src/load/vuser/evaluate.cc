#include "load/vuser/evaluate.h"

#include <algorithm>
#include <charconv>
#include <re2/re2.h>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/units.h"

namespace bellwether::vuser {
namespace {

using plan::Comparison;

template <class T>
bool ordered(Comparison comparison, const T& left, const T& right) {
  switch (comparison) {
    case Comparison::kEqual: return left == right;
    case Comparison::kNotEqual: return left != right;
    case Comparison::kLess: return left < right;
    case Comparison::kLessEqual: return left <= right;
    case Comparison::kGreater: return left > right;
    case Comparison::kGreaterEqual: return left >= right;
    default: return false;
  }
}

bool number_holds(Comparison comparison, double value, const plan::Literal& wanted) {
  const double* number = std::get_if<double>(&wanted);
  if (number != nullptr) return ordered(comparison, value, *number);
  const auto* text = std::get_if<std::string>(&wanted);
  const auto parsed = text == nullptr ? std::nullopt : parse_double(*text);
  return parsed ? ordered(comparison, value, *parsed) : comparison == Comparison::kNotEqual;
}

// The text of a literal, for comparisons with text.
std::string text_of(const plan::Literal& literal) {
  if (const auto* text = std::get_if<std::string>(&literal)) return *text;
  if (const auto* flag = std::get_if<bool>(&literal)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<double>(&literal)) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, *number).ptr;
    return {buffer, end};
  }
  return "null";
}

// Texts that are both numbers are ordered as numbers.
bool texts_hold(Comparison comparison, std::string_view value, std::string_view wanted) {
  if (comparison == Comparison::kContains) return value.find(wanted) != std::string_view::npos;
  if (comparison >= Comparison::kLess && comparison <= Comparison::kGreaterEqual) {
    const auto left = parse_double(value);
    const auto right = parse_double(wanted);
    if (left && right) return ordered(comparison, *left, *right);
  }
  return ordered(comparison, value, wanted);
}

bool text_holds(Comparison comparison, std::string_view value, const plan::Literal& wanted, const re2::RE2* pattern) {
  if (comparison == Comparison::kMatches) return pattern != nullptr && re2::RE2::PartialMatch(value, *pattern);
  if (const auto* number = std::get_if<double>(&wanted); number != nullptr && comparison != Comparison::kContains) {
    const auto parsed = parse_double(value);
    return parsed ? ordered(comparison, *parsed, *number) : comparison == Comparison::kNotEqual;
  }
  // The usual case, without a copy.
  if (const auto* text = std::get_if<std::string>(&wanted)) return texts_hold(comparison, value, *text);
  const std::string text = text_of(wanted);
  return comparison == Comparison::kContains ? value.find(text) != std::string_view::npos
                                             : ordered(comparison, value, std::string_view(text));
}

// Of a plan::Check or a plan::Condition.
template <class Rule, class Holds>
bool any_holds(const Rule& rule, Holds holds) {
  // "not equal to any of these" means: equal to none.
  if (rule.comparison == Comparison::kNotEqual) {
    for (std::size_t i = 0; i < rule.any_of.size(); ++i) {
      if (!holds(rule.any_of[i], i)) return false;
    }
    return true;
  }
  for (std::size_t i = 0; i < rule.any_of.size(); ++i) {
    if (holds(rule.any_of[i], i)) return true;
  }
  return false;
}

// For each literal of kMatches; else none.
template <class Rule>
std::vector<std::unique_ptr<re2::RE2>> patterns_of(const Rule& rule) {
  std::vector<std::unique_ptr<re2::RE2>> out;
  if (rule.comparison != Comparison::kMatches) return out;
  for (const plan::Literal& literal : rule.any_of) {
    out.push_back(std::make_unique<re2::RE2>(text_of(literal), re2::RE2::Quiet));
  }
  return out;
}

bool count_holds(const plan::Check& check, std::optional<std::size_t> count) {
  return count && any_holds(check, [&](const plan::Literal& wanted, std::size_t) {
           return number_holds(check.comparison, static_cast<double>(*count), wanted);
         });
}

bool needs_body(plan::Check::Subject subject) {
  return subject == plan::Check::Subject::kBody || subject == plan::Check::Subject::kBodySize ||
         subject == plan::Check::Subject::kJson || subject == plan::Check::Subject::kXpath;
}

bool needs_body(plan::Extract::Source source) {
  return source == plan::Extract::Source::kJson || source == plan::Extract::Source::kRegex ||
         source == plan::Extract::Source::kBody || source == plan::Extract::Source::kXpath;
}

// Without the spaces and line ends around it, which a page does not show.
std::string_view visible_text(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\f";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// What a rendered text means in a check; nothing when the check needs a number, and it is none.
std::optional<plan::Literal> literal_of(const plan::Check& check, const std::string& text) {
  const auto number = [](auto value) { return value ? std::optional<plan::Literal>(*value) : std::nullopt; };
  if (check.counts) return number(parse_double(text));
  switch (check.subject) {
    case plan::Check::Subject::kStatus: return number(parse_double(text));
    case plan::Check::Subject::kBodySize: {
      const auto size = parse_size(text);
      return size ? std::optional<plan::Literal>(static_cast<double>(*size)) : std::nullopt;
    }
    case plan::Check::Subject::kDuration: {
      const auto span = parse_duration(text);
      return span ? std::optional<plan::Literal>(span->millis_f()) : std::nullopt;
    }
    case plan::Check::Subject::kJson:
      if (text == "true" || text == "false") return text == "true";
      if (text == "null") return nullptr;
      break;
    default: break;
  }
  return text;
}

}  // namespace

// The headers of a response, as a reader of several values.
struct HeaderReader {
  const http1::ResponseHead& head;

  // The value of the header with this number, from 0; a view without data: there is none.
  std::string_view find(std::string_view name, std::size_t number) const {
    for (std::size_t i = 0; i < head.field_count; ++i) {
      if (iequals(head.fields[i].name, name) && number-- == 0) return head.fields[i].value;
    }
    return {};
  }
  bool find_text(std::string_view name, std::string& out, std::size_t number = 0) const {
    const std::string_view value = find(name, number);
    out += value;
    return value.data() != nullptr;
  }
  std::optional<std::size_t> count(std::string_view name) const {
    std::size_t found = 0;
    while (find(name, found).data() != nullptr) ++found;
    return found;
  }
  bool find_list(std::string_view name, std::string& out) const {
    out += '[';
    for (std::size_t i = 0; find(name, i).data() != nullptr; ++i) {
      out += i > 0 ? ",\"" : "\"";
      append_json_text(find(name, i), out);
      out += '"';
    }
    out += ']';
    return true;
  }
};

// An expression and room for its groups: the whole match first.
struct Evaluator::Pattern {
  explicit Pattern(const std::string& text)
      : expression(text, re2::RE2::Quiet), groups(static_cast<std::size_t>(expression.NumberOfCapturingGroups() + 1)) {}
  re2::RE2 expression;
  std::vector<re2::StringPiece> groups;
};

Evaluator::Evaluator(const plan::Step& step, BodyReaders& readers)
    : step_(&step), json_(&readers.json), markup_(&readers.markup), checks_(step.checks) {
  if (const auto* call = std::get_if<plan::HttpCall>(&step.work)) expected_ = call->expected;
  if (const auto* code = std::get_if<plan::CodeCall>(&step.work)) expected_ = code->base.expected;
  for (std::size_t i = 0; i < step.checks.size(); ++i) {
    const plan::Check& check = step.checks[i];
    wants_body_ |= needs_body(check.subject);
    const bool xpath = check.subject == plan::Check::Subject::kXpath;
    check_expressions_.push_back(xpath ? std::make_unique<MarkupReader::Expression>(check.pattern) : nullptr);
    check_patterns_.push_back(patterns_of(check));
    for (std::size_t j = 0; j < check.any_of.size(); ++j) {
      const auto* const source = std::get_if<plan::Template>(&check.any_of[j]);
      if (source == nullptr) continue;
      rendered_.push_back({i, j, source});
      mentions_time_ |= vuser::mentions_time(*source);
    }
  }
  for (const plan::Extract& extract : step.extracts) {
    wants_body_ |= needs_body(extract.source);
    const bool regex = extract.source == plan::Extract::Source::kRegex;
    const bool xpath = extract.source == plan::Extract::Source::kXpath;
    expressions_.push_back(xpath ? std::make_unique<MarkupReader::Expression>(extract.pattern) : nullptr);
    extract_patterns_.push_back(regex ? std::make_unique<Pattern>(extract.pattern) : nullptr);
    needs_context_ |= extract.take == plan::Take::kRandom;
  }
  if (rendered_.empty()) return;
  needs_context_ = true;
  own_checks_ = step.checks;
  checks_ = own_checks_;
  unready_.resize(own_checks_.size());
}

Evaluator::~Evaluator() = default;
Evaluator::Evaluator(Evaluator&&) noexcept = default;

void Evaluator::render_values(const RenderContext& context) {
  unready_.assign(unready_.size(), false);
  for (const Rendered& one : rendered_) {
    text_.clear();
    plan::Check& check = own_checks_[one.check];
    auto literal = render(*one.source, context, text_) ? literal_of(check, text_) : std::nullopt;
    if (literal) {
      check.any_of[one.literal] = std::move(*literal);
    } else {
      unready_[one.check] = true;
    }
  }
}

bool Evaluator::has_failed(const http1::Response& response, const RenderContext* context,
                           std::span<const plan::StatusRange> own) {
  if (response.error != http1::ErrorKind::kNone) return true;
  const std::span<const plan::StatusRange> expected = own.empty() ? expected_ : own;
  if (!expected.empty()) return !scenario::has_status(expected, response.status);
  return response.status >= 400 && !allows(response, context);
}

bool Evaluator::allows(const http1::Response& response, const RenderContext* context) {
  if (!rendered_.empty()) render_values(*context);
  bool names_good_ones = false;
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    if (checks_[i].subject != plan::Check::Subject::kStatus) continue;
    if (!holds(checks_[i], i, response, Duration::zero())) return false;
    names_good_ones = true;
  }
  return names_good_ones;
}

bool Evaluator::evaluate(const http1::Response& response, Duration took, const http1::CookieJar& cookies,
                         Values& values, std::vector<metrics::CheckCount>& counts, const RenderContext* context) {
  json_state_ = markup_state_ = Read::kNotYet;
  const bool answered = response.error == http1::ErrorKind::kNone;
  if (answered) {
    for (std::size_t i = 0; i < step_->extracts.size(); ++i) {
      extract(step_->extracts[i], i, response, cookies, values, context);
    }
    if (!rendered_.empty()) render_values(*context);
  }
  bool all = true;
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    if (checks_[i].subject == plan::Check::Subject::kCode) break;  // a program gives the result; they come last
    const bool passed = answered && holds(checks_[i], i, response, took);
    metrics::CheckCount& count = counts[checks_[i].id];
    ++(passed ? count.passes : count.fails);
    all &= passed;
  }
  if (markup_state_ != Read::kNotYet) markup_->close();
  return all;
}

bool Evaluator::holds(const plan::Check& check, std::size_t index, const http1::Response& response, Duration took) {
  const auto number = [&](double value) {
    return any_holds(
        check, [&](const plan::Literal& wanted, std::size_t) { return number_holds(check.comparison, value, wanted); });
  };
  const auto text = [&](std::string_view value) {
    return any_holds(check, [&](const plan::Literal& wanted, std::size_t i) {
      return text_holds(check.comparison, value, wanted,
                        check.comparison == Comparison::kMatches ? check_patterns_[index][i].get() : nullptr);
    });
  };
  if (!unready_.empty() && unready_[index]) return false;
  switch (check.subject) {
    case plan::Check::Subject::kStatus: return number(response.status);
    case plan::Check::Subject::kBodySize: return number(static_cast<double>(response.body.size()));
    case plan::Check::Subject::kDuration: return number(took.millis_f());
    case plan::Check::Subject::kCode: break;
    case plan::Check::Subject::kBody: return text(response.body);
    case plan::Check::Subject::kUrl: return text(response.url());
    case plan::Check::Subject::kHeader: {
      const HeaderReader headers{response.head()};
      std::string_view value = headers.find(check.header, 0);
      const bool there = value.data() != nullptr;
      if (check.comparison == Comparison::kExists) return there;
      if (check.comparison == Comparison::kAbsent) return !there;
      // Of several headers one must hold; "not" is of all.
      const bool decides = check.comparison != Comparison::kNotEqual;
      for (std::size_t i = 1; value.data() != nullptr && text(value) != decides; ++i) {
        value = headers.find(check.header, i);
      }
      return there && (value.data() != nullptr) == decides;
    }
    case plan::Check::Subject::kJson: return open_json(response) && json_holds(check, index);
    case plan::Check::Subject::kXpath: return open_markup(response) && markup_holds(check, index);
  }
  return false;
}

bool Evaluator::markup_holds(const plan::Check& check, std::size_t index) {
  const MarkupReader::Expression& expression = *check_expressions_[index];
  if (check.counts) return count_holds(check, markup_->count(expression));
  const bool there = markup_->find_text(expression, text_);
  if (check.comparison == Comparison::kExists) return there;
  if (check.comparison == Comparison::kAbsent) return !there;
  return there && any_holds(check, [&](const plan::Literal& wanted, std::size_t i) {
           return text_holds(check.comparison, visible_text(text_), wanted,
                             check.comparison == Comparison::kMatches ? check_patterns_[index][i].get() : nullptr);
         });
}

bool Evaluator::json_holds(const plan::Check& check, std::size_t index) {
  if (check.comparison == Comparison::kValid) return json_->valid();
  if (check.counts) return count_holds(check, json_->count(check.path));
  const JsonReader::Value value = json_->find(check.path);
  const bool there = !std::holds_alternative<std::monostate>(value);
  if (check.comparison == Comparison::kExists) return there;
  if (check.comparison == Comparison::kAbsent) return !there;
  if (!there) return false;
  // Objects and arrays compare by their text, which an extraction gives too.
  const bool is_compound = std::holds_alternative<JsonReader::Compound>(value);
  if (is_compound) {
    text_.clear();
    if (!json_->find_text(check.path, text_)) return false;
  }
  return any_holds(check, [&](const plan::Literal& wanted, std::size_t i) {
    const auto* text = std::get_if<std::string_view>(&value);
    if (text != nullptr || is_compound) {
      return text_holds(check.comparison, is_compound ? std::string_view(text_) : *text, wanted,
                        check.comparison == Comparison::kMatches ? check_patterns_[index][i].get() : nullptr);
    }
    if (const auto* number = std::get_if<double>(&value)) return number_holds(check.comparison, *number, wanted);
    const bool negate = check.comparison == Comparison::kNotEqual;
    if (const auto* flag = std::get_if<bool>(&value)) {
      const bool* wanted_flag = std::get_if<bool>(&wanted);
      return (wanted_flag != nullptr && *wanted_flag == *flag) != negate;
    }
    const bool both_null =
        std::holds_alternative<JsonReader::Null>(value) && std::holds_alternative<std::nullptr_t>(wanted);
    return both_null != negate;
  });
}

void Evaluator::extract(const plan::Extract& extract, std::size_t index, const http1::Response& response,
                        const http1::CookieJar& cookies, Values& values, const RenderContext* context) {
  bool found = false;
  // Of several values of a path or an expression.
  const auto take = [&](auto& reader, const auto& which) {
    std::string& out = values.begin(extract.slot);
    if (extract.take == plan::Take::kFirst) return reader.find_text(which, out);
    if (extract.take == plan::Take::kAll) return reader.find_list(which, out);
    const auto count = reader.count(which);
    if (extract.take == plan::Take::kCount) {
      if (count) append_number(*count, out);
      return count.has_value();
    }
    return count && *count > 0 && reader.find_text(which, out, context->prng.below(*count));
  };
  switch (extract.source) {
    case plan::Extract::Source::kJson: found = open_json(response) && take(*json_, extract.path); break;
    case plan::Extract::Source::kRegex: {
      Pattern& pattern = *extract_patterns_[index];
      const bool matches = extract.group < pattern.groups.size() &&
                           pattern.expression.Match(response.body, 0, response.body.size(), re2::RE2::UNANCHORED,
                                                    pattern.groups.data(), extract.group + 1);
      const re2::StringPiece group = matches ? pattern.groups[extract.group] : re2::StringPiece();
      found = group.data() != nullptr;
      if (found) values.set(extract.slot, {group.data(), group.size()});
      break;
    }
    case plan::Extract::Source::kHeader: {
      HeaderReader reader{response.head()};
      found = take(reader, extract.header);
      break;
    }
    case plan::Extract::Source::kCookie: {
      const std::string* const value = cookies.find(extract.header);
      found = value != nullptr;
      if (found) values.set(extract.slot, *value);
      break;
    }
    case plan::Extract::Source::kXpath: found = open_markup(response) && take(*markup_, *expressions_[index]); break;
    case plan::Extract::Source::kBody:
      found = true;
      values.set(extract.slot, response.body);
      break;
    case plan::Extract::Source::kUrl:
      found = true;
      values.set(extract.slot, response.url());
      break;
    case plan::Extract::Source::kStatus: {
      found = true;
      char text[8];
      const auto end = std::to_chars(text, text + sizeof text, response.status).ptr;
      values.set(extract.slot, {text, static_cast<std::size_t>(end - text)});
      break;
    }
  }
  if (found) return;
  if (extract.fallback) {
    values.set(extract.slot, *extract.fallback);
  } else {
    values.forget(extract.slot);
  }
}

Conditions::Conditions(const std::vector<plan::Condition>& conditions) : all_(&conditions) {
  for (const plan::Condition& condition : conditions) patterns_.push_back(patterns_of(condition));
}

Conditions::~Conditions() = default;
Conditions::Conditions(Conditions&&) noexcept = default;

bool Conditions::mention_time() const {
  const auto mentions = [](const plan::Literal& literal) {
    const auto* source = std::get_if<plan::Template>(&literal);
    return source != nullptr && mentions_time(*source);
  };
  return std::ranges::any_of(*all_, [&](const plan::Condition& one) {
    return mentions_time(one.value) || std::ranges::any_of(one.any_of, mentions);
  });
}

bool Conditions::hold(const RenderContext& context) {
  for (std::size_t index = 0; index < all_->size(); ++index) {
    const plan::Condition& condition = (*all_)[index];
    text_.clear();
    const bool there = render(condition.value, context, text_);
    if (condition.comparison == Comparison::kExists || condition.comparison == Comparison::kAbsent) {
      if (there != (condition.comparison == Comparison::kExists)) return false;
      continue;
    }
    if (!there) return false;
    const std::size_t left = text_.size();
    bool ready = true;  // what it compares with is there
    const bool holds = any_holds(condition, [&](const plan::Literal& wanted, std::size_t i) {
      if (const auto* source = std::get_if<plan::Template>(&wanted)) {
        // Behind the left side, so that no evaluation allocates.
        text_.resize(left);
        ready &= render(*source, context, text_);
        const std::string_view both = text_;
        return ready && texts_hold(condition.comparison, both.substr(0, left), both.substr(left));
      }
      return text_holds(condition.comparison, std::string_view(text_).substr(0, left), wanted,
                        condition.comparison == Comparison::kMatches ? patterns_[index][i].get() : nullptr);
    });
    if (!holds || !ready) return false;
  }
  return true;
}

bool Evaluator::open_json(const http1::Response& response) {
  if (json_state_ == Read::kNotYet) json_state_ = json_->open(response.body) ? Read::kGood : Read::kBad;
  return json_state_ == Read::kGood;
}

bool Evaluator::open_markup(const http1::Response& response) {
  if (markup_state_ == Read::kNotYet) {
    const bool is_xml = looks_like_xml(response.head().header("content-type"), response.body);
    markup_state_ = markup_->open(response.body, is_xml) ? Read::kGood : Read::kBad;
  }
  return markup_state_ == Read::kGood;
}

}  // namespace bellwether::vuser
