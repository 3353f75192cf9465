// The state of a run at one moment, as plain values: the input of a screen, and the line of `--ui ci`.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "load/aggregate/totals.h"
#include "load/plan/plan.h"

namespace bellwether::console {

struct StepRow {
  std::string name;  // within its workflow
  uint64_t count = 0;
  uint64_t failed = 0;
  double rate_per_s = 0;            // over the last seconds
  aggregate::Percentiles duration;  // since the start; zero: none
};

struct WorkflowRow {
  std::string name;
  uint64_t iterations = 0;
  uint64_t dropped = 0;
  int64_t users = 0;
  bool open_model = false;
  bool active = false;         // it had activity in the last second
  std::vector<StepRow> steps;  // those that make requests
};

struct ThresholdRow {
  enum class Verdict : uint8_t { kHolds, kFails, kNoSamples };
  std::string rule;   // as written
  std::string value;  // in the unit of its metric
  Verdict verdict = Verdict::kNoSamples;
};

struct EventRow {
  Duration at;  // of the run
  std::string text;
};

// The percentiles of a second of the run, or of several that were merged.
struct PlotPoint {
  Duration at;  // its begin, since the start of the run
  Duration length;
  aggregate::Percentiles times;  // zero: no measurement
};

struct View {
  static constexpr std::size_t kMaxEvents = 100;  // the newest

  std::string scenario;
  std::string target;  // its target: "http://127.0.0.1:8080"
  std::string where;   // the runner: "2 cores", "job 5f0c… by m1"
  std::string state;   // "running", "stopping", "paused"
  Duration elapsed;
  Duration planned;  // zero: not known
  aggregate::Counts counts;
  std::vector<aggregate::Failure> failures;  // the most frequent first
  int64_t users = 0;
  bool open_model = false;
  double rate_per_s = 0;          // over the last seconds
  double rate_total_per_s = 0;    // over the run
  aggregate::Percentiles last;    // of the last second
  std::vector<PlotPoint> points;  // of the run, in order
  std::vector<WorkflowRow> workflows;
  std::vector<ThresholdRow> thresholds;
  std::deque<EventRow> events;         // the newest last
  std::vector<std::string> placement;  // on a cluster: the workers of each workflow

  void add_event(Duration at, std::string text) {
    events.push_back({at, std::move(text)});
    if (events.size() > kMaxEvents) events.pop_front();
  }
};

// The view of a run between the thread that makes it and the one that draws it.

// Any thread. A caller waits at most for the making or the copying of a view.
class Board {
 public:
  template <class Change>
  void change(Change change) {
    const std::lock_guard lock(mutex_);
    change(view_);
    ++version_;
  }
  // Blobs the view when its version is not `version`, which it sets. False: it is the same.
  bool look(View& view, uint64_t& version) const {
    const std::lock_guard lock(mutex_);
    if (version == version_) return false;
    view = view_;
    version = version_;
    return true;
  }

 private:
  mutable std::mutex mutex_;
  View view_;
  uint64_t version_ = 1;
};

// Makes a view of a run's totals, about once a second.
class ViewMaker {
 public:
  // The time over which rates are computed.
  static constexpr Duration kWindow = Duration::seconds(5);
  // One call computes the percentiles of this number of steps anew, in turn: with more steps they are some seconds old.
  static constexpr std::size_t kStepsAtOnce = 128;

  // The facts before the first measurement. `planned`: the length of the run, see plan::planned_length().
  void begin(View& view, const plan::Plan& plan, Duration planned);
  // REQUIRES the plan that begin() was given. Rates are those since the first call at most kWindow ago.
  void update(View& view, const aggregate::Totals& totals);

 private:
  struct Mark {
    Duration at;
    std::vector<uint64_t> requests;  // by step
  };
  struct Place {
    uint16_t workflow;
    std::size_t row;
  };
  void update_steps(View& view, const aggregate::Totals& totals, const Mark& before);

  std::vector<Place> places_;  // of each step that is measured
  std::vector<plan::StepId> steps_;
  std::size_t next_step_ = 0;
  std::deque<Mark> marks_;
  std::vector<aggregate::Counts> workflows_before_;
};

// The live lines of `--ui ci`: one line every few seconds that reads well in a log, without escape codes.

// The figures of a run at one moment.
struct Snapshot {
  Duration elapsed;
  Duration planned;        // length of the run as planned; zero: not known
  std::string_view state;  // "running", "stopping"
  int64_t vus = 0;
  uint64_t requests = 0;    // since the start
  uint64_t failed = 0;      // since the start
  uint64_t dropped = 0;     // since the start
  bool open_model = false;  // whether iterations can be dropped at all
  double rate_per_s = 0;    // since the snapshot before
  Duration p50;             // of the last second; zero: no request ended in it
  Duration p99;
  std::vector<aggregate::Failure> failures = {};  // the most frequent first
};

// Takes a snapshot of the totals. `before` is that of the line before, Snapshot{} for the first.
Snapshot snapshot_of(const aggregate::Totals& totals, const Snapshot& before, Duration planned, std::string_view state);

// "  12s  40%  running  vus 50  1,234 req/s (14,808 total)  p50 1.20ms p99 4.50ms  failed 0.00%  dropped 0"
std::string ci_line(const Snapshot& now);

}  // namespace bellwether::console
