// Whether a run was slower than another, or only looks so: differences with intervals of confidence.
//
// The spread of each figure comes from resampling whole batches of time (the bootstrap of blocks that do not overlap:
// E. Carlstein, The Use of Subseries Values for Estimating the Variance of a General Statistic from a Stationary
// Sequence, Annals of Statistics 14, 1986), so that it includes the dependence between requests of one moment.
// Intervals use Student's t; its degrees of freedom are the smaller number of batches of the two runs less one. All
// intervals of a comparison hold together with the stated confidence (Bonferroni: each has its part of the error).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/time.h"
#include "load/metrics/window.h"

namespace bellwether::results {

// Student's t distribution, for intervals of confidence from few batches.

// P(|T| <= t) with `freedom` degrees of freedom: Abramowitz and Stegun, Handbook of Mathematical Functions (1964),
// 26.7.3 and 26.7.4, which are exact for whole degrees. REQUIRES t >= 0 and 1 <= freedom <= 10,000.
double student_within(double t, int freedom);

// The t with student_within(t, freedom) == 1 - alpha, to nine digits. REQUIRES 0 < alpha < 1.
double student_quantile(double alpha, int freedom);

// A run cut into batches of equal time. Neighbouring requests are alike, because a slow moment slows all of them, so
// they are no independent samples; means over long enough batches nearly are (the method of batch means: B. Schmeiser,
// Batch Size Effects in the Analysis of Simulation Output, Operations Research 30, 1982, who recommends 10 to 30).
inline constexpr std::size_t kMaxBatches = 30;
inline constexpr std::size_t kMinBatches = 8;  // with fewer no judgement is made

// The figures of one step in one batch.
struct StepBatch {
  uint64_t count = 0;
  uint64_t failed = 0;
  // Of the workflows of all steps together, else 0: arrivals and other iterations, and those of them that were dropped.
  uint64_t due = 0;
  uint64_t dropped = 0;
  std::map<uint32_t, uint64_t> times;  // of the histogram: count by bucket
};

// A run, in batches.
struct Batches {
  std::vector<std::string> steps;  // names
  // By step, then by batch; a last entry holds all steps together.
  std::vector<std::vector<StepBatch>> of;
  std::vector<Duration> covered;  // by batch
};

// Puts intervals of a run together. It never cuts a interval: a run of intervals of 10 s has batches of 10 s or more.
class Batcher {
 public:
  // The objects of a comparison: names of steps, their indices in a window, and the choice of response times or service
  // times.
  struct Step {
    std::string name;
    std::size_t index = 0;
    std::size_t workflow = 0;  // index
  };
  // `seconds`: the length of the run; `coarsest`: of its longest interval.
  Batcher(std::vector<Step> steps, uint64_t seconds, uint64_t coarsest);

  // Intervals in their order. Leaves out a interval that begins beyond `seconds`, or has measured nearly nothing.
  void add(const metrics::Window& window, uint64_t span);
  // Without the batch at the end that is shorter than half of the others.
  Batches take();

  uint64_t batch_seconds() const { return batch_; }

 private:
  std::vector<Step> steps_;
  std::set<std::size_t> workflows_;
  uint64_t seconds_;
  uint64_t batch_;
  std::vector<uint64_t> spans_;  // seconds in each batch
  Batches out_;
};

enum class Figure : uint8_t { kRate, kErrors, kP50, kP95, kP99, kDropped };
// "rate", "errors", "p50", "p95", "p99", "dropped".
std::string_view to_string(Figure figure);

enum class Judgement : uint8_t {
  kWorse,   // beyond the tolerance, and surely worse at all
  kBetter,  // the same to the good
  kSame,    // surely within the tolerance
  kUnclear,
  kNotJudged,  // too few batches or requests, or nothing to compare with
};
// "worse", "better", "same", "unclear", "not judged".
std::string_view to_string(Judgement judgement);

struct Difference {
  Figure figure = Figure::kRate;
  double before = 0;  // requests per second, share of failed or dropped ones, or milliseconds
  double after = 0;
  // Of the whole `before`; of shares their difference.
  double change = 0;
  double low = 0;  // the interval in which the change lies
  double high = 0;
  Judgement judgement = Judgement::kNotJudged;
};

struct StepComparison {
  std::string step;                     // empty: all common steps, together
  std::vector<Difference> differences;  // kDropped: of all steps together, if a run dropped anything
};

struct Tolerance {
  double relative = 0.05;    // of rates and times
  double errors = 0.001;     // of shares: 0.001 is a tenth of a percentage point
  double confidence = 0.95;  // of all intervals together
  uint64_t seed = 0x5eed;    // of the resampling: the same runs give the same comparison
};

struct Comparison {
  std::vector<StepComparison> steps;  // all together first, if it has several
  std::size_t batches_before = 0;
  std::size_t batches_after = 0;
  std::size_t judged = 0;  // differences that are not kNotJudged
  std::size_t count(Judgement judgement) const;
  // How many times as long both runs must be until about all unclear differences are clear. 1: none is unclear.
  double longer(const Tolerance& tolerance) const;
};

// A percentile is judged when at least ten requests lie beyond it in each run.
inline constexpr double kMinBeyond = 10;

// REQUIRES the same steps in both, in the same order.
Comparison compare(const Batches& before, const Batches& after, const Tolerance& tolerance);

// For people: why figures are unclear, the least change that these runs can show, and what gives a clear answer. Empty:
// none is unclear.
std::string advice_of(const Comparison& of, const Tolerance& tolerance);

}  // namespace bellwether::results
