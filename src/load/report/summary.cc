// The summary of a run as text. Each list is short in a run of any length; the result file has all of it.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "core/base/encoding.h"
#include "core/base/units.h"
#include "load/aggregate/metric.h"
#include "load/report/reports.h"
#include "load/report/text.h"

namespace bellwether::report {
namespace {

using aggregate::Outcome;

void write_head(Page& page, const RunReport& run) {
  const std::vector<std::string> facts{format_wall(run.started_at), format_duration(run.elapsed),
                                       format_count(static_cast<uint64_t>(run.generator.cores), "core"),
                                       "run " + printable(run.run_id)};
  std::size_t wide = 0;
  for (const std::string& fact : facts) wide += 2 + width_of(fact);
  const std::size_t space = page.width() - 2;
  const std::string name = printable(run.totals->plan().name);
  const bool beside = wide + std::min(width_of(name), kMinName) <= space;
  const std::string shown = shorten(name, beside ? space - wide : space);
  const std::string first = page.style(shown, Style::kBold);
  if (beside) return page.flow(first + "  ", facts, width_of(shown) + 2, Style::kDim);
  page.line(first);
  page.flow("", facts, 0, Style::kDim);
}

void write_thresholds(Page& page, const RunReport& run) {
  if (run.thresholds.empty()) return;
  page.heading("THRESHOLDS");
  std::size_t width = 0;
  const auto text_of = [](const plan::Threshold& threshold) {
    return printable(fmt::format("{}  {}", threshold.metric_text, threshold.expression));
  };
  for (const plan::Threshold& threshold : run.totals->plan().thresholds) {
    width = std::max(width, width_of(text_of(threshold)));
  }
  width = std::min(width, page.width() - 20);
  for (std::size_t t = 0; t < run.thresholds.size(); ++t) {
    const plan::Threshold& threshold = run.totals->plan().thresholds[t];
    const aggregate::ThresholdResult& result = run.thresholds[t];
    page.line(fmt::format("{} {}  {}", page.style(result.ok ? "✓" : "✗", result.ok ? Style::kGood : Style::kBad),
                          pad_right(shorten(text_of(threshold), width), width),
                          result.no_samples() ? "no samples"
                                              : (result.at_least ? "≥" : "") +
                                                    threshold_value(run.totals->plan(), threshold, *result.value)));
  }
}

void write_checks(Page& page, const RunReport& run) {
  const plan::Plan& plan = run.totals->plan();
  if (plan.checks.empty()) return;
  uint64_t passes = 0;
  uint64_t all = 0;
  for (const metrics::CheckCount& count : run.totals->sum().checks) {
    passes += count.passes;
    all += count.passes + count.fails;
  }
  page.heading("CHECKS", fmt::format("{} of {} passed", percent(passes, all), format_count(all)));
  std::vector<std::string> figures;
  std::size_t names = 0;
  std::size_t wide = 0;
  const auto text_of = [&](const plan::CheckInfo& info) {
    return printable(fmt::format("{}: {}", plan.steps[info.step].name, info.name));
  };
  for (std::size_t c = 0; c < plan.checks.size(); ++c) {
    const metrics::CheckCount& count = run.totals->sum().checks[c];
    std::string text = check_text(count.passes, count.fails);
    wide = std::max(wide, width_of(text));
    names = std::max(names, width_of(text_of(plan.checks[c])));
    figures.push_back(std::move(text));
  }
  names = std::min(names, page.width() - std::min(page.width() - kMinName, wide + 6));
  for (std::size_t c = 0; c < plan.checks.size(); ++c) {
    const metrics::CheckCount& count = run.totals->sum().checks[c];
    std::string mark = count.passes > 0 ? page.style("✓", Style::kGood) : "-";
    if (count.fails > 0) mark = page.style("✗", Style::kBad);
    page.line(fmt::format("{} {}  {}", mark, pad_right(shorten(text_of(plan.checks[c]), names), names), figures[c]));
  }
}

void write_generator(Page& page, const RunReport& run) {
  const aggregate::Generator& generator = run.generator;
  page.heading("GENERATOR");
  page.wrapped(
      "",
      fmt::format("CPU {} of {}, event loop lag p99 {}{}", decimal(generator.cpu_cores),
                  format_count(static_cast<uint64_t>(generator.cores), "core"), format_duration(generator.loop_lag_p99),
                  generator.saturated() ? "" : ": no bottleneck found"),
      0);
  if (!generator.saturated()) return;
  page.wrapped(page.style("!", Style::kWarn) + " ",
               fmt::format("The generator was a bottleneck: {}. Latencies may include its own delay. What helps: {}.",
                           generator.saturation, generator.remedy),
               2);
}

void write_verdict(Page& page, const RunReport& run, bool wraps) {
  std::string word(aggregate::to_string(run.verdict.outcome));
  for (char& c : word) c = static_cast<char>(c - 'a' + 'A');
  const Outcome outcome = run.verdict.outcome;
  const Style style = outcome == Outcome::kPass ? Style::kGood : outcome == Outcome::kFail ? Style::kBad : Style::kWarn;
  page.heading({});
  const std::string first = page.style(word, style) + "  ";
  const std::string reason = aggregate::verdict_text(run.verdict.reason, run.verdict.failed_thresholds);
  const std::string text = fmt::format("{} (exit code {})", printable(reason), run.verdict.exit_code);
  if (wraps) {
    page.wrapped(first, text, word.size() + 2);
  } else {
    page.line(first + text);
  }
}

constexpr std::size_t kWorkersShown = 12;
constexpr std::size_t kEventsShown = 20;
constexpr std::size_t kLossesShown = 10;
constexpr std::size_t kWordsShown = 400;  // columns of texts from elsewhere

std::string words(const std::string& text) { return shorten(printable(text), kWordsShown); }

void write_more(Page& page, std::size_t left, const char* what) {
  if (left > 0)
    page.line(fmt::format("… and {}, all in the result file", format_count(left, std::string("more ") + what)));
}

// The workflows whose response times hide stalls of the target: "'browse', 'buy'".
std::string hiding_stalls(const plan::Plan& plan) {
  std::string names;
  for (std::size_t w = 0; w < plan.workflows.size(); ++w) {
    const bool hides = std::ranges::any_of(plan.steps, [&](const plan::StepInfo& step) {
      return step.workflow == w && step.measured && !plan::has_due_times(plan, step);
    });
    if (hides) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", printable(plan.workflows[w].name));
  }
  return names;
}

void write_event(Page& page, const Event& event) {
  page.wrapped("- ", fmt::format("at {}: {}", format_duration(event.at), words(event.detail)), 2);
}

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

bool open_model(const plan::Workflow& workflow) { return plan::facts_of(workflow.executor).open_model; }

std::string figure(const plan::CustomMetric& metric, const Sample& sample, Aggregation aggregation,
                   double percentile = 0) {
  const auto value = value_of(sample, aggregation, percentile);
  return value ? metric_value_text(metric, aggregation, value->value) : "-";
}

std::vector<std::string> figures(const plan::CustomMetric& metric, const Sample& sample) {
  const auto one = [&](Aggregation aggregation, double percentile = 0) {
    return figure(metric, sample, aggregation, percentile);
  };
  switch (metric.kind) {
    case plan::MetricKind::kCounter: return {one(Aggregation::kCount), one(Aggregation::kRate)};
    case plan::MetricKind::kRate:
      return {one(Aggregation::kRate),
              fmt::format("{} of {}", format_count(static_cast<uint64_t>(sample.count)), format_count(sample.total))};
    case plan::MetricKind::kGauge: return {one(Aggregation::kValue), "max " + one(Aggregation::kMax)};
    case plan::MetricKind::kTrend:
      return {"avg " + one(Aggregation::kAvg),
              "min " + one(Aggregation::kMin),
              "med " + one(Aggregation::kMed),
              "p95 " + one(Aggregation::kPercentile, 95),
              "p99 " + one(Aggregation::kPercentile, 99),
              "max " + one(Aggregation::kMax)};
  }
  return {};
}

void write_workers(Page& page, const RunReport& run) {
  if (run.workers.empty()) return;
  page.heading("WORKERS", fmt::format("{}, {} at once", format_count(run.workers.size(), "worker"),
                                      format_count(static_cast<uint64_t>(run.generator.cores), "core")));
  std::vector<const Worker*> order;
  for (const Worker& worker : run.workers) order.push_back(&worker);
  if (order.size() > kWorkersShown) {  // then those with an event
    std::stable_partition(order.begin(), order.end(),
                          [](const Worker* worker) { return worker->state != WorkerState::kCompleted; });
    order.resize(kWorkersShown);
  }
  std::vector<std::vector<std::string>> rows;
  for (const Worker* worker : order) {
    rows.push_back({printable(worker->name), format_count(worker->cores, "core"),
                    format_count(worker->assignments, "assignment"), std::string(to_string(worker->state))});
  }
  page.rows(rows);
  write_more(page, run.workers.size() - order.size(), "worker");
}

void write_notes(Page& page, const RunReport& run) {
  const std::string closed = run.totals->counts().requests > 0 ? hiding_stalls(run.totals->plan()) : std::string();
  if (closed.empty() && run.events.empty()) return;
  page.heading("NOTES");
  if (!closed.empty()) {
    page.wrapped("- ", closed_model_note(words(closed)), 2);
  }
  // Of many events the first ones and the last: the begin and the end.
  const std::size_t count = run.events.size();
  const std::size_t head = count > kEventsShown ? kEventsShown / 2 : count;
  for (std::size_t e = 0; e < head; ++e) write_event(page, run.events[e]);
  write_more(page, count - std::min(count, kEventsShown), "event");
  for (std::size_t e = std::max(head, count - std::min(count, kEventsShown / 2)); e < count; ++e) {
    write_event(page, run.events[e]);
  }
}

void write_losses(Page& page, const RunReport& run) {
  if (run.losses.empty()) return;
  page.heading("LOST", "missing in all figures above");
  const std::vector<std::string> lines = loss_texts(run.losses);
  const std::size_t shown = std::min(lines.size(), kLossesShown);
  for (std::size_t l = 0; l < shown; ++l) page.wrapped(page.style("!", Style::kWarn) + " ", words(lines[l]), 2);
  write_more(page, lines.size() - shown, "gap");
}

void write_requests(Page& page, const RunReport& run) {
  const aggregate::Counts counts = run.totals->counts();
  const Duration measured = run.totals->elapsed();
  page.heading("REQUESTS");
  std::vector<Row> rows{
      {"total", format_count(counts.requests), rate_text(counts.requests, measured)},
      {"failed", format_count(counts.failed), percent(counts.failed, counts.requests)},
      {"sent", format_bytes(static_cast<double>(counts.bytes_sent)), byte_rate_text(counts.bytes_sent, measured)},
      {"received", format_bytes(static_cast<double>(counts.bytes_received)),
       byte_rate_text(counts.bytes_received, measured)}};
  if (counts.left_out > 0)
    rows.push_back({"left out", format_count(counts.left_out), "not measured, as the program asks"});
  if (counts.repeated > 0)
    rows.push_back({"repeated", format_count(counts.repeated), "sent again: the server closed a kept connection"});
  page.rows(rows);
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
      for (const std::string& part : wrap(state.status + because, page.width() - 4)) all.push_back({"  " + part});
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
  for (std::size_t w = 0; w < plan.workflows.size(); ++w) {
    const auto* rate = std::get_if<plan::ArrivalRate>(&plan.workflows[w].executor);
    const uint64_t dropped = totals.sum().workflows[w].dropped;
    if (rate == nullptr || dropped == 0) continue;
    page.wrapped(page.style("!", Style::kWarn) + " ",
                 fmt::format("'{}' dropped {}, because no virtual user was free: raise vus.max (now {}{}).",
                             shorten(printable(plan.workflows[w].name), page.width() / 3),
                             format_count(dropped, "iteration"), format_count(rate->users.most),
                             run.workers.empty() ? "" : "; each core of the cluster has only its part of them"),
                 2);
  }
}

void write_latencies(Page& page, const RunReport& run) {
  const aggregate::Totals& totals = *run.totals;
  const plan::Plan& plan = totals.plan();
  std::vector<Row> rows{kLatencyHead};
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const plan::StepInfo& info = plan.steps[s];
    const metrics::StepWindow& step = totals.sum().steps[s];
    if (!info.measured || step.count == 0) continue;
    const std::string figures =
        fmt::format("  {}, {}, {} failed", format_count(step.count, "request"),
                    rate_text(step.count, totals.elapsed(info.workflow)), percent(step.failed, step.count));
    rows.push_back(
        {page.style(shorten(printable(info.name), page.width() - 2 - width_of(figures)), Style::kBold) + figures});
    if (!step.response.empty()) rows.push_back(latency_row("  response", step.response));
    if (plan::has_due_times(plan, info) && !step.service.empty()) {
      metrics::ResponseTimes service;
      service.answered.merge(step.service);
      rows.push_back(latency_row(kServiceRow, service));
    }
    const auto note = [&](uint64_t count, const char* text) {
      if (count == 0) return;
      for (const std::string& part : wrap(fmt::format("{} {}", format_count(count), text), page.width() - 4)) {
        rows.push_back({"  " + part});
      }
    };
    note(step.response.unanswered.count(), "without a response count as slower than every response (≥)");
    note(step.response.unfinished.count(), open_model(plan.workflows[info.workflow])
                                               ? "dropped or cut off: their waits are lower bounds (≥)"
                                               : "not sent in time or cut off: their waits are lower bounds (≥)");
  }
  if (rows.size() == 1) return;
  page.heading("LATENCY", latency_note(rows));
  page.rows(rows);
}

void write_tags(Page& page, const RunReport& run) {
  const aggregate::TagSums sums = aggregate::sums_by_tag(*run.totals);
  if (sums.tags.empty()) return;
  std::vector<Row> rows{kTagHead};
  for (const auto& [name, sum, elapsed] : std::span(sums.tags).first(std::min(sums.tags.size(), kTagsShown))) {
    const double seconds = elapsed.seconds_f();
    const double rate = seconds > 0 ? static_cast<double>(sum.count) / seconds : 0;
    rows.push_back(tag_row(printable(name), sum.count, sum.failed, rate, sum.response));
  }
  page.heading("TAGS", kTagNote);
  page.rows(rows);
  write_more(page, sums.tags.size() - (rows.size() - 1), "tag");
  if (sums.left_out > 0) {
    page.line(fmt::format("{} beyond these: only thresholds see them", format_count(sums.left_out)));
  }
}

void write_distribution(Page& page, const RunReport& run) {
  const auto all = aggregate::sample(*run.totals, "http_req_duration");
  const Histogram& times = all->trend.answered;
  const uint64_t total = all->trend.count();
  if (times.empty() || times.min() == times.max()) return;
  constexpr int kBars = 10;
  // Bars of equal ratio, not of equal width: latencies spread over magnitudes. Those that read alike are one.
  struct Bar {
    std::string end;
    uint64_t count;
  };
  const double low = std::max(static_cast<double>(times.min().ns()), 1.0);
  const double ratio = std::pow(static_cast<double>(times.max().ns()) / low, 1.0 / kBars);
  std::vector<Bar> bars;
  uint64_t below = 0;
  for (int bar = 1; bar <= kBars; ++bar) {
    const bool last = bar == kBars;
    const Duration end = last ? times.max() : Duration::nanos(static_cast<int64_t>(low * std::pow(ratio, bar)));
    const uint64_t upto = last ? times.count() : times.count_at_or_below(end);
    std::string text = format_duration(end);
    if (bars.empty() || bars.back().end != text) bars.push_back({std::move(text), 0});
    bars.back().count += upto - below;
    below = upto;
  }
  if (bars.size() == 1) return;
  const uint64_t most = std::ranges::max(bars, {}, &Bar::count).count;
  const double space = static_cast<double>(page.width()) - 40;
  std::vector<Row> rows;
  for (const Bar& bar : bars) rows.push_back({"≤ " + bar.end, format_count(bar.count), percent(bar.count, total)});
  // Their times are lower bounds, which belong to no range.
  const uint64_t others = total - times.count();
  if (others > 0) rows.push_back({"no response", format_count(others), percent(others, total)});
  std::vector<std::string> lines = columns(rows);
  page.heading("DISTRIBUTION", "http_req_duration of all steps, by range");
  for (std::size_t b = 0; b < bars.size(); ++b) {
    const auto length =
        static_cast<std::size_t>(std::ceil(space * static_cast<double>(bars[b].count) / static_cast<double>(most)));
    for (std::size_t i = 0; i < length; ++i) lines[b] += i == 0 ? "  ■" : "■";
    page.line(lines[b]);
  }
  if (others > 0) page.line(lines.back());
}

// A table cuts longer names on a narrow page.
static_assert(std::ranges::all_of(metrics::kPhaseNames, [](std::string_view name) { return name.size() <= kMinName; }));

void write_phases(Page& page, const RunReport& run) {
  std::vector<Row> rows{{"", "count", "mean", "p50", "p95", "p99", "max"}};
  for (std::size_t p = 0; p < metrics::kPhases; ++p) {
    Histogram phase;
    for (const metrics::StepWindow& step : run.totals->sum().steps) phase.merge(step.phases[p]);
    // A phase without duration (a request sent by one call, a response in one piece) is not worth a line.
    if (phase.max() == Duration::zero()) continue;
    rows.push_back({std::string(metrics::kPhaseNames[p]), format_count(phase.count()), format_duration(phase.mean()),
                    format_duration(phase.percentile(50)), format_duration(phase.percentile(95)),
                    format_duration(phase.percentile(99)), format_duration(phase.max())});
  }
  if (rows.size() == 1) return;
  page.heading("PHASES", "wait: sent → first byte; receive: to the last byte");
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
  std::ranges::stable_sort(counts, [](const Count& a, const Count& b) { return a.count > b.count; });
  page.heading("ERRORS");
  const std::size_t width = format_count(counts[0].count).size();
  for (const Count& each : counts) {
    const std::string first = fmt::format("{}  {}  ", pad_left(format_count(each.count), width),
                                          pad_right(std::string(to_string(each.kind)), 18));
    page.wrapped(page.style(first, Style::kBad), describe(each.kind), width_of(first));
  }
}

// The scenario's own metrics.
void write_metrics(Page& page, const RunReport& run) {
  const plan::Plan& plan = run.totals->plan();
  if (plan.metrics.empty()) return;
  page.heading("METRICS");
  std::size_t width = 0;
  for (const plan::CustomMetric& metric : plan.metrics) width = std::max(width, width_of(printable(metric.name)));
  width = std::min(width, page.width() / 2);
  for (const plan::CustomMetric& metric : plan.metrics) {
    const Sample seen = *aggregate::sample(*run.totals, metric.name);
    std::vector<std::string> items{"nothing was recorded"};
    if (seen.any) items = figures(metric, seen);
    if (seen.refused > 0) items.push_back(format_count(seen.refused, "value") + " refused");
    page.flow(pad_right(shorten(printable(metric.name), width), width) + "  ", items, width + 2);
  }
}

}  // namespace

std::string summary(const RunReport& run, const SummaryOptions& options) {
  Page page(static_cast<std::size_t>(std::max(options.width, 60)), options.color);
  page.heading({});
  write_head(page, run);
  write_thresholds(page, run);
  write_checks(page, run);
  write_metrics(page, run);
  write_requests(page, run);
  write_iterations(page, run);
  write_latencies(page, run);
  write_tags(page, run);
  write_distribution(page, run);
  write_phases(page, run);
  write_statuses(page, run);
  write_errors(page, run);
  write_generator(page, run);
  write_workers(page, run);
  write_notes(page, run);
  write_losses(page, run);
  if (!run.confirmed) page.heading("UNCONFIRMED", "the run may have made more load");
  write_verdict(page, run, options.wraps_verdict);
  return page.take();
}

}  // namespace bellwether::report
