#include "plan/threshold.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/bytes.h"
#include "plan/metric.h"

namespace bellwether::plan {

using scenario::in_quotes;
using Problem = scenario::Diagnostics::Problem;
template <class T>
using Checked = tl::expected<T, Problem>;

namespace {

tl::unexpected<Problem> wrong(Problem problem) { return tl::unexpected<Problem>(std::move(problem)); }

std::string_view aggregations_of(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter: return "one of count, rate";
    case MetricKind::kRate: return "rate";
    case MetricKind::kTrend: return "one of avg, min, max, med, p(N)";
    case MetricKind::kGauge: return "value";
  }
  return {};
}

bool fits(MetricKind kind, Aggregation aggregation) {
  switch (aggregation) {
    case Aggregation::kCount: return kind == MetricKind::kCounter;
    case Aggregation::kRate: return kind == MetricKind::kCounter || kind == MetricKind::kRate;
    case Aggregation::kValue: return kind == MetricKind::kGauge;
    case Aggregation::kAvg:
    case Aggregation::kMin:
    case Aggregation::kMax:
    case Aggregation::kMed:
    case Aggregation::kPercentile: return kind == MetricKind::kTrend;
  }
  return false;
}

// Takes the aggregation off the front of `rest`; false when there is none.
bool take_aggregation(std::string_view& rest, Threshold& out) {
  struct Entry {
    std::string_view name;
    Aggregation aggregation;
  };
  static constexpr std::array<Entry, 7> kEntries{{{"count", Aggregation::kCount},
                                                  {"rate", Aggregation::kRate},
                                                  {"value", Aggregation::kValue},
                                                  {"avg", Aggregation::kAvg},
                                                  {"min", Aggregation::kMin},
                                                  {"max", Aggregation::kMax},
                                                  {"med", Aggregation::kMed}}};
  for (const Entry& entry : kEntries) {
    if (!rest.starts_with(entry.name)) continue;
    out.aggregation = entry.aggregation;
    rest.remove_prefix(entry.name.size());
    return true;
  }
  const std::size_t close = rest.find(')');
  if (!rest.starts_with("p(") || close == std::string_view::npos) return false;
  const auto percentile = parse_double(trim(rest.substr(2, close - 2)));
  if (!percentile || !(*percentile >= 0 && *percentile <= 100)) return false;
  out.aggregation = Aggregation::kPercentile;
  out.percentile = *percentile;
  rest.remove_prefix(close + 1);
  return true;
}

bool take_op(std::string_view& rest, Op& out) {
  struct Entry {
    std::string_view text;
    Op op;
  };
  static constexpr std::array<Entry, 7> kEntries{{{"<=", Op::kLessEqual},
                                                  {">=", Op::kGreaterEqual},
                                                  {"===", Op::kEqual},
                                                  {"==", Op::kEqual},
                                                  {"!=", Op::kNotEqual},
                                                  {"<", Op::kLess},
                                                  {">", Op::kGreater}}};
  for (const Entry& entry : kEntries) {
    if (!rest.starts_with(entry.text)) continue;
    out = entry.op;
    rest.remove_prefix(entry.text.size());
    return true;
  }
  return false;
}

Checked<void> parse_expression(std::string_view text, const Metric& metric, Threshold& out) {
  const auto bad = [&](std::string_view what) {
    return wrong(
        {.message = in_quotes(text) + " is no threshold: " + std::string(what),
         .expected = "AGGREGATION OPERATOR NUMBER such as p(95)<300 or rate>=0.99; times in ms, rates 0 to 1"});
  };
  std::string_view rest = trim(text);
  if (!take_aggregation(rest, out)) return bad("it begins with no aggregation");
  rest = trim(rest);
  if (!take_op(rest, out.op)) return bad("the operator is none of < <= > >= == !=");
  rest = trim(rest);
  const auto value = parse_double(rest);
  if (rest.empty()) return bad("the number is missing");
  if (!value || !std::isfinite(*value)) return bad(in_quotes(rest) + " is no number");
  out.value = *value;
  if (fits(metric.kind, out.aggregation)) return {};
  return wrong({.message = in_quotes(text) + " does not fit metric " + in_quotes(metric.name),
                .expected = std::string(aggregations_of(metric.kind))});
}

struct Tag {
  std::string_view key;
  std::string value;
};

// "step:a.b,check:status is 200". A comma that no tag follows belongs to the value before it.
std::vector<Tag> split_tags(std::string_view text) {
  std::vector<Tag> tags;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos && !tags.empty()) {
      tags.back().value += "," + std::string(part);
    } else {
      tags.push_back({trim(part.substr(0, colon)),
                      colon == std::string_view::npos ? std::string() : std::string(trim(part.substr(colon + 1)))});
    }
  }
  return tags;
}

class TagResolver {
 public:
  TagResolver(const Plan& plan, bool checks_known) : plan_(plan), checks_known_(checks_known) {}

  Checked<void> resolve(const Metric& metric, const std::vector<Tag>& tags, Threshold& out) const {
    const Tag* check = nullptr;
    for (const Tag& tag : tags) {
      const bool is_workflow = tag.key == "workflow" || tag.key == "scenario";
      const bool is_step = tag.key == "step" && metric.scope != MetricScope::kWorkflow;
      const bool is_check = tag.key == "check" && metric.scope == MetricScope::kCheck;
      if (is_check) check = &tag;
      const Checked<void> status = is_workflow ? resolve_workflow(tag.value, out)
                                   : is_step   ? resolve_step(tag.value, out)
                                   : is_check  ? Checked<void>()
                                               : unknown_tag(tag, metric);
      if (!status) return status;
    }
    return check == nullptr ? Checked<void>() : resolve_check(check->value, out);
  }

