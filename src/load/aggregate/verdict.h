// The one judgement of a run, its reason in words, and the exit code of the command. docs/reference/exit-codes.md has
// the table for users.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "load/aggregate/metric.h"
#include "load/aggregate/self_monitor.h"
#include "load/aggregate/totals.h"
#include "load/plan/finding.h"
#include "load/plan/metric.h"

namespace bellwether::aggregate {

// The process's exit codes. Those from 99 to 108 mean what they mean in k6, which has more of them; 110 does not.
inline constexpr int kExitPass = 0;
inline constexpr int kExitNotRun = 1;
inline constexpr int kExitThresholds = 99;
inline constexpr int kExitSignal = 105;
inline constexpr int kExitAbort = 108;
inline constexpr int kExitAllFailed = 110;
inline constexpr int kExitLost = 120;
inline constexpr int kExitSchedule = 121;
inline constexpr int kExitSaturated = 122;
inline constexpr int kExitNoSamples = 123;
inline constexpr int kExitNotWritten = 124;  // a run that passed, but for a report or the summary

// The state of the load generator itself.
struct Generator {
  int cores = 0;                  // load threads
  double cpu_cores = 0;           // CPU time of the load threads, per second of the run
  Duration loop_lag_p99;          // the time that a ready event waited for its turn
  uint64_t exhausted = 0;         // requests that failed for want of ports or descriptors on this machine
  std::string saturation;         // the reason that the generator was a bottleneck, in words; empty: it was not
  std::string remedy;             // of the saturation, in words; empty without it
  std::vector<Finding> findings;  // about itself during the run, in the order of their begin
  bool saturated() const { return !saturation.empty(); }
};
// REQUIRES cores > 0. Only findings about the machine that lasted (kSaturatedRatio) count here; the run as a whole
// judges the others.
Generator generator_check(const Totals& totals, int cores, std::vector<Finding> findings = {});

// The reason for the end of the run.
enum class Ending : uint8_t {
  kCompleted,
  kSignal,           // Ctrl-C, SIGTERM or the user at the screen
  kOnError,          // a step with on_error: abort failed, or a workflow lacked a value of another
  kThreshold,        // a threshold with abortOnFail failed
  kCancelled,        // a command to the cluster
  kTimeout,          // it took longer than its timeout
  kNotRun,           // no load at all: no worker, or none that could prepare it
  kWorkflowTimeout,  // a workflow took longer than its timeout; the others did their work
};

enum class Outcome : uint8_t { kPass, kFail, kInconclusive, kAborted };
// "pass", "fail", "inconclusive", "aborted": the words of result files.
std::string_view to_string(Outcome outcome);

// The sum of all losses.
struct LossSum {
  std::size_t entries = 0;
  Duration time;          // in which at least one of them lies
  double most_ratio = 0;  // the greatest loss at one time
};
LossSum sum_of(std::span<const plan::Loss> losses);

// Everything the verdict depends on.
struct Facts {
  Ending ending = Ending::kCompleted;
  std::string why;               // of the ending, in words: a clause without a full stop; may be empty
  std::string unconfirmed = {};  // why the run has no confirmed result, in words; empty: it has one
  LossSum losses;
  plan::OnLoss on_loss = plan::OnLoss::kInconclusive;
  std::size_t thresholds = 0;
  std::vector<std::string> thresholds_failed = {};  // with samples, as threshold_text() says them
  std::size_t thresholds_no_samples = 0;
  bool measures = true;  // the plan has a step that makes requests
  uint64_t requests = 0;
  uint64_t failed = 0;
  // Of the workflow that missed the greatest ratio of its schedule, among those whose dropped_iterations no threshold
  // judges.
  uint64_t scheduled = 0;  // iterations; 0: none
  uint64_t missed = 0;     // dropped, or neither started nor dropped
  std::string missing;     // its name; empty if the plan has one workflow
  bool saturated = false;
};
Facts facts_of(const Totals& totals, std::span<const ThresholdResult> thresholds, const Generator& generator,
               Ending ending, std::string why = {}, std::span<const plan::Loss> losses = {});

struct Verdict {
  Outcome outcome = Outcome::kPass;
  int exit_code = kExitPass;
  std::string reason;  // a clause without a full stop: "all 3 thresholds passed"
  // Those of the facts, all of them, whatever decided. If there are any, `reason` ends with their count.
  std::vector<std::string> failed_thresholds = {};
};
// A run without a confirmed result: 120, whatever its figures so far. Else the first row of this list that applies, so
// that what a person did wins over what was measured, and a rule the user wrote wins over our own:
//   no load at all 1, signal or cancellation 105, on_error abort or a timeout 108, threshold failed 99, something was
//   lost 120 (but for on_loss: pass), threshold without samples 123, no threshold and every request failed (or none was
//   made) 110, more than 1 % of a workflow's schedule dropped or not started and no threshold on that: 122 with a
//   saturated generator, else 121; pass 0.
// What was lost comes before the rows below it because each of them may be nothing but its consequence.
Verdict verdict(const Facts& facts);

// The reason of a verdict with the first of its failed thresholds, as one line:
// "1 of 2 thresholds failed: http_req_duration p(99)=0.093ms, limit <0.02ms".
std::string verdict_text(std::string_view reason, std::span<const std::string> failed_thresholds);

// Thresholds as people read them.

// "http_req_duration p(99)=0.093ms, limit <0.02ms": the measured value and the limit, in one unit. `metric` and
// `expression` as the user wrote them; `unit`: that of the metric, as its thresholds use it, or empty. The value has as
// many digits as it takes to tell it from the limit. `at_least`: it is a lower bound ("p(99)≥0.093ms").
std::string threshold_text(std::string_view metric, std::string_view expression, plan::MetricKind kind,
                           std::string_view unit, double value, bool at_least);

}  // namespace bellwether::aggregate
