// Checks, conditions, extracts, and the records of metrics.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <re2/re2.h>
#include <string_view>

#include "core/base/enum_names.h"
#include "core/base/overloaded.h"
#include "core/base/result.h"
#include "core/base/units.h"
#include "load/plan/compile/compile.h"
#include "load/plan/metric.h"
#include "load/plan/selectors.h"

namespace bellwether::plan {

namespace {

// What is wrong with the pattern, and in which part.
std::string pattern_problem(const re2::RE2& pattern) {
  const std::string part = pattern.error_arg() == pattern.pattern() ? "it" : scenario::in_quotes(pattern.error_arg());
  switch (pattern.error_code()) {
    case re2::RE2::ErrorBadEscape: return part + " is no escape; write \\\\ for a backslash";
    case re2::RE2::ErrorBadCharClass:
    case re2::RE2::ErrorBadCharRange: return part + " is no set of characters";
    case re2::RE2::ErrorMissingBracket: return part + " has no ']'";
    case re2::RE2::ErrorMissingParen: return part + " has no ')'; write \\( for a parenthesis";
    case re2::RE2::ErrorUnexpectedParen: return "')' has no '('; write \\) for a parenthesis";
    case re2::RE2::ErrorTrailingBackslash: return "nothing follows the last backslash; write \\\\ for a backslash";
    case re2::RE2::ErrorRepeatArgument: return fmt::format("{} has nothing to repeat; write \\ before it", part);
    case re2::RE2::ErrorRepeatSize: return part + " repeats more than 1000 times, or its limits are reversed";
    case re2::RE2::ErrorRepeatOp: return part + " repeats a repetition";
    case re2::RE2::ErrorBadPerlOp: return part + " is unknown; there is no look-ahead and no look-behind";
    case re2::RE2::ErrorBadUTF8: return "it is not UTF-8";
    case re2::RE2::ErrorBadNamedCapture: return part + " is no group with a name; write (?P<NAME>…)";
    case re2::RE2::ErrorPatternTooLarge: return "it needs too much memory; make its repetitions smaller";
    default: return pattern.error();
  }
}

// The number of capturing groups of a valid pattern in RE2 syntax. Error: the problem of the pattern.
Result<uint16_t> count_groups(std::string_view pattern) {
  constexpr std::size_t kMaxPatternBytes = 4096;
  if (pattern.size() > kMaxPatternBytes) return fail(Errc::kTooLarge, "a pattern has at most 4096 bytes");
  re2::RE2::Options options;
  options.set_log_errors(false);
  const re2::RE2 compiled(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!compiled.ok()) return fail(Errc::kInvalid, pattern_problem(compiled));
  return static_cast<uint16_t>(compiled.NumberOfCapturingGroups());
}

using scenario::in_quotes;

constexpr std::size_t kMaxSeries = 10'000;  // each costs some hundred bytes a core, and more with its counts

// Of one step and one metric. Both are few at this point, and the series of a step are the last ones.
uint16_t series_of(std::size_t metric, StepId step, Plan& plan) {
  for (std::size_t i = plan.series.size(); i > 0 && plan.series[i - 1].step == step; --i) {
    if (plan.series[i - 1].metric == metric) return static_cast<uint16_t>(i - 1);
  }
  plan.series.push_back({static_cast<uint16_t>(metric), step});
  return static_cast<uint16_t>(plan.series.size() - 1);
}

bool has_room(std::size_t more, scenario::Mark mark, Plan& plan, scenario::Reading& reading) {
  if (plan.series.size() + more <= kMaxSeries) return true;
  reading.diagnostics.add(
      mark, {.message = "the scenario is too large",
             .expected = fmt::format("at most {} pairs of a step and a metric that it records", kMaxSeries),
             .hint = "a step in code may record all metrics"});
  return false;
}

Check::Subject subject_of(scenario::Subject subject) {
  switch (subject) {
    case scenario::Subject::kStatus: return Check::Subject::kStatus;
    case scenario::Subject::kBody: return Check::Subject::kBody;
    case scenario::Subject::kSize: return Check::Subject::kBodySize;
    case scenario::Subject::kJson: return Check::Subject::kJson;
    case scenario::Subject::kHeader: return Check::Subject::kHeader;
    case scenario::Subject::kDuration: return Check::Subject::kDuration;
    case scenario::Subject::kUrl: return Check::Subject::kUrl;
    case scenario::Subject::kCss:
    case scenario::Subject::kXpath: return Check::Subject::kXpath;
    case scenario::Subject::kValue: break;  // of no check
  }
  return {};
}

// In the name of a check.
constexpr EnumNames<Comparison> kComparisons("is", "is not", "<", "<=", ">", ">=", "contains", "matches", "exists",
                                             "is absent", "is valid");

std::string show(const scenario::Literal& literal, scenario::Subject subject) {
  if (const auto* text = std::get_if<std::string>(&literal)) return in_quotes(*text);
  if (const auto* text = std::get_if<scenario::Text>(&literal)) return in_quotes(text->text);
  if (const auto* flag = std::get_if<bool>(&literal)) return *flag ? "true" : "false";
  const auto* number = std::get_if<double>(&literal);
  if (number == nullptr) return "null";
  if (subject == scenario::Subject::kDuration) return format_duration(Duration::from_seconds_f(*number / 1e3));
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), *number).ptr;
  return {buffer.data(), end};
}

