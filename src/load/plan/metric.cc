#include "load/plan/metric.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tl/expected.hpp>
#include <tuple>

#include "core/base/bytes.h"
#include "load/scenario/document.h"

namespace bellwether::plan {

using Problem = scenario::Diagnostics::Problem;

namespace {

// Each costs some hundred bytes a core, and more with its counts.
constexpr std::size_t kMaxWatches = 10'000;

constexpr std::array<Metric, 19> kMetrics{{
    {"http_reqs", MetricKind::kCounter, MetricScope::kResponse},
    {"http_req_failed", MetricKind::kRate, MetricScope::kResponse},
    {"http_req_duration", MetricKind::kTrend, MetricScope::kResponse},
    {"http_req_service", MetricKind::kTrend, MetricScope::kResponse, RequestTime::kService},
    {"http_req_looking_up", MetricKind::kTrend, MetricScope::kResponse, RequestTime::kLookUp},
    {"http_req_connecting", MetricKind::kTrend, MetricScope::kResponse, RequestTime::kConnect},
    {"http_req_tls_handshaking", MetricKind::kTrend, MetricScope::kResponse, RequestTime::kTls},
    {"http_req_sending", MetricKind::kTrend, MetricScope::kResponse, RequestTime::kSend},
    {"http_req_waiting", MetricKind::kTrend, MetricScope::kResponse, RequestTime::kWait},
    {"http_req_receiving", MetricKind::kTrend, MetricScope::kResponse, RequestTime::kReceive},
    {"checks", MetricKind::kRate, MetricScope::kCheck},
    {"iterations", MetricKind::kCounter, MetricScope::kWorkflow},
    {"iteration_duration", MetricKind::kTrend, MetricScope::kWorkflow},
    {"dropped_iterations", MetricKind::kCounter, MetricScope::kWorkflow},
    {"data_sent", MetricKind::kCounter, MetricScope::kStep},
    {"data_received", MetricKind::kCounter, MetricScope::kStep},
    {"http_reqs_repeated", MetricKind::kCounter, MetricScope::kStep},
    {"vus", MetricKind::kGauge, MetricScope::kWorkflow},
    {"vus_max", MetricKind::kGauge, MetricScope::kWorkflow},
}};

// The left side of a threshold: a metric, and with tags a part of it.

using scenario::in_quotes;

using Checked = tl::expected<void, Problem>;

tl::unexpected<Problem> wrong(Problem problem) { return tl::unexpected<Problem>(std::move(problem)); }

// "step:a.b,check:status is 200". A comma that no tag follows belongs to the value before it.
std::vector<Tag> split_tags(std::string_view text) {
  std::vector<Tag> tags;
  while (!text.empty()) {
    const std::string_view part = take_until(text, ',');
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos && !tags.empty()) {
      tags.back().value += "," + std::string(part);
    } else {
      tags.push_back({std::string(trim(part.substr(0, colon))),
                      colon == std::string_view::npos ? std::string() : std::string(trim(part.substr(colon + 1)))});
    }
  }
  return tags;
}

class TagResolver {
 public:
  TagResolver(const Plan& plan, bool checks_known) : plan_(plan), checks_known_(checks_known) {}

  Checked resolve(const Metric& metric, const std::vector<Tag>& tags, Threshold& out) const {
    const Tag* check = nullptr;
    for (const Tag& tag : tags) {
      const bool is_workflow = tag.key == "workflow" || tag.key == "scenario";
      const bool is_step = tag.key == "step" && metric.scope != MetricScope::kWorkflow;
      const bool is_check = tag.key == "check" && metric.scope == MetricScope::kCheck;
      const bool is_response = metric.scope == MetricScope::kResponse &&
                               std::find(kOfResponse.begin(), kOfResponse.end(), tag.key) != kOfResponse.end();
      if (is_check) check = &tag;
      const Checked status = is_workflow   ? resolve_workflow(tag.value, out)
                             : is_step     ? resolve_step(tag.value, metric, out)
                             : is_response ? resolve_response(tag, out)
                             : is_check    ? Checked()
                                           : resolve_own(tag, metric, out);
      if (!status) return status;
    }
    return check == nullptr ? Checked() : resolve_check(check->value, out);
  }

 private:
  static constexpr std::array<std::string_view, 2> kOfResponse{"status", "expected_response"};

