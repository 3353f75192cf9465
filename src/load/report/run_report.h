// The input of all reports, put together at the end of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "load/aggregate/metric.h"
#include "load/aggregate/totals.h"
#include "load/aggregate/verdict.h"
#include "load/plan/finding.h"

namespace bellwether::report {

// An event of the run that a reader of its figures should know.
struct Event {
  Duration at;         // since the start of the run
  std::string kind;    // a stable word: "stopping", "worker_lost"
  std::string detail;  // for people
};

// The state of a worker of the run at its end.
enum class WorkerState : uint8_t {
  kCompleted,
  kDrained,  // on request it left, and its work was finished or moved
  kLost,     // unreachable
  kUnconfirmed,
};
// "completed", "drained", "lost", "unconfirmed": the words of result files.
std::string_view to_string(WorkerState state);

struct Worker {
  std::string name;
  uint32_t cores = 0;        // the most that ran load at once
  uint32_t assignments = 0;  // its assignments, one after the other or side by side
  WorkerState state = WorkerState::kCompleted;
};

// The state of a workflow at the end.
struct WorkflowState {
  // "completed", "stopped" (the run was ended early), "skipped" (before it began), "failed", "cancelled", "timed_out",
  // "unconfirmed" (its end is unknown).
  std::string status;
  std::string skipped_because;  // empty unless skipped
  Duration elapsed;
  std::optional<uint32_t> cores = {};  // that ran it; none: all cores of the run
};

// The course of a run, beside its figures.
struct Course {
  std::string run_id;
  WallTime started_at;
  Duration elapsed;  // from start to end, with the graceful stop
  int cores = 1;     // the most that ran load at once, on all machines
  aggregate::Ending ending = aggregate::Ending::kCompleted;
  std::string why;  // of the ending, in words (aggregate::Facts)
  std::vector<Event> events = {};
  std::vector<plan::Loss> losses = {};
  std::vector<Worker> workers = {};               // none: it ran on the machine that reports
  std::vector<WorkflowState> workflows = {};      // in the order of the plan; none: the state of the run as a whole
  std::vector<aggregate::Finding> findings = {};  // of the generator about itself
  // Why these figures are not known to be the whole run, in words; empty: they are.
  std::string unconfirmed = {};
};

struct RunReport {
  std::string run_id;
  WallTime started_at;
  Duration elapsed;
  const aggregate::Totals* totals = nullptr;  // and through it the plan; must outlive the report
  std::vector<aggregate::ThresholdResult> thresholds;
  aggregate::Generator generator;
  aggregate::Verdict verdict;
  std::vector<Event> events;
  std::vector<plan::Loss> losses;
  std::vector<Worker> workers;
  std::vector<WorkflowState> workflows;
  bool ended_early = false;  // by anything but the end of its plan
  bool confirmed = true;     // false: the reason of the verdict says why
};

// Judges a run that has ended: thresholds, generator and verdict come from the totals. REQUIRES a state for each
// workflow, or none.
RunReport conclude(const aggregate::Totals& totals, Course course);

}  // namespace bellwether::report
