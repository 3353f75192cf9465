#include "jobs/manager/worker_registry.h"

#include <algorithm>
#include <set>
#include <utility>

#include "cluster/health/signals.h"
#include "core/base/units.h"

namespace bellwether::node {
namespace {

// Both figures of a pair grow. A pair that does not comes from a faulty process, and is ignored.
health::Work work(uint64_t could_before, uint64_t could, uint64_t did_before, uint64_t did) {
  const uint64_t possible = could - std::min(could, could_before);
  return {possible, std::min(possible, did - std::min(did, did_before))};
}

health::Report report_of(const dispatch::Headway& before, const dispatch::Headway& now) {
  health::WorkerReport report;
  report.accepting = true;
  report.free_cores = 1;  // the registry handles free cores elsewhere
  report.workflows = 1;
  report.loop_turns = work(before.could_turn, now.could_turn, before.turned, now.turned);
  report.iterations = work(before.could_begin, now.could_begin, before.begun, now.begun);
  report.due_times = work(before.due, now.due, before.served, now.served);
  return health::report_of(report);
}

constexpr Duration kForget = Duration::minutes(15);

uint32_t used(const dispatch::WorkerReport& report) { return report.cores - std::min(report.cores, report.free); }

}  // namespace

void WorkerProgress::reported(Instant now, const dispatch::WorkerReport& report) {
  if (report.life != life_) assignments_.clear();
  life_ = report.life;
  takes_work_ = report.takes_work;
  std::set<std::pair<std::string, dispatch::AssignmentId>> running;
  for (const dispatch::WorkerReport::Held& held : report.held) {
    if (held.phase != dispatch::AssignmentPhase::kRunning) continue;
    std::pair key(held.job, held.assignment);
    const auto [at, is_new] =
        assignments_.try_emplace(key, Watched{health::NodeHealth(settings_, now), held.headway, now});
    running.insert(std::move(key));
    Watched& assignment = at->second;
    assignment.health.answered(now);
    if (is_new || now - assignment.at < kJudgedEvery) continue;
    // The first report after a silence may be an old one that waited while this manager stood still: it evicts nothing.
    assignment.may_evict = now - assignment.at <= kMaxSilent;
    assignment.health.reported(now, report_of(assignment.judged, held.headway));
    assignment.judged = held.headway;
    assignment.at = now;
  }
  std::erase_if(assignments_, [&](const auto& one) { return !running.contains(one.first); });
}

health::Progress WorkerProgress::progress(Instant now) const {
  auto worst = health::Progress::kIdle;
  for (const auto& [key, assignment] : assignments_) worst = std::max(worst, assignment.health.progress(now));
  return worst;
}

health::Routing WorkerProgress::routing(Instant now) const {
  auto worst = health::Routing::kRoute;
  for (const auto& [key, assignment] : assignments_) {
    if (assignment.health.ready()) worst = std::max(worst, assignment.health.routing(now));
  }
  return takes_work_ ? worst : std::max(worst, health::Routing::kHold);
}

std::vector<WorkerProgress::Stuck> WorkerProgress::to_evict(Instant now) const {
  std::vector<Stuck> out;
  for (const auto& [key, assignment] : assignments_) {
    if (assignment.may_evict && assignment.at == now && assignment.health.routing(now) == health::Routing::kEvict) {
      out.push_back({key.first, key.second});
    }
  }
  return out;
}

bool WorkerRegistry::heard(Instant now, const std::string& name, dispatch::WorkerReport report) {
  auto known = workers_.find(name);
  const bool known_before = known != workers_.end();
  if (!known_before) {
    if (workers_.size() >= kMaxWorkers) return false;
    known = workers_.emplace(name, Entry{{}, now, WorkerProgress(signals_)}).first;
  }
  Entry& entry = known->second;
  if (known_before && entry.report.life != report.life) ++entry.lives;
  entry.progress.reported(now, report);
  entry.report = std::move(report);
  entry.heard = now;
  entry.gone = false;  // a worker that reports is alive, even if membership says otherwise
  return true;
}

void WorkerRegistry::gone(const std::string& name) {
  const auto known = workers_.find(name);
  if (known != workers_.end()) known->second.gone = true;
}

void WorkerRegistry::back(const std::string& name) {
  const auto known = workers_.find(name);
  if (known == workers_.end()) return;
  known->second.gone = false;
  known->second.lives = 0;
}

std::optional<uint64_t> WorkerRegistry::ended_life(const std::string& name) const {
  const auto known = workers_.find(name);
  if (known == workers_.end() || known->second.lives > 1) return std::nullopt;
  return known->second.report.life;
}

const WorkerRegistry::Entry* WorkerRegistry::find(const std::string& name) const {
  const auto known = workers_.find(name);
  return known == workers_.end() ? nullptr : &known->second;
}

std::vector<dispatch::WorkerSight> WorkerRegistry::sights(Instant now, const std::map<std::string, uint32_t>& asked,
                                                          const std::set<std::string>& left_alone) const {
  std::vector<dispatch::WorkerSight> out;
  for (const auto& [name, entry] : workers_) {
    if (entry.gone) continue;
    const dispatch::WorkerReport& report = entry.report;
    const auto own = asked.find(name);
    const uint32_t taken = std::max(used(report), own == asked.end() ? 0U : own->second);
    const health::Routing routing = entry.progress.routing(now);
    dispatch::WorkerSight sight;
    sight.name = name;
    sight.life = report.life;
    sight.cores = report.cores;
    sight.free = report.cores - std::min(report.cores, taken);
    const bool heard = now - entry.heard < kFresh && !left_alone.contains(name);
    sight.takes_work = routing <= health::Routing::kInvestigate && heard;
    // Until a stuck assignment has ended; or until all have, if the worker was overloaded.
    const bool drains = report.state == to_string(health::WorkerState::kDraining) && used(report) > 0;
    sight.held = heard && (report.takes_work ? routing >= health::Routing::kDrain : drains);
    sight.healthy = report.healthy && routing == health::Routing::kRoute;
    sight.leaves = report.leaves;
    sight.permits = report.permits;
    sight.heard = entry.heard;
    out.push_back(std::move(sight));
  }
  return out;
}

std::vector<dispatch::WorkerLine> WorkerRegistry::lines(Instant now) const {
  std::vector<dispatch::WorkerLine> out;
  for (const auto& [name, entry] : workers_) {
    dispatch::WorkerLine line;
    line.name = name;
    line.cores = entry.report.cores;
    line.free = entry.report.free;
    line.state = entry.gone ? "gone" : (now - entry.heard < kFresh ? entry.report.state : "silent");
    line.reason = entry.report.reason;
    line.assignments = static_cast<uint32_t>(entry.report.held.size());
    line.progress = to_string(entry.progress.progress(now));
    out.push_back(std::move(line));
  }
  return out;
}

std::string why_waiting(const std::vector<dispatch::WorkerLine>& workers) {
  uint64_t cores = 0;
  std::map<std::string, std::size_t> others;  // by state
  for (const dispatch::WorkerLine& one : workers) {
    const bool is_stuck = one.progress == to_string(health::Progress::kStuck);
    const bool takes_work =
        one.state == to_string(health::WorkerState::kHealthy) || one.state == to_string(health::WorkerState::kDegraded);
    if (is_stuck || !takes_work) {
      ++others[is_stuck ? one.progress : one.state];
      continue;
    }
    cores += one.cores;
  }
  if (cores > 0) return fmt::format("too few of {} are free", format_count(cores, "core"));
  if (others.empty()) return "no worker is registered";
  std::string text;
  for (const auto& [state, count] : others) {
    text += fmt::format("{}{} {}", text.empty() ? "no worker accepts work: " : ", ", count, state);
  }
  return text;
}

void WorkerRegistry::sweep(Instant now) {
  std::erase_if(workers_, [&](const auto& one) { return now - one.second.heard > kForget; });
}

}  // namespace bellwether::node