 private:
  static Checked<void> unknown_tag(const Tag& tag, const Metric& metric) {
    return wrong({.message = "metric " + in_quotes(metric.name) + " has no tag " + in_quotes(tag.key),
                  .expected = metric.scope == MetricScope::kCheck  ? "one of check, step, workflow"
                              : metric.scope == MetricScope::kStep ? "one of step, workflow"
                                                                   : "workflow"});
  }

  Checked<void> resolve_workflow(const std::string& name, Threshold& out) const {
    std::vector<std::string_view> names;
    for (const Workflow& workflow : plan_.workflows) names.push_back(workflow.name);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return unknown("workflow", name, names);
    out.workflow = static_cast<uint16_t>(found - names.begin());
    return {};
  }

  // "workflow.step", or the step alone where that is unambiguous.
  Checked<void> resolve_step(const std::string& name, Threshold& out) const {
    std::vector<std::string_view> names;
    std::vector<StepId> matching;
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      if (!plan_.steps[i].measured) continue;
      const std::string& full = plan_.steps[i].name;
      names.push_back(full);
      const bool is_bare = std::string_view(full).substr(full.find('.') + 1) == name;
      if (full == name || is_bare) matching.push_back(static_cast<StepId>(i));
    }
    if (matching.empty()) return unknown("step", name, names);
    if (matching.size() > 1) {
      return wrong({.message = "several workflows have a step " + in_quotes(name),
                    .hint = "write {step:" + plan_.steps[matching.front()].name + "}"});
    }
    out.step = matching.front();
    return {};
  }

  Checked<void> resolve_check(const std::string& name, Threshold& out) const {
    std::vector<std::string_view> names;
    std::vector<CheckId> matching;
    for (std::size_t i = 0; i < plan_.checks.size(); ++i) {
      const CheckInfo& check = plan_.checks[i];
      if (std::find(names.begin(), names.end(), check.name) == names.end()) names.push_back(check.name);
      const bool in_step = !out.step || *out.step == check.step;
      const bool in_workflow = !out.workflow || *out.workflow == plan_.steps[check.step].workflow;
      if (check.name == name && in_step && in_workflow) matching.push_back(static_cast<CheckId>(i));
    }
    if (matching.empty()) return checks_known_ ? unknown("check", name, names) : Checked<void>();
    if (matching.size() > 1) {
      const std::string& step = plan_.steps[plan_.checks[matching.front()].step].name;
      return wrong({.message = "several steps have a check " + in_quotes(name),
                    .hint = "add a step: {check:" + name + ",step:" + step + "}"});
    }
    out.check = matching.front();
    return {};
  }

  static tl::unexpected<Problem> unknown(std::string_view kind, const std::string& name, scenario::Names names) {
    constexpr std::size_t kShown = 20;
    const scenario::Names shown = names.first(std::min(names.size(), kShown));
    return wrong({.message = "unknown " + std::string(kind) + " " + in_quotes(name) + " in a threshold",
                  .expected = scenario::one_of(shown) + (names.size() > kShown ? ", …" : ""),
                  .hint = scenario::did_you_mean(name, names)});
  }

  const Plan& plan_;
  bool checks_known_;
};

Checked<const Metric*> resolve_metric(std::string_view text, const TagResolver& resolver, Threshold& out) {
  const std::size_t brace = std::min(text.find('{'), text.size());
  const std::string_view name = trim(text.substr(0, brace));
  const Metric* metric = find_metric(name);
  if (metric == nullptr) {
    std::vector<std::string_view> names;
    for (const Metric& each : metrics()) names.push_back(each.name);
    return wrong({.message = "unknown metric " + in_quotes(name),
                  .expected = scenario::one_of(names),
                  .hint = scenario::did_you_mean(name, names)});
  }
  if (brace == text.size()) return metric;
  std::string_view tags = text.substr(brace + 1);
  if (!tags.ends_with('}')) return wrong({.message = "'}' is missing at the end of " + in_quotes(text)});
  tags.remove_suffix(1);
  const Checked<void> resolved = resolver.resolve(*metric, split_tags(tags), out);
  if (!resolved) return wrong(resolved.error());
  return metric;
}

}  // namespace

std::vector<Threshold> compile_thresholds(const scenario::Scenario& source, const Plan& plan, bool checks_known,
                                          scenario::Reading& reading) {
  const TagResolver resolver(plan, checks_known);
  std::vector<Threshold> out;
  std::string_view reported;  // a metric with several expressions is wrong only once
  for (const scenario::Threshold& written : source.thresholds) {
    Threshold threshold;
    threshold.metric_text = written.metric.text;
    threshold.expression = written.expression.text;
    threshold.abort_on_fail = written.abort_on_fail;
    threshold.delay_abort_eval = written.delay_abort_eval;
    const auto metric = resolve_metric(written.metric.text, resolver, threshold);
    if (!metric) {
      if (reported != written.metric.text) reading.diagnostics.add(written.metric.mark, metric.error());
      reported = written.metric.text;
      continue;
    }
    threshold.metric = (*metric)->name;
    if (const auto parsed = parse_expression(written.expression.text, **metric, threshold); !parsed) {
      reading.diagnostics.add(written.expression.mark, parsed.error());
    }
    out.push_back(std::move(threshold));
  }
  return out;
}

}  // namespace bellwether::plan