  static Checked resolve_response(const Tag& tag, Threshold& out) {
    if (tag.key == "expected_response") {
      if (tag.value != "true" && tag.value != "false") return wrong_value(tag, "true or false");
      out.response.expected = tag.value == "true";
      return {};
    }
    const auto status = parse_u64(tag.value);
    if (!status || *status > scenario::kMaxStatus || (*status != 0 && *status < scenario::kMinStatus)) {
      return wrong_value(tag, "a status from 100 to 999, or 0: no response");
    }
    out.response.status = static_cast<uint16_t>(*status);
    return {};
  }

  static Checked wrong_value(const Tag& tag, std::string expected) {
    return wrong({.message = fmt::format("wrong value of tag {} in a threshold", in_quotes(tag.key)),
                  .found = in_quotes(tag.value),
                  .expected = std::move(expected)});
  }

  // One of steps: their own, or a fact about them.
  Checked resolve_own(const Tag& tag, const Metric& metric, Threshold& out) const {
    std::set<std::string_view> keys;
    std::set<std::string_view> values;
    for (const StepInfo& step : plan_.steps) {
      for (const std::vector<Tag>* list : {&step.tags, &step.facts}) {
        for (const Tag& one : *list) {
          keys.insert(one.key);
          if (one.key == tag.key) values.insert(one.value);
        }
      }
    }
    if (metric.scope == MetricScope::kWorkflow || !keys.contains(tag.key)) return unknown_tag(tag, metric, keys);
    // With errors in the steps, the whole URLs are unknown.
    if (!checks_known_ && tag.key == "url") return {};
    if (!values.contains(tag.value)) {
      return unknown(fmt::format("value of tag '{}':", tag.key), tag.value, {values.begin(), values.end()});
    }
    out.tags.push_back(tag);
    return {};
  }

  static Checked unknown_tag(const Tag& tag, const Metric& metric, const std::set<std::string_view>& keys) {
    std::vector<std::string_view> names;
    if (metric.scope == MetricScope::kCheck) names.emplace_back("check");
    if (metric.scope == MetricScope::kResponse) names.insert(names.end(), kOfResponse.begin(), kOfResponse.end());
    if (metric.scope != MetricScope::kWorkflow) names.emplace_back("step");
    names.emplace_back("workflow");
    if (metric.scope != MetricScope::kWorkflow) names.insert(names.end(), keys.begin(), keys.end());
    const bool of_response = std::find(kOfResponse.begin(), kOfResponse.end(), tag.key) != kOfResponse.end();
    return wrong({.message = fmt::format("metric {} has no tag {}", in_quotes(metric.name), in_quotes(tag.key)),
                  .expected = scenario::one_of(names),
                  .hint = of_response ? "it selects http_reqs, http_req_failed and the times of requests (http_req_…)"
                                      : scenario::did_you_mean(tag.key, names)});
  }

  Checked resolve_workflow(const std::string& name, Threshold& out) const {
    std::vector<std::string_view> names;
    for (const Workflow& workflow : plan_.workflows) names.push_back(workflow.name);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return unknown("workflow", name, names);
    out.workflow = static_cast<uint16_t>(found - names.begin());
    return {};
  }

  // Whether the metric has figures of this step.
  bool has_figures(const Metric& metric, std::size_t step) const {
    const auto own =
        std::ranges::find_if(plan_.metrics, [&](const CustomMetric& one) { return one.name == metric.name; });
    if (own == plan_.metrics.end()) return plan_.steps[step].measured;
    const auto index = static_cast<std::size_t>(own - plan_.metrics.begin());
    // With errors in the steps, their records are unknown.
    return !checks_known_ || std::ranges::any_of(plan_.series, [&](const Series& one) {
      return one.metric == index && one.step == step;
    });
  }

  // "workflow.step", or the step alone where that is unambiguous.
  Checked resolve_step(const std::string& name, const Metric& metric, Threshold& out) const {
    std::vector<std::string_view> names;
    std::vector<StepId> matching;
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      if (!has_figures(metric, i)) continue;
      const std::string& full = plan_.steps[i].name;
      names.push_back(full);
      const bool is_bare = std::string_view(full).substr(full.find('.') + 1) == name;
      if (full == name || is_bare) matching.push_back(static_cast<StepId>(i));
    }
    if (matching.empty()) return unknown("step", name, names);
    if (matching.size() > 1) {
      return wrong({.message = "several workflows have a step " + in_quotes(name),
                    .hint = fmt::format("write {{step:{}}}", plan_.steps[matching.front()].name)});
    }
    out.step = matching.front();
    return {};
  }

