// The counts of one load thread in one second. The thread fills one window while the control thread merges the one
// before. They swap at the border, so the hot path shares nothing, and no data of a single request survives its second.
// The windows of a run are kept for as long as its retention says.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/http1/error_kind.h"
#include "load/metrics/histogram.h"

namespace bellwether::metrics {

// Memory for the histograms of one window, in pieces of a few sizes. The pool hands out a returned piece again for its
// size, and frees memory only at its end. So a window allocates only for growth, and top_up(), called where time is
// cheap, makes room for that. Not thread-safe: the owner of the window has the pool.
class PiecePool {
 public:
  // After a top_up() these bytes come without an allocation.
  static constexpr std::size_t kLowWater = 64 * 1024;

  PiecePool() = default;
  PiecePool(const PiecePool&) = delete;
  PiecePool& operator=(const PiecePool&) = delete;

  // Zeroed, aligned to 16 bytes. REQUIRES one of few sizes (kMaxSizes), each a multiple of 16 and at most kLowWater.
  void* take(std::size_t bytes);
  // REQUIRES a piece of this pool and its size.
  void give_back(void* piece, std::size_t bytes);
  void top_up();

  // The number of allocations of memory, and their bytes.
  std::size_t slabs() const { return slabs_.size(); }
  std::size_t memory_bytes() const { return slab_bytes_; }

 private:
  static constexpr std::size_t kMaxSizes = 8;
  static constexpr std::size_t kFirstSlab = 4 * 1024;
  static constexpr std::size_t kLargestSlab = 256 * 1024;
  struct Free {
    Free* next;
  };
  struct Size {
    std::size_t bytes = 0;
    Free* free = nullptr;
  };
  Size& of_size(std::size_t bytes);
  void add_slab(std::size_t at_least);

  struct Release {
    void operator()(std::byte* slab) const;
  };
  std::vector<std::unique_ptr<std::byte, Release>> slabs_;
  std::size_t slab_bytes_ = 0;
  std::array<Size, kMaxSizes> sizes_;
  std::byte* next_ = nullptr;  // of the newest slab, the part that was never handed out
  std::size_t left_ = 0;       // bytes from there on
};

// The number of responses for each status. Few statuses occur, and mostly the first of them again: a short list
// suffices.
inline constexpr uint16_t kMaxStatus = 1000;  // statuses 0..999

class StatusCounts {
 public:
  struct Entry {
    uint16_t status;
    uint64_t count;
    bool operator==(const Entry&) const = default;
  };

  // With room for the statuses that a step usually sees, so that counting them needs no allocation.
  StatusCounts() { entries_.reserve(kUsual); }

  // Allocates from the fifth status on. REQUIRES status < kMaxStatus.
  void add(uint16_t status, uint64_t times) {
    for (Entry& one : entries_) {
      if (one.status == status) {
        one.count += times;
        return;
      }
    }
    insert(status, times);
  }
  void merge(const StatusCounts& other) {
    for (const Entry& one : other.entries_) add(one.status, one.count);
  }
  // Keeps its memory.
  void clear() { entries_.clear(); }

  uint64_t of(uint16_t status) const;
  // In rising order of the status, none with a count of 0.
  const std::vector<Entry>& entries() const { return entries_; }
  bool operator==(const StatusCounts&) const = default;

 private:
  static constexpr std::size_t kUsual = 4;
  void insert(uint16_t status, uint64_t times);
  std::vector<Entry> entries_;
};

// The samples of one metric of the scenario, of one step in a second. The kind of the metric, which the recorder knows,
// decides which members have a meaning.
struct MetricWindow {
  // Greater values are refused. Counters and trends also refuse values below 0; gauges and rates, values below
  // -kMaxValue.
  static constexpr double kMaxValue = 1e12;

  explicit MetricWindow(PiecePool* pool) : trend(pool) {}

  uint64_t count = 0;    // values
  uint64_t refused = 0;  // impossible ones: no number, or out of range
  // Counters, in millionths of one: their sum does not depend on the order.
  unsigned __int128 sum = 0;
  uint64_t trues = 0;  // rates
  // Gauges: the last value of the window, when it was recorded (after the start of the run), and the least and greatest
  // value of the window.
  double last = 0;
  Duration last_at;
  double least = 0;
  double greatest = 0;
  Histogram trend;  // trends, scaled (CustomMetric::scale)

  // Each counts an impossible value as refused.
  void add(double amount);
  void observe(double truth);  // 0: false
  void set(double value, Duration at);
  void record(double value, double scale);

  double amount() const { return static_cast<double>(sum) * 1e-6; }
  bool empty() const { return (count | refused) == 0; }
  // Of two gauges the later one gives the last value.
  void merge(const MetricWindow& other);
  void clear();

