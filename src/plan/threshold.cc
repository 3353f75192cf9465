#include "plan/threshold.h"

#include <array>
#include <cmath>

#include "base/bytes.h"
#include "plan/metric.h"
#include "plan/selector.h"

namespace bellwether::plan {

using scenario::in_quotes;
using Problem = scenario::Diagnostics::Problem;

namespace {

using Checked = tl::expected<void, Problem>;

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

Checked parse_expression(std::string_view text, const Metric& metric, Threshold& out) {
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

}  // namespace

std::vector<Threshold> compile_thresholds(const scenario::Scenario& source, const Plan& plan, bool checks_known,
                                          scenario::Reading& reading) {
  std::vector<Threshold> out;
  std::string_view reported;  // a metric with several expressions is wrong only once
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

}  // namespace bellwether::plan
