#include "node/manager/own_progress.h"

#include <algorithm>

namespace bellwether::node {
namespace {

constexpr Duration kOwnJudgedEvery = Duration::seconds(1);

}  // namespace

void OwnProgress::look(Instant now, Seen seen) {
  health_.answered(now);
  if (now - judged_ < kOwnJudgedEvery) return;
  judged_ = now;
  // What has waited since it was last judged. A share that was placed a moment ago is held up by nothing.
  const auto held_up = static_cast<uint64_t>(std::count_if(
      seen.waiting.begin(), seen.waiting.end(), [this](const auto& one) { return before_.waiting.contains(one); }));
  health::ManagerReport report;
  report.has_quorum = seen.has_quorum;
  report.accepting_jobs = seen.accepting_jobs;
  report.active_workers = seen.workers;
  report.jobs = seen.jobs;
  report.dispatches.done = seen.dispatched - std::min(seen.dispatched, before_.dispatched);
  report.dispatches.possible = report.dispatches.done + held_up;
  health_.reported(now, health::report_of(report));
  before_ = std::move(seen);
}

}  // namespace bellwether::node
