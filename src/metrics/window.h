// Everything one load thread counted in one second. The thread fills one window while the control thread merges the
// one before; the two are swapped at the border, so nothing on the hot path is shared and nothing per request
// survives the second it happened in.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/time.h"
#include "metrics/error_kind.h"
#include "metrics/histogram.h"
#include "metrics/metric_window.h"
#include "metrics/piece_pool.h"
#include "metrics/status_counts.h"

namespace bellwether::metrics {

enum class Phase : uint8_t { kDns, kConnect, kTls, kSend, kWait, kReceive };
inline constexpr int kPhases = 6;

struct StepWindow {
  explicit StepWindow(PiecePool* pool);
  uint64_t count = 0;   // exchanges ended: with a response or with an error
  uint64_t failed = 0;  // error, or status >= 400 without a status check that allows it
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
  uint64_t censored = 0;                  // of the response samples: those known only to be at least this long
  Histogram service;                      // sent → done, of exchanges with a response
  Histogram response;                     // due → done, and censored samples
  std::array<Histogram, kPhases> phases;  // a phase that did not happen (a reused connection) adds nothing
  StatusCounts status;
  std::array<uint64_t, kErrorKinds> errors{};

  void merge(const StepWindow& other);
  void clear();
};

struct WorkflowWindow {
  explicit WorkflowWindow(PiecePool* pool);
  uint64_t iterations = 0;    // completed
  uint64_t interrupted = 0;   // ended by the end of the run
  uint64_t scheduled = 0;     // open model: due so far; scheduled = on_time + late + dropped at the end
  uint64_t on_time = 0;       // open model: started within 10 ms of being due
  uint64_t late = 0;          // open model: started later than that
  uint64_t dropped = 0;       // open model: no virtual user was free
  int64_t vus_active = 0;     // gauge, the most at once in the window
  int64_t vus_allocated = 0;  // gauge
  Histogram iteration;        // duration of completed iterations
  Histogram start_lag;        // open model: due → started

  void merge(const WorkflowWindow& other);
  void clear();
};

struct CheckCount {
  uint64_t passes = 0;
  uint64_t fails = 0;
};

// How many there are of each, as the plan says. A window of another shape belongs to another plan.
struct Shape {
  std::size_t steps = 0;
  std::size_t workflows = 0;
  std::size_t checks = 0;
  std::size_t series = 0;
  bool operator==(const Shape&) const = default;
};

struct Window {
  explicit Window(const Shape& shape);
  Window(Window&& other) noexcept = default;
  Window& operator=(Window&& other) noexcept;
  Shape shape() const { return {steps.size(), workflows.size(), checks.size(), series.size()}; }

  std::unique_ptr<PiecePool> pool;  // of all histograms below
  std::vector<StepWindow> steps;
  std::vector<WorkflowWindow> workflows;
  std::vector<CheckCount> checks;
  std::vector<MetricWindow> series;
  Histogram loop_lag;  // how long the event loop was busy between two waits
  Duration cpu;        // CPU time this thread used in the window
  Duration covered;    // how much of the second the load has lived through, where somebody says; the most of all merged
  uint64_t second = 0;  // number of the window since the start of the run, from 0

  // What is recorded next mostly needs no allocation, as after clear().
  void make_room() { pool->top_up(); }
  void merge(const Window& other);  // gauges add up over threads: merge windows of one second, then of all
  void clear();
};

}  // namespace bellwether::metrics
