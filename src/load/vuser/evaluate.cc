#include "load/vuser/evaluate.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <re2/re2.h>

#include "core/base/bytes.h"
#include "load/vuser/json_reader.h"

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

bool text_holds(Comparison comparison, std::string_view value, const plan::Literal& wanted, const re2::RE2* pattern) {
  if (comparison == Comparison::kMatches) return pattern != nullptr && re2::RE2::PartialMatch(value, *pattern);
  if (const auto* number = std::get_if<double>(&wanted); number != nullptr && comparison != Comparison::kContains) {
    const auto parsed = parse_double(value);
    return parsed ? ordered(comparison, *parsed, *number) : comparison == Comparison::kNotEqual;
  }
  if (const auto* text = std::get_if<std::string>(&wanted)) {  // the usual case, without a copy
    return comparison == Comparison::kContains ? value.find(*text) != std::string_view::npos
                                               : ordered(comparison, value, std::string_view(*text));
  }
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

bool needs_body(plan::Check::Subject subject) {
  return subject == plan::Check::Subject::kBody || subject == plan::Check::Subject::kBodySize ||
         subject == plan::Check::Subject::kJson;
}

bool needs_body(plan::Extract::Source source) {
  return source == plan::Extract::Source::kJson || source == plan::Extract::Source::kRegex ||
         source == plan::Extract::Source::kBody || source == plan::Extract::Source::kXpath;
}

}  // namespace

// An expression and room for its groups: the whole match first.
struct Evaluator::Pattern {
  explicit Pattern(const std::string& text)
      : expression(text, re2::RE2::Quiet), groups(static_cast<std::size_t>(expression.NumberOfCapturingGroups() + 1)) {}
  re2::RE2 expression;
  std::vector<re2::StringPiece> groups;
};

Evaluator::Evaluator(const plan::Step& step, BodyReaders& readers)
    : step_(&step), json_(&readers.json), markup_(&readers.markup) {
  if (const auto* call = std::get_if<plan::HttpCall>(&step.work)) expected_ = call->expected;
  if (const auto* code = std::get_if<plan::CodeCall>(&step.work)) expected_ = code->base.expected;
  for (const plan::Check& check : step.checks) {
    wants_body_ |= needs_body(check.subject);
    check_patterns_.push_back(patterns_of(check));
  }
  for (const plan::Extract& extract : step.extracts) {
    wants_body_ |= needs_body(extract.source);
    const bool regex = extract.source == plan::Extract::Source::kRegex;
    const bool xpath = extract.source == plan::Extract::Source::kXpath;
    expressions_.push_back(xpath ? std::make_unique<MarkupReader::Expression>(extract.pattern) : nullptr);
    extract_patterns_.push_back(regex ? std::make_unique<Pattern>(extract.pattern) : nullptr);
  }
}

Evaluator::~Evaluator() = default;
Evaluator::Evaluator(Evaluator&&) noexcept = default;

bool Evaluator::allows(const http1::Response& response) {
  bool names_good_ones = false;
  for (std::size_t i = 0; i < step_->checks.size(); ++i) {
    if (step_->checks[i].subject != plan::Check::Subject::kStatus) continue;
    if (!holds(step_->checks[i], i, response, Duration::zero())) return false;
    names_good_ones = true;
  }
  return names_good_ones;
}

bool Evaluator::evaluate(const http1::Response& response, Duration took, const http1::CookieJar& cookies,
                         Values& values, std::vector<metrics::CheckCount>& counts) {
  json_state_ = markup_state_ = Read::kNotYet;
  const bool answered = response.error == http1::ErrorKind::kNone;
  bool all = true;
  for (std::size_t i = 0; i < step_->checks.size(); ++i) {
    if (step_->checks[i].subject == plan::Check::Subject::kCode) break;  // a program gives the result; they come last
    const bool passed = answered && holds(step_->checks[i], i, response, took);
    metrics::CheckCount& count = counts[step_->checks[i].id];
    ++(passed ? count.passes : count.fails);
    all &= passed;
  }
  if (answered) {
    for (std::size_t i = 0; i < step_->extracts.size(); ++i) extract(step_->extracts[i], i, response, cookies, values);
    if (markup_state_ != Read::kNotYet) markup_->close();
  }
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
  switch (check.subject) {
    case plan::Check::Subject::kStatus: return number(response.status);
    case plan::Check::Subject::kBodySize: return number(static_cast<double>(response.body.size()));
    case plan::Check::Subject::kDuration: return number(took.millis_f());
    case plan::Check::Subject::kCode: break;
    case plan::Check::Subject::kBody: return text(response.body);
    case plan::Check::Subject::kUrl: return text(response.url());
    case plan::Check::Subject::kHeader: {
      const std::string_view value = response.head().header(check.header);
      const bool there = value.data() != nullptr;
      if (check.comparison == Comparison::kExists) return there;
      if (check.comparison == Comparison::kAbsent) return !there;
      return there && text(value);
    }
    case plan::Check::Subject::kJson: return open_json(response) && json_holds(check, index);
  }
  return false;
}

bool Evaluator::json_holds(const plan::Check& check, std::size_t index) {
  if (check.comparison == Comparison::kValid) return json_->valid();
  const JsonReader::Value value = json_->find(check.path);
  const bool there = !std::holds_alternative<std::monostate>(value);
  if (check.comparison == Comparison::kExists) return there;
  if (check.comparison == Comparison::kAbsent) return !there;
  if (!there) return false;
  return any_holds(check, [&](const plan::Literal& wanted, std::size_t i) {
    if (const auto* text = std::get_if<std::string_view>(&value)) {
      return text_holds(check.comparison, *text, wanted,
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
                        const http1::CookieJar& cookies, Values& values) {
  bool found = false;
  switch (extract.source) {
    case plan::Extract::Source::kJson: {
      std::string& out = values.begin(extract.slot);
      found = open_json(response) && json_->find_text(extract.path, out);
      break;
    }
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
      const std::string_view value = response.head().header(extract.header);
      found = value.data() != nullptr;
      if (found) values.set(extract.slot, value);
      break;
    }
    case plan::Extract::Source::kCookie: {
      const std::string* const value = cookies.find(extract.header);
      found = value != nullptr;
      if (found) values.set(extract.slot, *value);
      break;
    }
    case plan::Extract::Source::kXpath: {
      std::string& out = values.begin(extract.slot);
      found = open_markup(response) && markup_->find_text(*expressions_[index], out);
      break;
    }
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
  return std::any_of(all_->begin(), all_->end(), [](const plan::Condition& one) { return mentions_time(one.value); });
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
    const bool holds = any_holds(condition, [&](const plan::Literal& wanted, std::size_t i) {
      return text_holds(condition.comparison, text_, wanted,
                        condition.comparison == Comparison::kMatches ? patterns_[index][i].get() : nullptr);
    });
    if (!holds) return false;
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