// "status is 200 or 304", "json $.token exists", "css li count >= 3".
std::string name_of(const scenario::Condition& condition) {
  static constexpr std::array<std::string_view, 9> kSubjects{"status",   "body", "size", "json", "header",
                                                             "duration", "url",  "css",  "xpath"};
  std::string out(kSubjects[static_cast<std::size_t>(condition.subject)]);
  if (!condition.argument.text.empty()) out += " " + condition.argument.text;
  if (condition.attribute) out += " @" + condition.attribute->text;
  if (condition.counts) out += " count";
  out += fmt::format(" {}", kComparisons[condition.op]);
  for (std::size_t i = 0; i < condition.any_of.size(); ++i) {
    constexpr std::size_t kShown = 4;
    if (i == kShown) return out + " or …";
    out += (i == 0 ? " " : " or ") + show(condition.any_of[i], condition.subject);
  }
  return out;
}

// `many`: what counts or picks among several values, and so needs a path that may name them; empty: nothing.
JsonPath compile_path(const scenario::Text& text, std::string_view many, scenario::Reading& reading) {
  auto path = parse_json_path(text.text);
  if (path && path->many == nullptr && !many.empty()) {
    reading.diagnostics.add(text.mark, {.message = fmt::format("{} needs a path that may name several values", many),
                                        .found = in_quotes(text.text),
                                        .expected = "a path such as $.items[*] or $..id",
                                        .is_independent = true});
  }
  if (path) return std::move(*path);
  reading.diagnostics.add(text.mark,
                          {.message = fmt::format("{} is no JSON path: {}", in_quotes(text.text), path.error().message),
                           .expected = "a path such as $.items[0].id",
                           .is_independent = !text.text.empty()});
  return {};
}

uint16_t compile_pattern(std::string_view pattern, scenario::Mark mark, scenario::Reading& reading) {
  const auto groups = count_groups(pattern);
  if (groups) return *groups;
  reading.diagnostics.add(
      mark, {.message = fmt::format("{} is no regular expression: {}", in_quotes(pattern), groups.error().message),
             .expected = "RE2 syntax",
             .is_independent = true});
  return 0;
}

// The patterns of an operator that takes some.
void check_patterns(const scenario::Condition& condition, scenario::Reading& reading) {
  if (condition.op != Comparison::kMatches) return;
  for (const scenario::Literal& literal : condition.any_of) {
    if (const auto* pattern = std::get_if<std::string>(&literal)) {
      compile_pattern(*pattern, condition.mark, reading);
    } else {
      reading.diagnostics.add(condition.mark, {.message = "'matches' takes a regular expression",
                                               .found = show(literal, condition.subject),
                                               .expected = "a text in quotes that mentions constants only"});
    }
  }
}

// What a condition compares with.
std::vector<Literal> compile_literals(const scenario::Condition& condition, TemplateMaker& templates) {
  std::vector<Literal> out;
  for (const scenario::Literal& literal : condition.any_of) {
    out.push_back(
        std::visit(Overloaded{[&](const scenario::Text& text) -> Literal { return templates.make(text, Place::kText); },
                              [](const auto& constant) -> Literal { return constant; }},
                   literal));
  }
  return out;
}

