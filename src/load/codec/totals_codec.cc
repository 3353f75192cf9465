#include "load/codec/totals_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "load/codec/window_codec.h"
#include "proto/stats.pb.h"

namespace bellwether::ingest {
namespace {

using aggregate::Gauge;
using aggregate::MetricFigure;
using aggregate::MetricTier;
using aggregate::Percentiles;
using aggregate::SeriesPoint;
using aggregate::StepFigure;
using aggregate::StepSeriesState;
using aggregate::Totals;
using aggregate::TotalsState;
using aggregate::VuGauges;
using Copy = wire::TotalsCopy;

// --- writing ---------------------------------------------------------------------------------------------------------

void put(const Gauge& from, Copy::Gauge& to) {
  to.set_last(from.last);
  to.set_peak(from.peak);
}

void put(const VuGauges& from, Copy::Gauges& to) {
  put(from.active, *to.mutable_active());
  put(from.allocated, *to.mutable_allocated());
}

void put(const Percentiles& from, Copy::Spread& to) {
  to.set_p50(from.p50.ns());
  to.set_p95(from.p95.ns());
  to.set_p99(from.p99.ns());
}

void put(const SeriesPoint& from, Copy::Point& to) {
  to.set_second(from.second);
  to.set_covered_ns(from.covered.ns());
  to.set_requests(from.requests);
  to.set_failed(from.failed);
  to.set_iterations(from.iterations);
  to.set_dropped(from.dropped);
  to.set_vus(from.vus);
  put(from.service, *to.mutable_service());
  put(from.response, *to.mutable_response());
}

void put(std::span<const MetricFigure> from, uint64_t second, Copy::MetricPoint& to) {
  to.set_second(second);
  for (std::size_t m = 0; m < from.size(); ++m) {
    if (from[m].count == 0) continue;
    Copy::MetricFigure& one = *to.add_figures();
    one.set_metric(static_cast<uint32_t>(m));
    one.set_count(from[m].count);
    one.set_sum(from[m].sum);
    one.set_trues(from[m].trues);
    one.set_last(from[m].last);
    one.set_least(from[m].least);
    one.set_greatest(from[m].greatest);
    one.set_p50(from[m].p50);
    one.set_p95(from[m].p95);
  }
}

void put(const aggregate::MetricSeriesState& from, Copy& to) {
  for (const MetricTier& tier : from.tiers) {
    Copy::MetricTier& out = *to.add_metric_tiers();
    const std::size_t metrics = tier.open.series.size();
    for (std::size_t i = 0; i < tier.begins.size(); ++i) {
      put({tier.figures.data() + i * metrics, metrics}, tier.begins[i], *out.add_points());
    }
    out.set_open(encode_window(tier.open));
  }
  if (!from.archive.empty()) put(from.archive, 0, *to.mutable_metric_archive());
}

void put(const StepSeriesState& from, Copy& to) {
  to.set_step_length(from.length);
  const std::size_t intervals = from.covered.size();
  for (std::size_t i = 0; i < intervals; ++i) {
    Copy::StepInterval& out = *to.add_step_intervals();
    out.set_covered_ns(from.covered[i].ns());
    const std::size_t steps = from.figures.size() / intervals;
    for (std::size_t s = 0; s < steps; ++s) {
      const StepFigure& figure = from.figures[i * steps + s];
      if (figure == StepFigure{}) continue;
      Copy::StepFigure& one = *out.add_figures();
      one.set_step(static_cast<uint32_t>(s));
      one.set_count(figure.count);
      one.set_failed(figure.failed);
      put(figure.duration, *one.mutable_duration());
    }
  }
}

// --- reading ---------------------------------------------------------------------------------------------------------

// Reads parts, and remembers the first error.
class TotalsReader {
 public:
  const char* wrong = nullptr;

  VuGauges gauges(const Copy::Gauges& from) { return {gauge(from.active()), gauge(from.allocated())}; }

