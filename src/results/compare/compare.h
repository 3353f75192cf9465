// Whether a run was slower than another, or only looks so: differences with intervals of confidence.
//
// The spread of each figure is found by resampling whole batches of time (the bootstrap of blocks that do not overlap:
// E. Carlstein, The Use of Subseries Values for Estimating the Variance of a General Statistic from a Stationary
// Sequence, Annals of Statistics 14, 1986), so that it knows of the dependence between requests of one moment.
// Intervals use Student's t with one degree of freedom less than the run of fewer batches has batches. All intervals
// of a comparison hold together with the stated confidence (Bonferroni: each is given its part of the error).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/compare/batches.h"

namespace bellwether::results {

enum class Figure : uint8_t { kRate, kErrors, kP50, kP95, kP99 };
// "rate", "errors", "p50", "p95", "p99".
std::string_view to_string(Figure figure);

enum class Judgement : uint8_t {
  kWorse,   // by more than is tolerated, and surely worse at all
  kBetter,  // the same to the good
  kSame,    // surely within what is tolerated
  kUnclear,
  kNotJudged,  // too few batches or requests, or nothing to compare with
};
// "worse", "better", "same", "unclear", "not judged".
std::string_view to_string(Judgement judgement);

struct Difference {
  Figure figure = Figure::kRate;
  double before = 0;  // requests per second, share of failed ones, or milliseconds
  double after = 0;
  // Of the whole `before`; of errors the difference of the shares.
  double change = 0;
  double low = 0;  // the interval in which the change lies
  double high = 0;
  Judgement judgement = Judgement::kNotJudged;
};

struct StepComparison {
  std::string step;  // empty: all that both have, together
  std::vector<Difference> differences;
};

struct Tolerance {
  double relative = 0.05;    // of rates and times
  double errors = 0.001;     // of shares of failed requests: 0.001 is a tenth of a percentage point
  double confidence = 0.95;  // of all intervals together
  uint64_t seed = 0x5eed;    // of the resampling: the same runs compare the same
};

struct Comparison {
  std::vector<StepComparison> steps;  // all together first, where there are several
  std::size_t batches_before = 0;
  std::size_t batches_after = 0;
  std::size_t judged = 0;  // differences that are not kNotJudged
  bool any(Judgement judgement) const;
};

// A percentile is judged when at least ten requests lie beyond it in each run.
inline constexpr double kLeastBeyond = 10;

// REQUIRES the same steps in both, in the same order.
Comparison compare(const Batches& before, const Batches& after, const Tolerance& tolerance);

}  // namespace bellwether::results