  Checked resolve_check(const std::string& name, Threshold& out) const {
    std::vector<std::string_view> names;
    std::vector<CheckId> matching;
    for (std::size_t i = 0; i < plan_.checks.size(); ++i) {
      const CheckInfo& check = plan_.checks[i];
      names.push_back(check.name);
      const bool in_step = !out.step || *out.step == check.step;
      const bool in_workflow = !out.workflow || *out.workflow == plan_.steps[check.step].workflow;
      if (check.name == name && in_step && in_workflow) matching.push_back(static_cast<CheckId>(i));
    }
    if (matching.empty() && !checks_known_) return {};
    if (matching.empty()) {
      std::sort(names.begin(), names.end());
      names.erase(std::unique(names.begin(), names.end()), names.end());
      return unknown("check", name, names);
    }
    if (matching.size() > 1) {
      const std::string& step = plan_.steps[plan_.checks[matching.front()].step].name;
      return wrong({.message = "several steps have a check " + in_quotes(name),
                    .hint = fmt::format("add a step: {{check:{},step:{}}}", name, step)});
    }
    out.check = matching.front();
    return {};
  }

  static tl::unexpected<Problem> unknown(std::string_view kind, const std::string& name,
                                         const std::vector<std::string_view>& names) {
    return wrong({.message = fmt::format("unknown {} {} in a threshold", kind, in_quotes(name)),
                  .expected = scenario::one_of(names),
                  .hint = scenario::did_you_mean(name, names)});
  }

  const Plan& plan_;
  bool checks_known_;
};

// Resolves `text`, such as "http_req_duration{step:browse.pay}", against the names in `plan`; sets step, workflow and
// check of `out`. With `checks_known` false, a check that the plan has not is no problem.
tl::expected<Metric, Problem> resolve_selector(std::string_view text, const Plan& plan, bool checks_known,
                                               Threshold& out) {
  const std::size_t brace = std::min(text.find('{'), text.size());
  const std::string_view name = trim(text.substr(0, brace));
  std::string_view tags = text.substr(std::min(brace + 1, text.size()));
  const bool is_closed = tags.ends_with('}');
  if (is_closed) tags.remove_suffix(1);
  std::vector<Tag> wanted = split_tags(tags);
  const auto group = std::ranges::find_if(wanted, [](const Tag& tag) { return tag.key == "group"; });
  const bool of_group = name == kGroupDuration && group != wanted.end();
  const auto metric = find_metric(plan, of_group ? group_metric(group->value) : name);
  if (!metric) {
    std::vector<std::string_view> names;
    for (const Metric& each : metrics()) names.push_back(each.name);
    for (const CustomMetric& each : plan.metrics) names.push_back(each.name);
    if (name == kGroupDuration) {
      std::erase_if(names, [](std::string_view each) { return !each.starts_with(kGroupDuration); });
      return wrong({.message = of_group ? "unknown group " + in_quotes(group->value) + " in a threshold"
                                        : in_quotes(name) + " needs the name of a group",
                    .expected = names.empty() ? std::string() : scenario::one_of(names),
                    .hint = names.empty() ? "give steps a group: {http: {get: /pay}, group: checkout}" : ""});
    }
    return wrong({.message = "unknown metric " + in_quotes(name),
                  .expected = scenario::one_of(names),
                  .hint = scenario::did_you_mean(name, names)});
  }
  if (brace == text.size()) return *metric;
  if (!is_closed) return wrong({.message = "'}' is missing at the end of " + in_quotes(text)});
  if (of_group) wanted.erase(group);
  Metric selected = *metric;
  if (of_group) selected.scope = MetricScope::kWorkflow;  // a group has steps, and its time is of none of them
  const Checked resolved = TagResolver(plan, checks_known).resolve(selected, wanted, out);
  if (!resolved) return wrong(resolved.error());
  return *metric;
}

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

// Takes the aggregation off the front of `rest`; false when it has none.
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

