#include "report/run_report.h"

#include <algorithm>

namespace bellwether::report {

RunReport conclude(std::string run_id, WallTime started_at, Duration elapsed, const aggregate::Totals& totals,
                   int cores, aggregate::Ending ending, std::vector<Event> events) {
  RunReport run;
  run.run_id = std::move(run_id);
  run.started_at = started_at;
  run.elapsed = elapsed;
  run.totals = &totals;
  run.thresholds = aggregate::evaluate(totals);
  run.generator = aggregate::generator_check(totals, cores);
  run.verdict = aggregate::verdict(aggregate::facts_of(totals, run.thresholds, run.generator, ending));
  run.ended_early = ending != aggregate::Ending::kCompleted;
  run.events = std::move(events);
  return run;
}

WorkflowState state_of(const RunReport& run, uint16_t workflow) {
  const Duration start = run.totals->plan().workflows[workflow].start_time;
  if (!run.ended_early) return {"completed", "", std::max(run.elapsed - start, Duration::zero())};
  if (run.elapsed <= start) return {"skipped", "the run ended before its start time", Duration::zero()};
  return {"stopped", "", run.elapsed - start};
}

}  // namespace bellwether::report
