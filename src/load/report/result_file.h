// A result file (docs/reference/result.md), read back. All reports but the summary come from it, so the reports of a
// run and of its stored file are the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "load/metrics/histogram.h"

namespace bellwether::report {

// The most bytes of a file; a run of this product stays far below.
inline constexpr std::size_t kMaxResultBytes = std::size_t{256} << 20;
inline constexpr std::size_t kMaxResultSteps = 20'000;
inline constexpr std::size_t kMaxResultEntries = 100'000;  // of any other list
inline constexpr std::size_t kMaxResultText = 65'536;      // bytes of one text

using Counted = std::vector<std::pair<std::string, uint64_t>>;

// Milliseconds.
struct PointTimes {
  double p50 = 0;
  double p95 = 0;
  double p99 = 0;
};

// One point of the series: a second, or several that were merged.
struct ResultPoint {
  double t = 0;  // the first second, since the start of the run
  double covered_s = 0;
  uint64_t requests = 0;
  uint64_t failed = 0;
  double rate_per_s = 0;
  uint64_t iterations = 0;
  uint64_t dropped = 0;
  uint64_t vus = 0;
  std::optional<PointTimes> service;
  std::optional<PointTimes> response;
};

struct ResultStep {
  std::string name;  // "workflow.step"
  uint64_t count = 0;
  uint64_t failed = 0;
  double rate_per_s = 0;
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
  uint64_t repeated = 0;  // not in older files
  metrics::Histogram service;
  metrics::ResponseTimes response;  // http_req_duration
  Counted status;
  Counted errors;
  bool due_times = true;  // response times mean more than service times
  // Without iterations and users; its times, those of http_req_duration, are in `response`. None in older files.
  std::vector<ResultPoint> series = {};
};

// Milliseconds.
struct ResultSpread {
  double mean = 0;
  double p50 = 0;
  double p95 = 0;
  double p99 = 0;
  double max = 0;
};

struct ResultWorkflow {
  std::string name;
  std::string status;
  std::string skipped_because;
  double elapsed_s = 0;
  uint64_t completed = 0;
  uint64_t interrupted = 0;
  uint64_t scheduled = 0;  // this and the next three: arrivals
  uint64_t on_time = 0;
  uint64_t late = 0;
  uint64_t dropped = 0;
  std::optional<ResultSpread> iteration = {};
  std::optional<ResultSpread> start_lag = {};
  uint64_t vus_peak = 0;
  uint64_t vus_allocated = 0;
  // Empty where the file does not say it.
  std::string executor = {};
  std::string load = {};  // in words: "20 VUs for 10s"
};

struct ResultCheck {
  std::string name;
  std::string step;
  uint64_t passes = 0;
  uint64_t fails = 0;
};

// A point of the series in which a metric has values. Members that its kind does not have are 0.
struct ResultMetricPoint {
  double t = 0;          // that of the ResultPoint
  double count = 0;      // counters: their sum; trends: values
  double rate = 0;       // counters: per second; rates: the share that was true
  uint64_t matches = 0;  // rates
  uint64_t total = 0;    // rates
  double value = 0;      // gauges: the last
  double least = 0;      // gauges
  double greatest = 0;   // gauges
  double median = 0;     // trends
  double p95 = 0;        // trends
};

// A metric of the scenario's own.
struct ResultMetric {
  std::string name;
  std::string kind;
  std::string unit;
  uint64_t refused = 0;
  // By their names in the file, such as "p(95)"; those that have a value.
  std::vector<std::pair<std::string, double>> figures;
  std::vector<ResultMetricPoint> series = {};  // none in older files
};

struct ResultThreshold {
  std::string metric;
  std::string expression;
  std::optional<double> value;  // none: no samples
  bool ok = false;
  std::optional<double> limit = {};  // none in older files
  std::string unit = {};             // of both: "ms", "fraction", "per_s", "count", or a metric's own
  bool at_least = false;             // `value` is a lower bound
};

struct ResultLoss {
  double from = 0;
  double to = 0;
  double ratio = 0;
  std::string cause;
};

struct ResultEvent {
  double t = 0;
  std::string kind;
  std::string detail;
};

struct ResultError {
  std::string kind;
  uint64_t count = 0;
  std::string detail;
};

struct ResultWorker {
  std::string name;
  uint64_t cores = 0;
  uint64_t assignments = 0;
  std::string state;
};

struct ResultFile {
  std::string id;
  std::string scenario;
  std::string started_at;
  double elapsed_s = 0;
  std::string verdict;  // "pass", "fail", "inconclusive", "aborted"
  int exit_code = 0;
  std::string reason;
  // As aggregate::threshold_text() says them, in the order of `thresholds`. None in older files, whose reason names
  // them.
  std::vector<std::string> failed_thresholds;
  bool confirmed = true;                                  // false: the figures may not be the whole run
  std::vector<std::string> targets;                       // scheme, host and port of the URLs, as far as known
  std::vector<std::pair<std::string, std::string>> tags;  // of the run
  bool saturated = false;
  std::string saturation;
  std::string remedy;
  uint64_t cores = 0;
  double cpu_cores = 0;
  double loop_lag_p99_ms = 0;
  uint64_t requests = 0;
  uint64_t failed = 0;
  double rate_per_s = 0;
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
  uint64_t repeated = 0;  // not in older files
  uint64_t iterations = 0;
  uint64_t dropped = 0;
  std::vector<ResultStep> steps;
  std::vector<ResultStep> by_tag = {};  // the sums of steps by "key:value", without series; none in older files
  uint64_t tags_left_out = 0;
  std::vector<ResultWorkflow> workflows;
  std::vector<ResultPoint> series;
  std::vector<ResultCheck> checks;
  std::vector<ResultMetric> metrics;
  std::vector<ResultThreshold> thresholds;
  std::vector<ResultLoss> lost;
  std::vector<ResultError> errors;
  std::vector<ResultEvent> events;
  std::vector<ResultWorker> workers;
};

// kInvalid: not a result file, or one that breaks its rules; the message says where. kTooLarge: beyond the limits.
// kUnsupported: of another version of the format.
Result<ResultFile> read_result(std::string_view text);

// The times of all steps together.
metrics::ResponseTimes all_response(const ResultFile& run);
metrics::Histogram all_service(const ResultFile& run);

}  // namespace bellwether::report