  SeriesPoint point(const Copy::Point& from) {
    return {.second = count(from.second()),
            .covered = span(from.covered_ns()),
            .requests = count(from.requests()),
            .failed = count(from.failed()),
            .iterations = count(from.iterations()),
            .dropped = count(from.dropped()),
            .vus = vus(from.vus()),
            .service = percentiles(from.service()),
            .response = percentiles(from.response())};
  }

  // After `last`, which gives their age.
  void series(const Copy& from, TotalsState& to) {
    if (static_cast<std::size_t>(from.series_size()) > Totals::kMaxSeries) return fail("too long a series");
    for (const Copy::Point& one : from.series()) to.series.push_back(point(one));
    const metrics::Retention retention = aggregate::retention_of(to);
    for (std::size_t i = 1; i < to.series.size(); ++i) {
      if (retention.interval_of(to.series[i].second) <= retention.interval_of(to.series[i - 1].second)) {
        return fail("a series that does not ascend");
      }
    }
  }

  // After the series, which gives the length of the run.
  void metrics(const Copy& from, const plan::Plan& plan, TotalsState& to) {
    const auto tiers = static_cast<std::size_t>(from.metric_tiers_size());
    if (tiers != 0 && (plan.metrics.empty() || tiers != aggregate::kTierSeconds.size())) {
      return fail("metrics of another plan");
    }
    const uint64_t reached = std::max(to.last.second, to.series.empty() ? 0 : to.series.back().second);
    for (std::size_t t = 0; t < tiers; ++t) tier(from.metric_tiers(static_cast<int>(t)), t, reached, plan, to.metrics);
    if (!from.has_metric_archive()) return;
    to.metrics.archive.resize(plan.metrics.size());
    if (tiers == 0) return fail("metrics of another plan");
    figures(from.metric_archive(), to.metrics.archive);
  }

  // A copy without them goes on with an empty series.
  void steps(const Copy& from, const plan::Plan& plan, StepSeriesState& to) {
    const auto intervals = static_cast<std::size_t>(from.step_intervals_size());
    if (intervals == 0 && from.step_length() == 0) return;
    if (!std::has_single_bit(from.step_length()) || intervals > aggregate::kMaxStepIntervals) {
      return fail("an impossible series of steps");
    }
    to.length = from.step_length();
    to.covered.resize(intervals);
    to.figures.resize(intervals * plan.steps.size());
    for (std::size_t i = 0; i < intervals; ++i) {
      const Copy::StepInterval& interval = from.step_intervals(static_cast<int>(i));
      // Intervals are added up later.
      if (interval.covered_ns() > kLongestNs >> 8) fail("an impossible time");
      to.covered[i] = span(interval.covered_ns());
      uint64_t next = 0;
      for (const Copy::StepFigure& one : interval.figures()) {
        if (one.step() < next || one.step() >= plan.steps.size()) return fail("an unknown step");
        next = uint64_t{one.step()} + 1;
        to.figures[i * plan.steps.size() + one.step()] = {count(one.count()), count(one.failed()),
                                                          percentiles(one.duration())};
      }
    }
  }

  Duration span(int64_t ns) {
    if (ns < 0 || ns > kLongestNs) fail("an impossible time");
    return Duration::nanos(ns);
  }

  void fail(const char* why) {
    if (wrong == nullptr) wrong = why;
  }

