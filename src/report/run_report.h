// Everything a report is made from, put together when the run has ended.
#pragma once

#include <string>
#include <vector>

#include "aggregate/thresholds.h"
#include "aggregate/totals.h"
#include "aggregate/verdict.h"
#include "base/time.h"

namespace bellwether::report {

// Something that happened during the run and that a reader of its figures should know.
struct Event {
  Duration at;         // since the start of the run
  std::string kind;    // a stable word: "abort", "stop"
  std::string detail;  // for people
};

struct RunReport {
  std::string run_id;
  WallTime started_at;
  Duration elapsed;                           // from start to end, with the graceful stop
  const aggregate::Totals* totals = nullptr;  // and through it the plan; must outlive the report
  std::vector<aggregate::ThresholdResult> thresholds;
  aggregate::Generator generator;
  aggregate::Verdict verdict;
  bool ended_early = false;  // by a signal, on_error: abort or abortOnFail
  std::vector<Event> events;
};

// Judges a run that has ended: thresholds, generator and verdict come from the totals. `cores`: its load threads.
RunReport conclude(std::string run_id, WallTime started_at, Duration elapsed, const aggregate::Totals& totals,
                   int cores, aggregate::Ending ending, std::vector<Event> events = {});

// How far a workflow got, as far as the run as a whole shows it.
struct WorkflowState {
  std::string status;           // "completed", "stopped" (the run was ended early), "skipped" (before it began)
  std::string skipped_because;  // empty unless skipped
  Duration elapsed;
};
WorkflowState state_of(const RunReport& run, uint16_t workflow);

}  // namespace bellwether::report
