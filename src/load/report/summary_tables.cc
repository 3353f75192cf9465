#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/encoding.h"
#include "core/base/units.h"
#include "load/aggregate/metric.h"
#include "load/report/summary_page.h"
#include "load/report/threshold_text.h"

namespace bellwether::report {
namespace {

using aggregate::Sample;
using metrics::Histogram;
using plan::Aggregation;
using Row = std::vector<std::string>;

std::string rate_text(uint64_t count, Duration span) {
  return decimal(span > Duration::zero() ? static_cast<double>(count) / span.seconds_f() : 0) + "/s";
}

std::string byte_rate_text(uint64_t bytes, Duration span) {
  return format_bytes(span > Duration::zero() ? static_cast<double>(bytes) / span.seconds_f() : 0) + "/s";
}

Row latency_row(std::string name, const Histogram& histogram) {
  Row row{std::move(name), format_duration(histogram.mean())};
  for (const double percent : {50.0, 90.0, 95.0, 99.0, 99.9}) {
    row.push_back(format_duration(histogram.percentile(percent)));
  }
  row.push_back(format_duration(histogram.max()));
  return row;
}

bool open_model(const plan::Workflow& workflow) { return plan::facts_of(workflow.executor).open_model; }

std::string figure(const plan::CustomMetric& metric, const Sample& sample, Aggregation aggregation,
                   double percentile = 0) {
  const auto value = value_of(sample, aggregation, percentile);
  return value ? metric_value_text(metric, aggregation, *value) : "-";
}

std::string figures(const plan::CustomMetric& metric, const Sample& sample) {
  const auto one = [&](Aggregation aggregation, double percentile = 0) {
    return figure(metric, sample, aggregation, percentile);
  };
  switch (metric.kind) {
    case plan::MetricKind::kCounter: return one(Aggregation::kCount) + "  " + one(Aggregation::kRate);
    case plan::MetricKind::kRate:
      return one(Aggregation::kRate) + "  " + format_count(static_cast<uint64_t>(sample.count)) + " of " +
             format_count(sample.total);
    case plan::MetricKind::kGauge: return one(Aggregation::kValue) + "  max " + one(Aggregation::kMax);
    case plan::MetricKind::kTrend:
      return "avg " + one(Aggregation::kAvg) + "  min " + one(Aggregation::kMin) + "  med " + one(Aggregation::kMed) +
             "  p95 " + one(Aggregation::kPercentile, 95) + "  p99 " + one(Aggregation::kPercentile, 99) + "  max " +
             one(Aggregation::kMax);
  }
  return {};
}

}  // namespace

bool has_due_times(const plan::Plan& plan, const plan::StepInfo& step) {
  if (step.open_model) return true;
  return std::visit(
      [](const auto& executor) {
        if constexpr (requires { executor.pacing; }) return executor.pacing.has_value();
        return false;
      },
      plan.workflows[step.workflow].executor);
}

void write_requests(Page& page, const RunReport& run) {
  const aggregate::Counts counts = run.totals->counts();
  const Duration measured = run.totals->elapsed();
  page.heading("REQUESTS");
  page.rows(
      {{"total", format_count(counts.requests), rate_text(counts.requests, measured)},
       {"failed", format_count(counts.failed), percent(counts.failed, counts.requests)},
       {"sent", format_bytes(static_cast<double>(counts.bytes_sent)), byte_rate_text(counts.bytes_sent, measured)},
       {"received", format_bytes(static_cast<double>(counts.bytes_received)),
        byte_rate_text(counts.bytes_received, measured)}});
}

void write_iterations(Page& page, const RunReport& run) {
  const aggregate::Totals& totals = *run.totals;
  const plan::Plan& plan = totals.plan();
  std::vector<Row> all{{"", "completed", "interrupted", "mean", "p95", "max", "VUs used", "VUs made"}};
  std::vector<Row> open{{"", "scheduled", "on time", "late", "dropped", "lag p50", "lag p99", "lag max"}};
  for (std::size_t i = 0; i < plan.workflows.size(); ++i) {
    const auto w = static_cast<uint16_t>(i);
    const std::string name = printable(plan.workflows[w].name);
    const metrics::WorkflowWindow& sum = totals.sum().workflows[w];
    all.push_back({name, format_count(sum.iterations), format_count(sum.interrupted),
                   format_duration(sum.iteration.mean()), format_duration(sum.iteration.percentile(95)),
                   format_duration(sum.iteration.max()), std::to_string(totals.vus(w).active.peak),
                   std::to_string(totals.vus(w).allocated.peak)});
    const WorkflowState& state = run.workflows[w];
    if (state.status != "completed" && state.status != "stopped") {
      const std::string because = state.skipped_because.empty() ? "" : ": " + printable(state.skipped_because);
      all.push_back({"  " + state.status + because});
    }
    if (!open_model(plan.workflows[w])) continue;
    open.push_back({name, format_count(sum.scheduled), format_count(sum.on_time), format_count(sum.late),
                    format_count(sum.dropped), format_duration(sum.start_lag.percentile(50)),
                    format_duration(sum.start_lag.percentile(99)), format_duration(sum.start_lag.max())});
  }
  page.heading("ITERATIONS");
  page.rows(all);
  if (open.size() == 1) return;
  page.heading("SCHEDULE", "late: started more than 10ms after it was due; lag: due → started");
  page.rows(open);
}

void write_latencies(Page& page, const RunReport& run) {
  const aggregate::Totals& totals = *run.totals;
  const plan::Plan& plan = totals.plan();
  std::vector<Row> rows{{"", "mean", "p50", "p90", "p95", "p99", "p99.9", "max"}};
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const plan::StepInfo& info = plan.steps[s];
    const metrics::StepWindow& step = totals.sum().steps[s];
    if (!info.measured || step.count == 0) continue;
    const std::string figures = "  " + format_count(step.count) + " requests, " +
                                rate_text(step.count, totals.elapsed()) + ", " + percent(step.failed, step.count) +
                                " failed";
    rows.push_back(
        {page.style(shorten(printable(info.name), page.width() - 2 - width_of(figures)), Style::kBold) + figures});
    if (has_due_times(plan, info) && !step.response.empty()) rows.push_back(latency_row("  response", step.response));
    if (!step.service.empty()) rows.push_back(latency_row("  service", step.service));
    if (step.censored > 0) {
      const char* const why = info.open_model             ? "dropped or unfinished"
                              : has_due_times(plan, info) ? "not asked in time, or unfinished"
                                                          : "unfinished";
      rows.push_back({"  " + format_count(step.censored) + " of the response times are lower bounds: " + why});
    }
  }
  if (rows.size() == 1) return;
  page.heading("LATENCY", "response: due → done; service: sent → done");
  page.rows(rows);
}

