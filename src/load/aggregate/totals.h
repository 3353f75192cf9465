// The figures of a run so far: the merged windows of all its seconds, and a series over time of bounded length.
// Percentiles of a run always come from merged histograms, never from percentiles of its parts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/time.h"
#include "load/metrics/window.h"
#include "load/plan/plan.h"

namespace bellwether::aggregate {

// The steps of a run over time, coarser than the series of the whole run: at most kMaxStepIntervals intervals of equal
// length. When the run outgrows them, their length doubles. Counts are sums, and percentiles those of the worst second,
// so the order of additions does not matter.
struct Percentiles {
  Duration p50;
  Duration p95;
  Duration p99;
  bool operator==(const Percentiles&) const = default;
};
// Of requests without a response the lower bounds.
Percentiles percentiles_of(const metrics::ResponseTimes& times);
// The greater of each.
void keep_worst(Percentiles& worst, const Percentiles& other);

struct StepFigure {
  uint64_t count = 0;
  uint64_t failed = 0;
  Percentiles duration;  // http_req_duration; zero without a measurement
  bool operator==(const StepFigure&) const = default;
};

inline constexpr std::size_t kMaxStepIntervals = 120;

struct StepSeriesState {
  uint64_t length = 1;                   // seconds of a interval: a power of two
  std::vector<Duration> covered = {};    // measured time in each, from the begin of the run
  std::vector<StepFigure> figures = {};  // of each interval, one for each step of the plan
};

class StepSeries {
 public:
  // `plan` must outlive it.
  explicit StepSeries(const plan::Plan& plan) : plan_(&plan) {}

  // Adds a second, or another part of one; `covered` is the time that it adds to those measured.
  void add(const metrics::Window& part, Duration covered);

  const StepSeriesState& state() const { return state_; }
  // REQUIRES a state of the plan's shape, within kMaxStepIntervals.
  void restore(StepSeriesState state);

 private:
  void fold();

  const plan::Plan* plan_;
  StepSeriesState state_;
};

// The scenario's own metrics over time, in the intervals of the run's series (load/metrics/window.h): seconds, ten
// seconds, minutes, and one interval of everything older.
//
// The figures of a interval, percentiles too, come from the merged windows of all its time. Each length of interval
// fills its own window beside the others, so merging later needs no stored windows. Two parts cannot be merged: one
// that arrives when its interval is over, and the minutes older than a day, which become one interval. There counts and
// sums stay exact, and a percentile is the greatest of the parts.
inline constexpr double kMillisecond = 1e6;
// Converts a value of a histogram of `scale` units to the unit of a metric, with the rounding of all other figures.
double in_units(Duration value, double scale);

// The values of one metric in a interval. The metric's kind decides which members have a meaning; none has without
// values.
struct MetricFigure {
  uint64_t count = 0;   // values
  double sum = 0;       // counters
  uint64_t trues = 0;   // rates
  double last = 0;      // gauges
  double least = 0;     // gauges
  double greatest = 0;  // gauges
  double p50 = 0;       // trends, in the metric's unit
  double p95 = 0;       // trends. A second has few values of a metric: a p99 would mostly be the greatest of them
  bool operator==(const MetricFigure&) const = default;
};

// The intervals of one length.
struct MetricTier {
  std::vector<uint64_t> begins;       // the second with which each begins, rising
  std::vector<MetricFigure> figures;  // of each interval, one for each metric of the plan
  metrics::Window open;               // of the last interval: a series for each metric of the plan
};

// Seconds, ten seconds, minutes.
inline constexpr std::array<uint64_t, 3> kTierSeconds{1, 10, 60};
// The most intervals of a tier. Those of the longer ones begin beside the shorter ones.
std::size_t most_of_tier(std::size_t tier);
// The windows of tiers of a plan.
metrics::Shape tier_shape(const plan::Plan& plan);

struct MetricSeriesState {
  std::vector<MetricTier> tiers = {};      // one for each of kTierSeconds; none: nothing is stored
  std::vector<MetricFigure> archive = {};  // one for each metric of the plan; none: the run is not that old
};

class MetricSeries {
 public:
  // `plan` must outlive it.
  explicit MetricSeries(const plan::Plan& plan);

  // Adds a second, or another part of one. `retention` has reached it, and never goes back.
  void add(const metrics::Window& part, const metrics::Retention& retention);
  // The figure of the interval that has this second; null when no metric has a value in it.
  const MetricFigure* find(uint64_t second, std::size_t metric, const metrics::Retention& retention) const;

  MetricSeriesState save() const;
  // REQUIRES a state of the plan's shape, within most_of_tier().
  void restore(MetricSeriesState state);

 private:
  MetricFigure figure_of(std::size_t metric, const metrics::MetricWindow& window) const;
  void take(std::size_t tier, uint64_t second);
  void forget(const metrics::Retention& retention);

