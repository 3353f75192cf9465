#include "load/report/run_report.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/enum_names.h"

namespace bellwether::report {

std::string_view to_string(WorkerState state) {
  static constexpr EnumNames<WorkerState> kNames("completed", "drained", "lost", "unconfirmed");
  return kNames[state];
}

namespace {

// As far as the run as a whole shows it.
WorkflowState state_of(const RunReport& run, Duration start) {
  if (!run.ended_early) return {"completed", "", std::max(run.elapsed - start, Duration::zero())};
  if (run.elapsed <= start) return {"skipped", "the run ended before its start time", Duration::zero()};
  return {"stopped", "", run.elapsed - start};
}

}  // namespace

RunReport conclude(const aggregate::Totals& totals, Course course) {
  RunReport run;
  run.run_id = std::move(course.run_id);
  run.started_at = course.started_at;
  run.elapsed = course.elapsed;
  run.totals = &totals;
  run.thresholds = aggregate::evaluate(totals);
  run.generator = aggregate::generator_check(totals, course.cores, std::move(course.findings));
  run.confirmed = course.unconfirmed.empty();
  aggregate::Facts facts =
      aggregate::facts_of(totals, run.thresholds, run.generator, course.ending, std::move(course.why), course.losses);
  facts.unconfirmed = std::move(course.unconfirmed);
  run.verdict = aggregate::verdict(facts);
  run.events = std::move(course.events);
  run.losses = std::move(course.losses);
  run.workers = std::move(course.workers);
  run.ended_early = course.ending != aggregate::Ending::kCompleted || !run.confirmed;
  run.workflows = std::move(course.workflows);
  const std::vector<plan::Workflow>& planned = totals.plan().workflows;
  check(run.workflows.empty() || run.workflows.size() == planned.size(), "each workflow has a state, or none has");
  for (std::size_t w = run.workflows.size(); w < planned.size(); ++w) {
    run.workflows.push_back(state_of(run, planned[w].start_time));
  }
  return run;
}

}  // namespace bellwether::report