void write_distribution(Page& page, const RunReport& run) {
  const auto all = aggregate::sample(*run.totals, "http_req_duration");
  const Histogram& times = all->trend;
  if (times.empty() || times.min() == times.max()) return;
  constexpr int kBars = 10;
  // Bars of equal ratio, not of equal width: latencies spread over magnitudes.
  const double low = std::max(static_cast<double>(times.min().ns()), 1.0);
  const double ratio = std::pow(static_cast<double>(times.max().ns()) / low, 1.0 / kBars);
  std::array<uint64_t, kBars> counts{};
  std::array<Duration, kBars> ends{};
  uint64_t below = 0;
  for (int bar = 0; bar < kBars; ++bar) {
    const auto b = static_cast<std::size_t>(bar);
    ends[b] = bar + 1 == kBars ? times.max() : Duration::nanos(static_cast<int64_t>(low * std::pow(ratio, bar + 1)));
    const uint64_t upto = bar + 1 == kBars ? times.count() : times.count_at_or_below(ends[b]);
    counts[b] = upto - below;
    below = upto;
  }
  const uint64_t most = *std::max_element(counts.begin(), counts.end());
  const double space = static_cast<double>(page.width()) - 40;
  std::vector<Row> rows;
  for (std::size_t b = 0; b < kBars; ++b) {
    rows.push_back({"≤ " + format_duration(ends[b]), format_count(counts[b]), percent(counts[b], times.count())});
  }
  std::vector<std::string> lines = columns(rows);
  page.heading("DISTRIBUTION", "http_req_duration of all steps");
  for (std::size_t b = 0; b < kBars; ++b) {
    const auto length =
        static_cast<std::size_t>(std::ceil(space * static_cast<double>(counts[b]) / static_cast<double>(most)));
    for (std::size_t i = 0; i < length; ++i) lines[b] += i == 0 ? "  ■" : "■";
    page.line(lines[b]);
  }
}

