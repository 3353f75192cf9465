#include <algorithm>

#include "core/base/bytes.h"
#include "load/plan/compile_step.h"
#include "load/plan/metric.h"

namespace bellwether::plan {
namespace {

using scenario::in_quotes;

constexpr std::size_t kSeriesMax = 10'000;  // each costs some hundred bytes a core, and more with what it counts

MetricKind kind_of(scenario::MetricKind kind) {
  switch (kind) {
    case scenario::MetricKind::kCounter: return MetricKind::kCounter;
    case scenario::MetricKind::kGauge: return MetricKind::kGauge;
    case scenario::MetricKind::kRate: return MetricKind::kRate;
    case scenario::MetricKind::kTrend: return MetricKind::kTrend;
  }
  return {};
}

// Of one step and one metric. Both are few at this point, and the series of a step are the last ones.
uint16_t series_of(std::size_t metric, StepId step, Plan& plan) {
  for (std::size_t i = plan.series.size(); i > 0 && plan.series[i - 1].step == step; --i) {
    if (plan.series[i - 1].metric == metric) return static_cast<uint16_t>(i - 1);
  }
  plan.series.push_back({static_cast<uint16_t>(metric), step});
  return static_cast<uint16_t>(plan.series.size() - 1);
}

bool has_room(std::size_t more, scenario::Mark mark, Plan& plan, scenario::Reading& reading) {
  if (plan.series.size() + more <= kSeriesMax) return true;
  reading.diagnostics.add(
      mark, {.message = "the scenario is too large",
             .expected = "at most " + std::to_string(kSeriesMax) + " pairs of a step and a metric that it records",
             .hint = "a step in code may record all metrics"});
  return false;
}

}  // namespace

void compile_metrics(const scenario::Scenario& source, scenario::Reading& reading, Plan& plan) {
  for (const scenario::Metric& metric : source.metrics) {
    const auto same = [&](const Metric& one) { return one.name == metric.name.text; };
    if (std::any_of(metrics().begin(), metrics().end(), same)) {
      reading.diagnostics.add(metric.name.mark, {.message = in_quotes(metric.name.text) + " is a metric of every run",
                                                 .hint = "choose another name"});
    }
    plan.metrics.push_back({metric.name.text, kind_of(metric.kind), metric.unit});
  }
}

void compile_records(const scenario::Step& source, TemplateMaker& templates, Compiling& compiling, Plan& plan,
                     Step& out) {
  scenario::Reading& reading = compiling.reading;
  if (auto* code = std::get_if<CodeCall>(&out.work)) {
    if (!has_room(plan.metrics.size(), source.name.mark, plan, reading)) return;
    for (std::size_t i = 0; i < plan.metrics.size(); ++i) {
      code->metrics.push_back({plan.metrics[i].name, series_of(i, out.id, plan)});
    }
  }
  for (const scenario::Pair& record : source.records) {
    const auto metric = std::find_if(plan.metrics.begin(), plan.metrics.end(),
                                     [&](const CustomMetric& one) { return one.name == record.name.text; });
    if (metric == plan.metrics.end()) {
      std::vector<std::string_view> names;
      for (const CustomMetric& one : plan.metrics) names.push_back(one.name);
      reading.diagnostics.add(
          record.name.mark,
          {.message = "unknown metric " + in_quotes(record.name.text),
           .expected = names.empty() ? std::string() : scenario::one_of(names),
           .hint = names.empty() ? "metrics are declared first: metrics: {" + record.name.text + ": counter}"
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

}  // namespace bellwether::plan