Checked parse_expression(std::string_view text, const Metric& metric, Threshold& out) {
  const auto bad = [&](std::string_view what) {
    return wrong(
        {.message = fmt::format("{} is no threshold: {}", in_quotes(text), what),
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
  return wrong({.message = fmt::format("{} does not fit metric {}", in_quotes(text), in_quotes(metric.name)),
                .expected = std::string(aggregations_of(metric.kind))});
}

}  // namespace

std::span<const Metric> metrics() { return kMetrics; }

std::optional<Metric> find_metric(const Plan& plan, std::string_view name) {
  for (const Metric& metric : kMetrics) {
    if (metric.name == name) return metric;
  }
  for (const CustomMetric& metric : plan.metrics) {
    if (metric.name == name) return Metric{metric.name, metric.kind, MetricScope::kStep};
  }
  return std::nullopt;
}

bool selects_step(const Plan& plan, std::size_t step, std::optional<StepId> only, std::optional<uint16_t> workflow,
                  std::span<const Tag> tags) {
  const StepInfo& info = plan.steps[step];
  const auto has = [&](const Tag& tag) {
    return std::find(info.tags.begin(), info.tags.end(), tag) != info.tags.end() ||
           std::find(info.facts.begin(), info.facts.end(), tag) != info.facts.end();
  };
  return (!only || *only == step) && (!workflow || info.workflow == *workflow) && std::ranges::all_of(tags, has);
}

std::string group_metric(std::string_view group) { return fmt::format("{}{{group:{}}}", kGroupDuration, group); }

std::optional<double> metric_value(std::string_view text) {
  text = trim(text);
  if (text == "true") return 1;
  if (text == "false") return 0;
  return parse_double(text);
}

std::vector<Threshold> compile_thresholds(const scenario::Scenario& source, const Plan& plan, bool checks_known,
                                          scenario::Reading& reading) {
  std::vector<Threshold> out;
  std::string_view reported;  // a metric with several expressions is reported once
  for (const scenario::Threshold& written : source.thresholds) {
    if (reading.diagnostics.full()) break;
    Threshold threshold;
    threshold.metric_text = written.metric.text;
    threshold.expression = written.expression.text;
    threshold.abort_on_fail = written.abort_on_fail;
    threshold.delay_abort_eval = written.delay_abort_eval;
    const auto metric = resolve_selector(written.metric.text, plan, checks_known, threshold);
    if (!metric) {
      if (reported != written.metric.text) reading.diagnostics.add(written.metric.mark, metric.error());
      reported = written.metric.text;
      continue;
    }
    threshold.metric = metric->name;
    if (const auto parsed = parse_expression(written.expression.text, *metric, threshold); !parsed) {
      reading.diagnostics.add(written.expression.mark, parsed.error());
    }
    out.push_back(std::move(threshold));
  }
  return out;
}

void compile_watches(const scenario::Scenario& source, scenario::Reading& reading, Plan& plan) {
  if (plan.thresholds.size() != source.thresholds.size()) return;  // some were reported
  for (std::size_t t = 0; t < plan.thresholds.size(); ++t) {
    const Threshold& threshold = plan.thresholds[t];
    if (threshold.response.takes_all()) continue;
    const RequestTime time = find_metric(plan, threshold.metric)->time;
    std::vector<ResponseFilter> filters{threshold.response};
    // Its failed ones are a part of the selected ones.
    if (threshold.metric == "http_req_failed") filters.push_back({threshold.response.status, false});
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      if (!plan.steps[s].measured) continue;
      if (!selects_step(plan, s, threshold.step, threshold.workflow, threshold.tags)) continue;
      for (const ResponseFilter& filter : filters) plan.watches.push_back({static_cast<StepId>(s), filter, time});
    }
    const auto key = [](const Watch& one) {
      return std::tuple(one.step, one.filter.status, one.filter.expected, one.time);
    };
    std::ranges::sort(plan.watches, [&](const Watch& a, const Watch& b) { return key(a) < key(b); });
    plan.watches.erase(std::unique(plan.watches.begin(), plan.watches.end()), plan.watches.end());
    if (plan.watches.size() <= kMaxWatches) continue;
    reading.diagnostics.add(
        source.thresholds[t].metric.mark,
        {.message = "the scenario is too large",
         .expected =
             fmt::format("at most {} pairs of a step and a selection by status or expected_response", kMaxWatches),
         .hint = "add a step: {status:503,step:NAME}"});
    return;
  }
}

}  // namespace bellwether::plan