void write_phases(Page& page, const RunReport& run) {
  static constexpr std::array<const char*, metrics::kPhases> kNames{
      "DNS lookup", "connect", "TLS handshake", "send", "wait for first byte", "receive"};
  std::vector<Row> rows{{"", "count", "mean", "p50", "p95", "p99", "max"}};
  for (std::size_t p = 0; p < kNames.size(); ++p) {
    Histogram phase;
    for (const metrics::StepWindow& step : run.totals->sum().steps) phase.merge(step.phases[p]);
    // What took no time (a request sent by one call, a response that came in one piece) is not worth a line.
    if (phase.max() == Duration::zero()) continue;
    rows.push_back({kNames[p], format_count(phase.count()), format_duration(phase.mean()),
                    format_duration(phase.percentile(50)), format_duration(phase.percentile(95)),
                    format_duration(phase.percentile(99)), format_duration(phase.max())});
  }
  if (rows.size() == 1) return;
  page.heading("PHASES");
  page.rows(rows);
}

void write_statuses(Page& page, const RunReport& run) {
  metrics::StatusCounts all;
  for (const metrics::StepWindow& step : run.totals->sum().steps) all.merge(step.status);
  std::vector<Row> rows;
  for (const auto& [status, count] : all.entries()) rows.push_back({std::to_string(status), format_count(count)});
  if (rows.empty()) return;
  page.heading("STATUS");
  page.rows(rows);
}

void write_errors(Page& page, const RunReport& run) {
  struct Count {
    http1::ErrorKind kind;
    uint64_t count;
  };
  std::vector<Count> counts;
  for (std::size_t e = 0; e < http1::kErrorKinds; ++e) {
    uint64_t count = 0;
    for (const metrics::StepWindow& step : run.totals->sum().steps) count += step.errors[e];
    if (count != 0) counts.push_back({static_cast<http1::ErrorKind>(e), count});
  }
  if (counts.empty()) return;
  std::stable_sort(counts.begin(), counts.end(), [](const Count& a, const Count& b) { return a.count > b.count; });
  page.heading("ERRORS");
  const std::size_t width = format_count(counts[0].count).size();
  for (const Count& each : counts) {
    const std::string first =
        pad_left(format_count(each.count), width) + "  " + pad_right(std::string(to_string(each.kind)), 18) + "  ";
    page.wrapped(page.style(first, Style::kBad), describe(each.kind), width_of(first));
  }
}

// The scenario's own metrics.
void write_metrics(Page& page, const RunReport& run) {
  const plan::Plan& plan = run.totals->plan();
  if (plan.metrics.empty()) return;
  page.heading("METRICS");
  std::size_t width = 0;
  for (const plan::CustomMetric& metric : plan.metrics) width = std::max(width, width_of(metric.name));
  width = std::min(width, page.width() / 3);
  for (const plan::CustomMetric& metric : plan.metrics) {
    const Sample seen = *aggregate::sample(*run.totals, metric.name);
    std::string text = seen.any ? figures(metric, seen) : "nothing was recorded";
    if (seen.refused > 0) text += "  " + page.style(format_count(seen.refused, "value") + " refused", Style::kWarn);
    page.line(pad_right(shorten(metric.name, width), width) + "  " + text);
  }
}

}  // namespace bellwether::report
