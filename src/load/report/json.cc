#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/units.h"
#include "load/aggregate/metric.h"
#include "load/report/reports.h"
#include "load/report/text.h"

namespace bellwether::report {
namespace {

using Json = nlohmann::ordered_json;
using metrics::Histogram;
using plan::Aggregation;

double per_second(uint64_t count, Duration span) {
  return span > Duration::zero() ? static_cast<double>(count) / span.seconds_f() : 0;
}

Json histogram_json(const Histogram& histogram) {
  Json buckets = Json::array();
  for (const Histogram::Bucket& bucket : histogram.buckets()) buckets.push_back({bucket.low_ns(), bucket.count});
  Json out{{"unit", "ns"}, {"buckets", std::move(buckets)}};
  // Beyond 64 bits (584 years of waiting in sum) a reader of JSON gets the nearest number that it can hold.
  if (histogram.sum_ns() <= UINT64_MAX) {
    out["sum"] = static_cast<uint64_t>(histogram.sum_ns());
  } else {
    out["sum"] = static_cast<double>(histogram.sum_ns());
  }
  out["min"] = histogram.min().ns();
  out["max"] = histogram.max().ns();
  return out;
}

constexpr std::pair<const char*, double> kPercentiles[] = {{"p50", 50}, {"p90", 90},     {"p95", 95},
                                                           {"p99", 99}, {"p99_9", 99.9}, {"p99_99", 99.99}};

// Figures in milliseconds; null without a measurement, because a zero would look like one.
Json stats_json(const Histogram& histogram, bool with_histogram) {
  if (histogram.empty()) return nullptr;
  Json out{{"count", histogram.count()}, {"min", histogram.min().millis_f()}, {"mean", histogram.mean().millis_f()}};
  for (const auto& [key, percent] : kPercentiles) out[key] = histogram.percentile(percent).millis_f();
  out["max"] = histogram.max().millis_f();
  if (with_histogram) out["histogram"] = histogram_json(histogram);
  return out;
}

// The same of response times, with the histogram of each kind of request. `lower_bounds`: the figures that are no more
// than that.
Json response_json(const metrics::ResponseTimes& times) {
  if (times.empty()) return nullptr;
  Json out{{"count", times.count()}, {"min", times.min().millis_f()}};
  Json bounds = Json::array();
  const auto figure = [&](const char* key, const metrics::ResponseFigure& seen) {
    out[key] = seen.value.millis_f();
    if (!seen.known()) bounds.push_back(key);
  };
  figure("mean", times.mean());
  for (const auto& [key, percent] : kPercentiles) figure(key, times.percentile(percent));
  figure("max", times.max());
  if (!bounds.empty()) out["lower_bounds"] = std::move(bounds);
  const auto put = [&](const char* key, const Histogram& histogram) {
    if (!histogram.empty()) out[key] = histogram_json(histogram);
  };
  put("histogram", times.answered);
  put("unanswered", times.unanswered);
  put("unfinished", times.unfinished);
  return out;
}

Json findings_json(const std::vector<aggregate::Finding>& findings) {
  Json out = Json::array();
  for (const aggregate::Finding& finding : findings) {
    out.push_back({{"cause", plan::to_string(finding.saturation)},
                   {"from", finding.begin.seconds_f()},
                   {"to", finding.end.seconds_f()},
                   {"worst", finding.worst},
                   {"what", aggregate::text_of(finding)}});
    if (!finding.worker.empty()) out.back()["worker"] = finding.worker;
  }
  return out;
}

Json run_json(const RunReport& run) {
  Json generator{{"saturated", run.generator.saturated()},
                 {"cores", run.generator.cores},
                 {"cpu_cores", run.generator.cpu_cores},
                 {"loop_lag_p99_ms", run.generator.loop_lag_p99.millis_f()}};
  if (run.generator.saturated()) {
    generator["reason"] = run.generator.saturation;
    generator["remedy"] = run.generator.remedy;
  }
  if (!run.generator.findings.empty()) generator["findings"] = findings_json(run.generator.findings);
  Json out{{"id", run.run_id},
           {"scenario", run.totals->plan().name},
           {"started_at", format_wall(run.started_at)},
           {"elapsed_s", run.elapsed.seconds_f()},
           {"verdict", aggregate::to_string(run.verdict.outcome)},
           {"exit_code", run.verdict.exit_code},
           {"reason", run.verdict.reason},
           {"failed_thresholds", run.verdict.failed_thresholds},
           {"targets", plan::targets_of(run.totals->plan())},
           {"generator", std::move(generator)}};
  if (!run.confirmed) out["confirmed"] = false;
  for (const plan::Tag& tag : run.totals->plan().tags) out["tags"][tag.key] = tag.value;
  return out;
}

Json totals_json(const RunReport& run) {
  const aggregate::Counts counts = run.totals->counts();
  return {{"requests", counts.requests},
          {"failed", counts.failed},
          {"left_out", counts.left_out},
          {"repeated", counts.repeated},
          {"rate_per_s", per_second(counts.requests, run.totals->elapsed())},
          {"bytes_sent", counts.bytes_sent},
          {"bytes_received", counts.bytes_received},
          {"iterations", counts.iterations},
          {"dropped_iterations", counts.dropped},
          {"scheduled_iterations", counts.scheduled}};
}

Json step_json(const metrics::StepWindow& step, Duration elapsed) {
  Json phases = Json::object();
  for (std::size_t p = 0; p < metrics::kPhases; ++p) {
    phases[metrics::kPhaseNames[p]] = stats_json(step.phases[p], false);
  }
  Json status = Json::object();
  for (const auto& [one, count] : step.status.entries()) status[std::to_string(one)] = count;
  Json errors = Json::object();
  for (std::size_t e = 0; e < step.errors.size(); ++e) {
    if (step.errors[e] != 0) errors[std::string(to_string(static_cast<http1::ErrorKind>(e)))] = step.errors[e];
  }
  return {{"count", step.count},
          {"failed", step.failed},
          {"left_out", step.left_out},
          {"repeated", step.repeated},
          {"rate_per_s", per_second(step.count, elapsed)},
          {"bytes_sent", step.bytes_sent},
          {"bytes_received", step.bytes_received},
          {"unanswered", step.response.unanswered.count()},
          {"unfinished", step.response.unfinished.count()},
          {"service_ms", stats_json(step.service, true)},
          {"response_ms", response_json(step.response)},
          {"phases_ms", std::move(phases)},
          {"status", std::move(status)},
          {"errors", std::move(errors)}};
}

Json percentiles_json(const aggregate::Percentiles& percentiles) {
  if (percentiles.p99 == Duration::zero()) return nullptr;
  return {
      {"p50", percentiles.p50.millis_f()}, {"p95", percentiles.p95.millis_f()}, {"p99", percentiles.p99.millis_f()}};
}

Json step_series_json(const aggregate::StepSeriesState& series, std::size_t step, std::size_t steps) {
  Json out = Json::array();
  for (std::size_t i = 0; i < series.covered.size(); ++i) {
    if (series.covered[i] == Duration::zero()) continue;
    const aggregate::StepFigure& seen = series.figures[i * steps + step];
    out.push_back({{"t", i * series.length},
                   {"covered_s", series.covered[i].seconds_f()},
                   {"requests", seen.count},
                   {"failed", seen.failed},
                   {"duration_ms", percentiles_json(seen.duration)}});
  }
  return out;
}

Json steps_json(const RunReport& run) {
  Json out = Json::object();
  const aggregate::Totals& totals = *run.totals;
  const plan::Plan& plan = totals.plan();
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const plan::StepInfo& info = plan.steps[s];
    if (!info.measured) continue;
    Json& step = out[info.name] = step_json(totals.sum().steps[s], totals.elapsed(info.workflow));
    step["due_times"] = plan::has_due_times(plan, info);
    step["series"] = step_series_json(totals.step_series(), s, plan.steps.size());
    for (const plan::Tag& tag : info.tags) step["tags"][tag.key] = tag.value;
  }
  return out;
}

// The errors of a workflow, or of all, in the order of their kinds: the reader finds the most frequent ones.
Json errors_json(const aggregate::Totals& totals, std::optional<uint16_t> workflow) {
  Json out = Json::array();
  for (std::size_t e = 0; e < http1::kErrorKinds; ++e) {
    uint64_t count = 0;
    for (std::size_t s = 0; s < totals.plan().steps.size(); ++s) {
      if (!workflow || totals.plan().steps[s].workflow == *workflow) count += totals.sum().steps[s].errors[e];
    }
    const auto kind = static_cast<http1::ErrorKind>(e);
    if (count != 0) out.push_back({{"kind", to_string(kind)}, {"count", count}, {"detail", describe(kind)}});
  }
  return out;
}

Json workflows_json(const RunReport& run) {
  Json out = Json::array();
  const aggregate::Totals& totals = *run.totals;
  for (std::size_t i = 0; i < totals.plan().workflows.size(); ++i) {
    const auto w = static_cast<uint16_t>(i);
    const aggregate::Counts counts = totals.counts(w);
    const WorkflowState& state = run.workflows[w];
    Json skipped_because;
    if (!state.skipped_because.empty()) skipped_because = state.skipped_because;
    out.push_back({{"name", totals.plan().workflows[w].name},
                   {"status", state.status},
                   {"skipped_because", std::move(skipped_because)},
                   {"elapsed_s", state.elapsed.seconds_f()},
                   {"cores", state.cores ? static_cast<int>(*state.cores) : run.generator.cores},
                   {"iterations",
                    {{"completed", counts.iterations},
                     {"interrupted", counts.interrupted},
                     {"scheduled", counts.scheduled},
                     {"on_time", counts.on_time},
                     {"late", counts.late},
                     {"dropped", counts.dropped}}},
                   {"iteration_ms", stats_json(totals.sum().workflows[w].iteration, false)},
                   {"start_lag_ms", stats_json(totals.sum().workflows[w].start_lag, false)},
                   {"vus", {{"peak", totals.vus(w).active.peak}, {"allocated", totals.vus(w).allocated.peak}}},
                   {"errors", errors_json(totals, w)}});
    const plan::Workflow& planned = totals.plan().workflows[w];
    // A plan that only names its steps (results/database.h) does not know its load.
    if (planned.steps.empty()) continue;
    out.back()["executor"] = plan::facts_of(planned.executor).name;
    out.back()["load"] = plan::load_text(planned.executor);
  }
  return out;
}

// As a whole number where it is one.
Json whole_or_not(double value) {
  constexpr double kMaxWhole = 9007199254740992;  // 2^53
  if (value <= kMaxWhole && value == std::floor(value)) return static_cast<uint64_t>(value);
  return value;
}

Json metric_json(const aggregate::Sample& sample) {
  Json out{{"kind", aggregate::to_string(sample.kind)}};
  Json bounds = Json::array();
  const auto put = [&](const char* key, Aggregation aggregation, double percentile = 0) {
    const auto value = value_of(sample, aggregation, percentile);
    out[key] = value ? Json(value->value) : Json(nullptr);
    if (value && value->at_least) bounds.push_back(key);
  };
  switch (sample.kind) {
    case aggregate::MetricKind::kCounter:
      out["count"] = whole_or_not(sample.count);
      put("rate", Aggregation::kRate);
      break;
    case aggregate::MetricKind::kGauge:
      put("value", Aggregation::kValue);
      put("max", Aggregation::kMax);
      break;
    case aggregate::MetricKind::kRate:
      put("rate", Aggregation::kRate);
      out["matches"] = whole_or_not(sample.count);
      out["total"] = sample.total;
      break;
    case aggregate::MetricKind::kTrend:
      out["count"] = sample.trend.count();
      put("avg", Aggregation::kAvg);
      put("min", Aggregation::kMin);
      put("med", Aggregation::kMed);
      put("max", Aggregation::kMax);
      for (const int p : {90, 95, 99}) put((fmt::format("p({})", p)).c_str(), Aggregation::kPercentile, p);
      break;
  }
  if (!bounds.empty()) out["lower_bounds"] = std::move(bounds);
  return out;
}

// With the members that its kind has in metric_json(), of the points in which it has values.
Json metric_series_json(const aggregate::Totals& totals, std::size_t metric) {
  Json out = Json::array();
  for (const aggregate::MetricPoint& point : totals.series_of(metric)) {
    const aggregate::MetricFigure& seen = point.figure;
    Json& one = out.emplace_back(Json{{"t", point.second}});
    switch (totals.plan().metrics[metric].kind) {
      case aggregate::MetricKind::kCounter:
        one["count"] = whole_or_not(seen.sum);
        one["rate"] = point.covered > Duration::zero() ? seen.sum / point.covered.seconds_f() : 0;
        break;
      case aggregate::MetricKind::kGauge:
        one["value"] = seen.last;
        one["min"] = seen.least;
        one["max"] = seen.greatest;
        break;
      case aggregate::MetricKind::kRate:
        one["rate"] = static_cast<double>(seen.trues) / static_cast<double>(seen.count);
        one["matches"] = seen.trues;
        one["total"] = seen.count;
        break;
      case aggregate::MetricKind::kTrend:
        one["count"] = seen.count;
        one["med"] = seen.p50;
        one["p(95)"] = seen.p95;
        break;
    }
  }
  return out;
}

Json metrics_json(const aggregate::Totals& totals) {
  Json out = Json::object();
  for (const plan::Metric& info : plan::metrics()) {
    out[std::string(info.name)] = metric_json(*sample(totals, info.name));
  }
  for (std::size_t m = 0; m < totals.plan().metrics.size(); ++m) {
    const plan::CustomMetric& own = totals.plan().metrics[m];
    const aggregate::Sample seen = *sample(totals, own.name);
    Json& metric = out[own.name] = metric_json(seen);
    metric["custom"] = true;
    metric["unit"] = own.unit;
    metric["refused"] = seen.refused;
    metric["series"] = metric_series_json(totals, m);
  }
  return out;
}

Json checks_json(const aggregate::Totals& totals) {
  Json out = Json::array();
  for (std::size_t c = 0; c < totals.plan().checks.size(); ++c) {
    const plan::CheckInfo& info = totals.plan().checks[c];
    out.push_back({{"name", info.name},
                   {"step", totals.plan().steps[info.step].name},
                   {"passes", totals.sum().checks[c].passes},
                   {"fails", totals.sum().checks[c].fails}});
  }
  return out;
}

Json thresholds_json(const RunReport& run) {
  Json out = Json::array();
  for (std::size_t t = 0; t < run.thresholds.size(); ++t) {
    const plan::Threshold& threshold = run.totals->plan().thresholds[t];
    const aggregate::ThresholdResult& result = run.thresholds[t];
    out.push_back({{"metric", threshold.metric_text},
                   {"expression", threshold.expression},
                   {"value", result.value ? Json(*result.value) : Json(nullptr)},
                   {"limit", threshold.value},
                   {"unit", unit_of(run.totals->plan(), threshold)},
                   {"ok", result.ok}});
    if (result.at_least) out.back()["at_least"] = true;
  }
  return out;
}

Json series_json(const aggregate::Totals& totals) {
  Json out = Json::array();
  for (const aggregate::SeriesPoint& point : totals.series()) {
    // A run ends moments after its last planned second: these are a point only if anything happened in them. In more
    // time, nothing is a stall.
    const bool idle = point.requests + point.iterations + point.dropped == 0 && point.covered < Duration::millis(100);
    if (idle && !out.empty() && &point == &totals.series().back()) break;
    out.push_back({{"t", point.second},
                   {"covered_s", point.covered.seconds_f()},
                   {"requests", point.requests},
                   {"failed", point.failed},
                   {"rate_per_s", point.rate_per_s()},
                   {"iterations", point.iterations},
                   {"dropped", point.dropped},
                   {"vus", point.vus},
                   {"service_ms", percentiles_json(point.service)},
                   {"response_ms", percentiles_json(point.response)}});
  }
  return out;
}

Json lost_json(const RunReport& run) {
  Json out = Json::array();
  for (const plan::Loss& loss : run.losses) {
    out.push_back(
        {{"from", loss.from.seconds_f()}, {"to", loss.to.seconds_f()}, {"ratio", loss.ratio}, {"cause", loss.cause}});
  }
  return out;
}

Json generators_json(const RunReport& run) {
  Json out = Json::array();
  for (const Worker& worker : run.workers) {
    out.push_back({{"name", worker.name},
                   {"cores", worker.cores},
                   {"assignments", worker.assignments},
                   {"state", to_string(worker.state)}});
  }
  return out;
}

Json events_json(const RunReport& run) {
  Json out = Json::array();
  for (const Event& event : run.events) {
    out.push_back({{"t", event.at.seconds_f()}, {"kind", event.kind}, {"detail", event.detail}});
  }
  return out;
}

}  // namespace

std::string to_json(const RunReport& run) {
  const aggregate::Totals& totals = *run.totals;
  const Json totals_part = totals_json(run);
  const aggregate::TagSums tags = aggregate::sums_by_tag(totals);
  Json by_tag = Json::object();
  for (const aggregate::TagSum& one : tags.tags) by_tag[one.name] = step_json(one.sum, one.elapsed);
  Json document{{"format", "bellwether.result/1"},
                {"run", run_json(run)},
                {"totals", totals_part},
                {"steps", steps_json(run)},
                {"by_tag", std::move(by_tag)},
                {"datacenters", Json::array({{{"name", "local"},
                                              {"status", run.ended_early ? "stopped" : "completed"},
                                              {"totals", totals_part},
                                              {"errors", errors_json(totals, {})}}})},
                {"workflows", workflows_json(run)},
                {"metrics", metrics_json(totals)},
                {"lost", lost_json(run)},
                {"generators", generators_json(run)},
                {"checks", checks_json(totals)},
                {"thresholds", thresholds_json(run)},
                {"series", series_json(totals)},
                {"events", events_json(run)}};
  if (tags.left_out > 0) document["tags_left_out"] = tags.left_out;
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace bellwether::report
