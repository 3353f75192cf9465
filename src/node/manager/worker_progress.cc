#include "node/manager/worker_progress.h"

#include <algorithm>
#include <set>

namespace bellwether::node {
namespace {

// Both figures of a pair grow. One that does not was told by a process that makes no sense, and says nothing.
health::Work work(uint64_t could_before, uint64_t could, uint64_t did_before, uint64_t did) {
  const uint64_t possible = could - std::min(could, could_before);
  return {possible, std::min(possible, did - std::min(did, did_before))};
}

health::Report report_of(const dispatch::Headway& before, const dispatch::Headway& now) {
  health::WorkerReport report;
  report.accepting = true;
  report.free_cores = 1;  // who has room is known elsewhere
  report.workflows = 1;
  report.loop_turns = work(before.could_turn, now.could_turn, before.turned, now.turned);
  report.iterations = work(before.could_begin, now.could_begin, before.begun, now.begun);
  report.due_times = work(before.due, now.due, before.served, now.served);
  return health::report_of(report);
}

}  // namespace

void WorkerProgress::reported(Instant now, const dispatch::WorkerReport& report) {
  if (report.life != life_) shares_.clear();
  life_ = report.life;
  takes_work_ = report.takes_work;
  std::set<std::pair<std::string, dispatch::ShareId>> running;
  for (const dispatch::WorkerReport::Held& held : report.held) {
    if (held.phase != dispatch::SharePhase::kRunning) continue;
    std::pair key(held.job, held.share);
    const auto [at, is_new] = shares_.try_emplace(key, Watched{health::NodeHealth(settings_, now), held.headway, now});
    running.insert(std::move(key));
    Watched& share = at->second;
    share.health.answered(now);
    if (is_new || now - share.at < kJudgedEvery) continue;
    // After a silence the first report may be an old one, that waited while this manager stood still: it evicts nobody.
    share.may_evict = now - share.at <= kSilentMost;
    share.health.reported(now, report_of(share.judged, held.headway));
    share.judged = held.headway;
    share.at = now;
  }
  std::erase_if(shares_, [&](const auto& one) { return !running.contains(one.first); });
}

health::Progress WorkerProgress::progress(Instant now) const {
  auto worst = health::Progress::kIdle;
  for (const auto& [key, share] : shares_) worst = std::max(worst, share.health.progress(now));
  return worst;
}

health::Routing WorkerProgress::routing(Instant now) const {
  auto worst = health::Routing::kRoute;
  for (const auto& [key, share] : shares_) {
    if (share.health.ready()) worst = std::max(worst, share.health.routing(now));
  }
  return takes_work_ ? worst : std::max(worst, health::Routing::kHold);
}

std::vector<WorkerProgress::Stuck> WorkerProgress::to_evict(Instant now) const {
  std::vector<Stuck> out;
  for (const auto& [key, share] : shares_) {
    if (share.may_evict && share.at == now && share.health.routing(now) == health::Routing::kEvict) {
      out.push_back({key.first, key.second});
    }
  }
  return out;
}

}  // namespace bellwether::node