  const plan::Plan* plan_;
  metrics::Window part_;  // the current addition, by metric
  std::vector<MetricTier> tiers_;
  std::vector<MetricFigure> archive_;
};

// A interval of the run, over all steps: one second, or several old ones that load/metrics/window.h merges. Counts
// are their sum, gauges those of the last second, and percentiles those of the worst, so that a stall stays visible in
// a run of any length.
struct SeriesPoint {
  uint64_t second = 0;  // the first it covers, from the start of the run
  Duration covered;     // measured time in it
  uint64_t requests = 0;
  uint64_t failed = 0;
  uint64_t iterations = 0;
  uint64_t dropped = 0;
  int64_t vus = 0;
  Percentiles service;   // zero without a measurement
  Percentiles response;  // zero without a measurement
  double rate_per_s() const;
  bool operator==(const SeriesPoint&) const = default;
};

// The values of a metric of the scenario in a interval of the run.
struct MetricPoint {
  uint64_t second = 0;  // the first it covers: that of the SeriesPoint of the same interval
  Duration covered;     // measured time in it
  MetricFigure figure;
};

// A number that goes up and down: virtual users.
struct Gauge {
  int64_t last = 0;
  int64_t peak = 0;
  void set(int64_t value);
  bool operator==(const Gauge&) const = default;
};

struct VuGauges {
  Gauge active;
  Gauge allocated;
  bool operator==(const VuGauges&) const = default;
};

// Sums over steps and workflows. In an open model on_time + late + dropped reaches scheduled at the end of the run.
struct Counts {
  uint64_t requests = 0;
  uint64_t failed = 0;
  uint64_t left_out = 0;  // requests of programs, by their own word; not among `requests`
  uint64_t repeated = 0;  // requests sent again; not among `requests`
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
  uint64_t iterations = 0;
  uint64_t interrupted = 0;
  uint64_t scheduled = 0;
  uint64_t on_time = 0;
  uint64_t late = 0;
  uint64_t dropped = 0;
};

// The shape of the windows of a plan.
metrics::Shape shape_of(const plan::Plan& plan);

// The content of totals beside their plan, for a copy.
struct TotalsState {
  metrics::Window sum;  // of the plan's shape
  Duration elapsed;
  VuGauges all_vus;
  std::vector<VuGauges> workflow_vus;  // one for each workflow
  std::vector<SeriesPoint> series;     // in rising order, each in its own interval (retention_of)
  SeriesPoint last;
  MetricSeriesState metrics = {};
  StepSeriesState steps = {};
};

// The age of the points of such a series, by its last second and that of the totals.
metrics::Retention retention_of(const TotalsState& state);

class Totals {
 public:
  // The series keeps at most this many points.
  static constexpr std::size_t kMaxSeries = metrics::most_of_all(metrics::kHotPoints);

  // `plan` must outlive the totals.
  explicit Totals(const plan::Plan& plan);

  // Adds one second: the windows of all threads for it, merged. `covered` is the time it measured, less than a second
  // for the last one. Seconds come in rising order and may have gaps; one that does not is added to those before. Never
  // allocates but for a first magnitude of a histogram, for the series up to its limit, and for the figures of a second
  // in which a request got no response.
  void add(const metrics::Window& second, Duration covered = Duration::seconds(1));

  // Adds a part of a past second that was unknown then: another machine's part that came late. Its times of workflows
  // are those that the parts before it lack. The time that it measured and they did not counts too, as long as the
  // second is a point of its own. Gauges stay; the percentiles of its point are the worst of its parts, those of the
  // run are exact.
  void amend(const metrics::Window& part);

  // Restored totals go on exactly as the saved ones. REQUIRES a state of the plan's shape, with at most kMaxSeries
  // points.
  TotalsState save() const;
  static Totals restore(const plan::Plan& plan, TotalsState state);

  const plan::Plan& plan() const { return *plan_; }
  // All seconds merged. Its gauges are those of the last second.
  const metrics::Window& sum() const { return sum_; }
  // Measured time so far.
  Duration elapsed() const { return elapsed_; }
  // The part of it in which a workflow ran: the divisor of its rates and those of its steps. All of it if unknown.
  Duration elapsed(uint16_t workflow) const;
  bool empty() const { return elapsed_ == Duration::zero(); }
  // Of one workflow, or of the whole run.
  Counts counts(std::optional<uint16_t> workflow = {}) const;
  const VuGauges& vus(std::optional<uint16_t> workflow = {}) const;
  const std::vector<SeriesPoint>& series() const { return series_; }
  // From here on each point of the series is one second.
  uint64_t fine_from() const { return retention_.hot_begin(); }
  // The same of one of the plan's metrics: the points with values.
  std::vector<MetricPoint> series_of(std::size_t metric) const;
  // The same of the steps, in intervals of their own.
  const StepSeriesState& step_series() const { return step_series_.state(); }
  // The second that was added last, never merged with others.
  const SeriesPoint& last() const { return last_; }

 private:
  void add_ran(const metrics::Window& second);
  SeriesPoint point_of(const metrics::Window& second, Duration covered);
  // The place of the point of this second's interval.
  std::vector<SeriesPoint>::iterator place_of(uint64_t second);
  // Adds it to the series. `late`: the second's earlier report has its gauges.
  void put(const SeriesPoint& point, bool late);

  const plan::Plan* plan_;
  metrics::Window sum_;
  Duration elapsed_;
  VuGauges all_vus_;
  std::vector<VuGauges> workflow_vus_;
  std::vector<SeriesPoint> series_;
  metrics::Retention retention_{metrics::kHotPoints};
  MetricSeries metric_series_;
  StepSeries step_series_;
  SeriesPoint last_;
  metrics::ResponseTimes service_;  // of the second being added, all steps; kept for its pages
  metrics::ResponseTimes response_;
};

// The causes of failed requests.
struct Failure {
  std::string cause;  // "connection refused", "status 503"
  uint64_t count = 0;
  bool operator==(const Failure&) const = default;
};

// Of the whole run, the most frequent first: errors by kind, and failed responses by status. Where a check of the step
// allows some of its statuses from 400 on, the counts do not say which ones failed: they are "status 4xx or 5xx".
std::vector<Failure> failures_of(const Totals& totals);

}  // namespace bellwether::aggregate