// `argument`: a selector of CSS, or an expression.
std::string compile_xpath(const scenario::Text& argument, bool is_css, const std::optional<scenario::Text>& attribute,
                          scenario::Reading& reading) {
  std::string expression = argument.text;
  if (is_css) {
    auto made = css_to_xpath(expression, attribute ? std::string_view(attribute->text) : "");
    if (!made) {
      reading.diagnostics.add(
          argument.mark, {.message = fmt::format("{} is no selector: {}", in_quotes(expression), made.error().message),
                          .expected = "CSS, such as form input[name=csrf]",
                          .is_independent = !expression.empty()});
      return {};
    }
    expression = std::move(*made);
  }
  const Status good = check_xpath(expression);
  if (!good) {
    reading.diagnostics.add(argument.mark,
                            {.message = fmt::format("{} is no XPath: {}", in_quotes(expression), good.error().message),
                             .expected = "XPath 1.0, such as //input[@name='csrf']/@value",
                             .is_independent = !expression.empty()});
  }
  return expression;
}

}  // namespace

std::vector<Check> compile_checks(const scenario::Step& step, StepId id, TemplateMaker& before, TemplateMaker& after,
                                  std::vector<CheckInfo>& infos, scenario::Reading& reading) {
  std::vector<Check> out;
  for (const scenario::Condition& condition : step.checks) {
    Check check;
    check.id = static_cast<CheckId>(infos.size());
    check.subject = subject_of(condition.subject);
    check.comparison = condition.op;
    check.counts = condition.counts;
    // The status decides whether the request has failed before anything is extracted.
    check.any_of = compile_literals(condition, check.subject == Check::Subject::kStatus ? before : after);
    if (check.subject == Check::Subject::kJson && check.comparison != Comparison::kValid) {
      check.path = compile_path(condition.argument, check.counts ? "'count'" : "", reading);
    }
    if (check.subject == Check::Subject::kHeader) check.header = condition.argument.text;
    check_patterns(condition, reading);
    if (check.subject == Check::Subject::kXpath) {
      check.pattern =
          compile_xpath(condition.argument, condition.subject == scenario::Subject::kCss, condition.attribute, reading);
    }
    infos.push_back({id, name_of(condition)});
    out.push_back(std::move(check));
  }
  if (const auto* code = std::get_if<scenario::Code>(&step.work)) {
    for (const scenario::Text& name : code->checks) {
      Check check;
      check.id = static_cast<CheckId>(infos.size());
      check.subject = Check::Subject::kCode;
      infos.push_back({id, name.text});
      out.push_back(std::move(check));
    }
  }
  return out;
}

std::vector<Condition> compile_conditions(const scenario::Step& step, TemplateMaker& templates,
                                          scenario::Reading& reading) {
  std::vector<Condition> out;
  for (const scenario::Condition& condition : step.conditions) {
    check_patterns(condition, reading);
    out.push_back(
        {templates.make(condition.argument, Place::kText), condition.op, compile_literals(condition, templates)});
  }
  return out;
}

Extract compile_extract(const scenario::Extraction& extraction, SlotId slot, scenario::Reading& reading) {
  Extract out;
  out.slot = slot;
  out.fallback = extraction.fallback;
  out.take = extraction.take;
  switch (extraction.source) {
    case scenario::ExtractSource::kJson:
      out.source = Extract::Source::kJson;
      out.path = compile_path(extraction.argument, out.take == Take::kFirst ? "" : "'pick'", reading);
      break;
    case scenario::ExtractSource::kRegex: {
      out.source = Extract::Source::kRegex;
      out.pattern = extraction.argument.text;
      const std::size_t problems = reading.diagnostics.reported();
      const uint16_t groups = compile_pattern(out.pattern, extraction.argument.mark, reading);
      out.group = static_cast<uint16_t>(extraction.group.value_or(groups > 0 ? 1 : 0));
      if (out.group > groups && reading.diagnostics.reported() == problems) {
        reading.diagnostics.add(extraction.argument.mark,
                                {.message = fmt::format("{} has no group {}", in_quotes(out.pattern), out.group),
                                 .expected = fmt::format("a group from 0 (the whole match) to {}", groups),
                                 .is_independent = true});
      }
      break;
    }
    case scenario::ExtractSource::kHeader:
      out.source = Extract::Source::kHeader;
      out.header = extraction.argument.text;
      break;
    case scenario::ExtractSource::kCookie:
      out.source = Extract::Source::kCookie;
      out.header = extraction.argument.text;
      break;
    case scenario::ExtractSource::kCss:
    case scenario::ExtractSource::kXpath:
      out.source = Extract::Source::kXpath;
      out.pattern = compile_xpath(extraction.argument, extraction.source == scenario::ExtractSource::kCss,
                                  extraction.attribute, reading);
      break;
    case scenario::ExtractSource::kBody: out.source = Extract::Source::kBody; break;
    case scenario::ExtractSource::kStatus: out.source = Extract::Source::kStatus; break;
    case scenario::ExtractSource::kUrl: out.source = Extract::Source::kUrl; break;
  }
  return out;
}