 private:
  bool takes(double value, double least_value);
};

enum class Phase : uint8_t { kDns, kConnect, kTls, kSend, kWait, kReceive };
inline constexpr int kPhases = 6;
// In summaries and result files.
inline constexpr std::array<std::string_view, kPhases> kPhaseNames{"dns", "connect", "tls", "send", "wait", "receive"};

struct StepWindow {
  explicit StepWindow(PiecePool* pool);
  uint64_t count = 0;     // exchanges ended: with a response or with an error
  uint64_t failed = 0;    // error, or status >= 400 without a status check that allows it
  uint64_t left_out = 0;  // exchanges that a program does not measure; nothing else knows of them
  uint64_t repeated = 0;  // requests sent again, because their kept connection turned out closed
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
  Histogram service;                      // sent → done, of exchanges with a response
  ResponseTimes response;                 // due → done, of exchanges, and of arrivals that found no user
  std::array<Histogram, kPhases> phases;  // a phase that did not happen (a reused connection) adds nothing
  StatusCounts status;
  std::array<uint64_t, http1::kErrorKinds> errors{};

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
  Duration ran;               // the time of the window in which it ran; the most of all merged
  // On a cluster, for the assignment that continues a part (plan::Iterated). `begun`: iterations that began in this
  // window. `taken`: rows taken since the start of the run, with those of due arrivals that may still begin; the most
  // of any part. `pace`: iterations a second that a part does not exceed, the highest of any part; 0: not reported.
  uint64_t begun = 0;
  uint64_t taken = 0;
  uint64_t pace = 0;
  Histogram iteration;  // duration of completed iterations
  Histogram start_lag;  // open model: due → started

  void merge(const WorkflowWindow& other);
  void clear();
};

struct CheckCount {
  uint64_t passes = 0;
  uint64_t fails = 0;
};

// The number of each in the plan. A window of another shape belongs to another plan.
struct Shape {
  std::size_t steps = 0;
  std::size_t workflows = 0;
  std::size_t checks = 0;
  std::size_t series = 0;
  std::size_t watches = 0;
  bool operator==(const Shape&) const = default;
};

struct Window {
  explicit Window(const Shape& shape);
  Window(Window&& other) noexcept = default;
  Window& operator=(Window&& other) noexcept;
  Shape shape() const { return {steps.size(), workflows.size(), checks.size(), series.size(), watches.size()}; }

  std::unique_ptr<PiecePool> pool;  // of all histograms below
  std::vector<StepWindow> steps;
  std::vector<WorkflowWindow> workflows;
  std::vector<CheckCount> checks;
  std::vector<MetricWindow> series;
  std::vector<Histogram> watches;  // a time of the requests that thresholds select (plan::Watch)
  Histogram loop_lag;              // the time that the event loop was busy between two waits
  Duration cpu;                    // CPU time this thread used in the window
  Duration covered;     // the part of the second that the load has lived through, if known; the most of all merged
  uint64_t second = 0;  // number of the window since the start of the run, from 0

  // The next samples mostly need no allocation, as after clear().
  void make_room() { pool->top_up(); }
  // Adds the other window. Numbers of users add up too, which is right only for windows of one second that come from
  // different threads. Who merges other windows corrects them.
  void merge(const Window& other);
  void clear();
};

// The retention of a run's seconds: the newest stay as they are, the hour before them in intervals of ten seconds, the
// day before that in minutes, and one sum of everything older. A run of any length takes a bounded number of intervals,
// and together they are the whole run: merging loses only resolution in time. The store of runs and the ingest of a
// job both use it.

enum class Tier : uint8_t { kHot, kWarm, kCold, kArchive };
inline constexpr std::size_t kTiers = 4;

// The last seconds that stay unchanged: at least this number, and less than ten more.
inline constexpr uint64_t kHotWindows = 60;  // of whole windows, which are large
inline constexpr uint64_t kHotPoints = 990;  // of a few figures each

// The most intervals of each tier at a time.
constexpr std::array<std::size_t, kTiers> most_of_tiers(uint64_t hot) { return {hot + 10, 360, 1440, 1}; }
constexpr std::size_t most_of_all(uint64_t hot) { return hot + 10 + 360 + 1440 + 1; }

// Everything from the second `first` to before `end` becomes one interval.
struct Fold {
  Tier into = Tier::kWarm;
  uint64_t first = 0;
  uint64_t end = 0;
  bool operator==(const Fold&) const = default;
};

// Decides which intervals are folded at which time; the caller, which keeps them, folds them.
class Retention {
 public:
  // The caller already keeps everything before `begin`, in any intervals; it stays so until it goes into the archive.
  explicit Retention(uint64_t hot = kHotWindows, uint64_t begin = 0)
      : hot_seconds_(hot), begin_(begin), end_(begin), hot_(begin), warm_(begin), cold_(begin) {}

  // A second was added, as one interval. Returns the folds that are due, in order. REQUIRES rising seconds; some may be
  // missing.
  std::vector<Fold> add(uint64_t second);

  // The same for a caller that keeps little and looks at all of it: without the folds. Seconds of the past change
  // nothing. True: some intervals have changed.
  bool reach(uint64_t second);
  // The first second of the interval that has this second.
  uint64_t interval_of(uint64_t second) const;
  // From here on each second is one interval.
  uint64_t hot_begin() const { return hot_; }
  // The begin of the intervals of ten seconds, and of those of a minute: one interval has everything older.
  uint64_t warm_begin() const { return warm_; }
  uint64_t cold_begin() const { return cold_; }

 private:
  uint64_t hot_seconds_;
  uint64_t begin_;
  // The begin of the intervals of a tier, and the end of the next one's.
  uint64_t end_;
  uint64_t hot_;
  uint64_t warm_;
  uint64_t cold_;
};

// Adds a later interval of time to an earlier one. Unlike Window::merge, which merges the threads of one second, gauges
// become the greater of both, and `covered` and `ran` the sums. REQUIRES the same shape.
void append(Window& earlier, const Window& later);

}  // namespace bellwether::metrics