 private:
  void tier(const Copy::MetricTier& from, std::size_t t, uint64_t reached, const plan::Plan& plan,
            aggregate::MetricSeriesState& to) {
    if (static_cast<std::size_t>(from.points_size()) > aggregate::most_of_tier(t))
      return fail("too many points of a metric");
    auto open = decode_sum(from.open(), aggregate::tier_shape(plan));
    if (!open) return fail("an impossible interval of metrics");
    MetricTier out{{}, {}, std::move(*open)};
    const std::size_t metrics = plan.metrics.size();
    for (const Copy::MetricPoint& one : from.points()) {
      const bool rises = out.begins.empty() || one.second() > out.begins.back();
      if (!rises || one.second() > reached || one.second() % aggregate::kTierSeconds[t] != 0) {
        return fail("an interval of metrics out of order");
      }
      out.begins.push_back(one.second());
      out.figures.resize(out.begins.size() * metrics);
      figures(one, {&out.figures[out.figures.size() - metrics], metrics});
    }
    to.tiers.push_back(std::move(out));
  }
  void figures(const Copy::MetricPoint& from, std::span<MetricFigure> to) {
    uint64_t next = 0;
    for (const Copy::MetricFigure& one : from.figures()) {
      if (one.metric() < next || one.metric() >= to.size()) return fail("an unknown metric");
      next = uint64_t{one.metric()} + 1;
      const bool is_gauge = one.least() <= one.last() && one.last() <= one.greatest();
      if (one.count() == 0 || one.trues() > one.count() || !is_gauge) {
        return fail("figures of a metric that contradict each other");
      }
      to[one.metric()] = {.count = count(one.count()),
                          .sum = figure(one.sum()),
                          .trues = one.trues(),
                          .last = figure(one.last()),
                          .least = figure(one.least()),
                          .greatest = figure(one.greatest()),
                          .p50 = figure(one.p50()),
                          .p95 = figure(one.p95())};
    }
  }
  double figure(double value) {
    // The greatest sum: the greatest value, counted the most times.
    constexpr double kMaxSum = metrics::MetricWindow::kMaxValue * static_cast<double>(kMaxSumCount);
    if (!(std::abs(value) <= kMaxSum)) fail("an impossible figure of a metric");
    return value;
  }

  static constexpr int64_t kLongestNs = int64_t{1} << 62;

  uint64_t count(uint64_t value) {
    if (value > kMaxSumCount) fail("an impossible count");
    return value;
  }
  int64_t vus(int64_t value) {
    if (static_cast<uint64_t>(value) > kMaxSumCount) fail("an impossible number of virtual users");
    return value;
  }
  Gauge gauge(const Copy::Gauge& from) {
    if (from.peak() < from.last()) fail("a peak below the last value");
    return {vus(from.last()), vus(from.peak())};
  }
  Percentiles percentiles(const Copy::Spread& from) { return {span(from.p50()), span(from.p95()), span(from.p99())}; }
};

}  // namespace

Result<std::string> encode_totals(const TotalsState& state) {
  Copy to;
  to.set_sum(encode_window(state.sum));
  to.set_elapsed_ns(state.elapsed.ns());
  put(state.all_vus, *to.mutable_all_vus());
  for (const VuGauges& gauges : state.workflow_vus) put(gauges, *to.add_workflow_vus());
  for (const SeriesPoint& point : state.series) put(point, *to.add_series());
  put(state.last, *to.mutable_last());
  put(state.metrics, to);
  put(state.steps, to);
  const std::size_t bytes = to.ByteSizeLong();
  if (bytes > kMaxTotalsBytes) {
    return fail(Errc::kTooLarge,
                "the statistics of the run have {} MiB; the limit for copies is {}: give the scenario fewer steps",
                bytes >> 20, kMaxTotalsBytes >> 20);
  }
  return to.SerializeAsString();
}

Result<TotalsState> decode_totals(std::string_view bytes, const plan::Plan& plan) {
  Copy from;
  if (bytes.size() > kMaxTotalsBytes || !from.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(Errc::kProtocol, "these bytes are not statistics of a run");
  }
  BW_TRY(auto sum, decode_sum(from.sum(), aggregate::shape_of(plan)));
  TotalsReader reader;
  TotalsState out{.sum = std::move(sum)};
  out.elapsed = reader.span(from.elapsed_ns());
  out.all_vus = reader.gauges(from.all_vus());
  for (const Copy::Gauges& gauges : from.workflow_vus()) out.workflow_vus.push_back(reader.gauges(gauges));
  if (out.workflow_vus.size() != plan.workflows.size()) reader.fail("they belong to another plan");
  out.last = reader.point(from.last());
  reader.series(from, out);
  reader.metrics(from, plan, out);
  reader.steps(from, plan, out.steps);
  if (reader.wrong != nullptr) {
    return fail(Errc::kProtocol, std::string("the statistics of a run are refused: ") + reader.wrong);
  }
  return out;
}

}  // namespace bellwether::ingest