void compile_metrics(const scenario::Scenario& source, scenario::Reading& reading, Plan& plan) {
  for (const scenario::Metric& metric : source.metrics) {
    const auto same = [&](const Metric& one) { return one.name == metric.name.text; };
    if (metric.name.text == kGroupDuration || std::ranges::any_of(metrics(), same)) {
      reading.diagnostics.add(metric.name.mark, {.message = in_quotes(metric.name.text) + " is a metric of every run",
                                                 .hint = "choose another name"});
    }
    plan.metrics.push_back({metric.name.text, metric.kind, metric.unit});
  }
}

void compile_records(const scenario::Step& source, TemplateMaker& templates, Compiling& compiling, Plan& plan,
                     Step& out) {
  scenario::Reading& reading = compiling.reading;
  const std::size_t own = compiling.source.metrics.size();  // those of groups follow
  if (auto* code = std::get_if<CodeCall>(&out.work)) {
    if (!has_room(own, source.name.mark, plan, reading)) return;
    for (std::size_t i = 0; i < own; ++i) {
      code->metrics.push_back({plan.metrics[i].name, series_of(i, out.id, plan)});
    }
  }
  for (const scenario::Pair& record : source.records) {
    const auto end = plan.metrics.begin() + static_cast<std::ptrdiff_t>(own);
    const auto metric =
        std::find_if(plan.metrics.begin(), end, [&](const CustomMetric& one) { return one.name == record.name.text; });
    if (metric == end) {
      std::vector<std::string_view> names;
      for (const scenario::Metric& one : compiling.source.metrics) names.push_back(one.name.text);
      reading.diagnostics.add(
          record.name.mark,
          {.message = "unknown metric " + in_quotes(record.name.text),
           .expected = names.empty() ? std::string() : scenario::one_of(names),
           .hint = names.empty() ? fmt::format("metrics are declared first: metrics: {{{}: counter}}", record.name.text)
                                 : scenario::did_you_mean(record.name.text, names)});
      continue;
    }
    if (!has_room(1, record.name.mark, plan, reading)) return;
    Recording recording;
    recording.series = series_of(static_cast<std::size_t>(metric - plan.metrics.begin()), out.id, plan);
    recording.value = templates.make(record.value, Place::kText);
    if (recording.value.constant()) {
      recording.constant = metric_value(recording.value.text());
      if (!recording.constant) {
        reading.diagnostics.add(record.value.mark,
                                {.message = "wrong value of metric " + in_quotes(record.name.text),
                                 .found = in_quotes(record.value.text),
                                 .expected = "a number, true or false, or a template that gives one"});
      }
    }
    out.records.push_back(std::move(recording));
  }
}

void compile_group(scenario::Mark mark, scenario::Reading& reading, Plan& plan, Workflow& workflow, Step& step) {
  const std::vector<Tag>& tags = plan.steps[step.id].tags;
  const auto tag = std::ranges::find_if(tags, [](const Tag& one) { return one.key == "group"; });
  if (tag == tags.end() || std::holds_alternative<Block>(step.work)) return;
  const auto metric = std::ranges::find_if(
                          plan.metrics, [&](const CustomMetric& one) { return one.name == group_metric(tag->value); }) -
                      plan.metrics.begin();
  auto known =
      std::ranges::find_if(workflow.groups, [&](uint16_t series) { return plan.series[series].metric == metric; });
  if (known == workflow.groups.end()) {
    if (!has_room(1, mark, plan, reading)) return;
    known = workflow.groups.insert(known, series_of(static_cast<std::size_t>(metric), step.id, plan));
  }
  step.group = static_cast<uint16_t>(known - workflow.groups.begin());
}

}  // namespace bellwether::plan
