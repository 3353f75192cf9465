#include "cluster/health/signals.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/enum_names.h"

namespace bellwether::health {
namespace {

// The worst share of possible work that was done; nothing when none was possible.
std::optional<double> share_done(const Report& report) {
  std::optional<double> worst;
  for (const Work& work : report.work) {
    if (work.possible == 0) continue;
    const double ratio = static_cast<double>(work.done) / static_cast<double>(work.possible);
    worst = std::min(worst.value_or(ratio), ratio);
  }
  return worst;
}

}  // namespace

std::string_view to_string(Progress progress) {
  return EnumNames<Progress>("idle", "normal", "slow", "degraded", "stuck")[progress];
}

std::string_view to_string(Routing routing) {
  return EnumNames<Routing>("route", "investigate", "hold", "drain", "evict")[routing];
}

Report report_of(const WorkerReport& worker) {
  return {worker.accepting && worker.free_cores > 0,
          worker.workflows > 0,
          {worker.loop_turns, worker.iterations, worker.due_times}};
}

Report report_of(const ManagerReport& manager) {
  return {manager.has_quorum && manager.accepting_jobs && manager.active_workers > 0,
          manager.jobs > 0,
          {manager.dispatches}};
}

NodeHealth::NodeHealth(SignalSettings settings, Instant now)
    : settings_(settings), last_answer_(now), last_report_(now) {
  check(settings.stuck_reports > 0, "some failures are needed for a verdict");
}

void NodeHealth::answered(Instant now) { last_answer_ = now; }

void NodeHealth::reported(Instant now, const Report& report) {
  const std::optional<Instant> was_stuck = stuck_since(now);
  last_report_ = now;
  report_ = report;
  const std::optional<double> ratio = share_done(report);
  const bool nothing_done = report.has_work && ratio && *ratio <= 0;
  nothing_done_ = nothing_done ? nothing_done_ + 1 : 0;
  if (!report.has_work) {
    reported_ = Progress::kIdle;
  } else if (!ratio || *ratio >= settings_.normal) {
    reported_ = Progress::kNormal;
  } else if (*ratio >= settings_.slow) {
    reported_ = Progress::kSlow;
  } else {
    reported_ = nothing_done_ >= settings_.stuck_reports ? Progress::kStuck : Progress::kDegraded;
  }
  if (reported_ == Progress::kStuck) {
    stuck_since_ = was_stuck ? *was_stuck : now;
  } else {
    stuck_since_.reset();
  }
}

std::optional<Instant> NodeHealth::stuck_since(Instant now) const {
  if (stuck_since_) return stuck_since_;
  // A process can answer probes while the part of it that reports stands still.
  if (report_.has_work && now >= silent_from()) return silent_from();
  return std::nullopt;
}

Routing NodeHealth::routing(Instant now) const {
  if (!alive(now)) return Routing::kEvict;
  if (const auto since = stuck_since(now)) {
    return now - *since >= settings_.drain_limit ? Routing::kEvict : Routing::kDrain;
  }
  if (!report_.ready) return Routing::kHold;
  return reported_ == Progress::kSlow || reported_ == Progress::kDegraded ? Routing::kInvestigate : Routing::kRoute;
}

std::string_view to_string(WorkerState state) {
  return EnumNames<WorkerState>("registering", "healthy", "degraded", "draining", "offline")[state];
}

void WorkerStates::unregistered() {
  if (state_ == WorkerState::kOffline || shutting_down_) return;
  state_ = WorkerState::kRegistering;
  worse_ = better_ = 0;
}

void WorkerStates::shut_down() {
  if (state_ == WorkerState::kOffline) return;
  shutting_down_ = true;
  state_ = WorkerState::kDraining;
  reason_ = "shutdown";
}

// How bad a sample is against `share` of each bound; remembers what is the worst of it.
WorkerStates::Level WorkerStates::level_of(const WorkerSample& s, double ratio) {
  const struct {
    std::string_view name;
    double value;
    Pressure bound;
  } all[] = {{"memory", s.memory, settings_.memory},
             {"file descriptors", s.descriptors, settings_.descriptors},
             {"control plane cpu", s.control_cpu, settings_.control_cpu},
             {"loop lag", s.loop_lag.seconds_f(), settings_.delay_s},
             {"run queue delay", s.run_delay.seconds_f(), settings_.delay_s},
             {"queue", s.queue, settings_.queue},
             {"health score", static_cast<double>(s.health_score), settings_.health_score}};
  Level worst = Level::kFine;
  for (const auto& [name, value, bound] : all) {
    const Level level = value >= bound.critical * ratio   ? Level::kCritical
                        : value >= bound.degraded * ratio ? Level::kDegraded
                                                          : Level::kFine;
    if (level <= worst) continue;
    worst = level;
    reason_ = name;
  }
  if (worst == Level::kFine) reason_ = {};
  return worst;
}

void WorkerStates::sample(const WorkerSample& sample, bool has_work) {
  if (state_ == WorkerState::kOffline || state_ == WorkerState::kRegistering) return;
  if (shutting_down_) {
    if (!has_work) state_ = WorkerState::kOffline;
    return;
  }
  const Level relieved = level_of(sample, settings_.margin);
  const Level now = level_of(sample, 1);
  const bool is_degraded = state_ == WorkerState::kDegraded;
  const bool is_draining = state_ == WorkerState::kDraining;
  const bool worse = !is_draining && now > (is_degraded ? Level::kDegraded : Level::kFine);
  const bool better = is_draining ? relieved < Level::kCritical && !has_work : is_degraded && relieved == Level::kFine;
  worse_ = worse ? worse_ + 1 : 0;
  worst_relieved_ = better_ == 0 ? relieved : std::max(worst_relieved_, relieved);
  better_ = better ? better_ + 1 : 0;
  if (worse_ >= settings_.worse_after) {
    state_ = now == Level::kCritical ? WorkerState::kDraining : WorkerState::kDegraded;
    worse_ = 0;
  } else if (better_ >= settings_.better_after) {
    state_ = worst_relieved_ == Level::kFine ? WorkerState::kHealthy : WorkerState::kDegraded;
    better_ = 0;
  }
}

Probe::Probe(ProbeSettings settings, bool passes, Instant now, Prng prng)
    : settings_(settings), period_(Period::about(settings.period), prng), passes_(passes), next_(now) {
  check(settings.failures > 0 && settings.successes > 0, "results change the verdict");
}

bool Probe::tick(Instant now) {
  if (looking_ && now >= look_until_) failed();
  if (looking_ || now < next_) return false;
  looking_ = true;
  next_ = now + period_.next();
  look_until_ = now + settings_.timeout;
  return true;
}

void Probe::count(bool passed) {
  if (!looking_) return;  // too late: it was counted as a failure
  looking_ = false;
  against_ = passed == passes_ ? 0 : against_ + 1;
  if (against_ < (passes_ ? settings_.failures : settings_.successes)) return;
  passes_ = !passes_;
  against_ = 0;
}

Probes::Probes(Settings settings, Instant now, Prng prng)
    : settings_(settings),
      prng_(prng),
      startup_(settings.startup, true, now, prng_.fork()),
      liveness_(settings.liveness, true, now, prng_.fork()),
      readiness_(settings.readiness, false, now, prng_.fork()) {}

Probes::Due Probes::tick(Instant now) {
  if (!started_) return {.startup = startup_.tick(now)};
  return {.liveness = liveness_.tick(now), .readiness = readiness_.tick(now)};
}

Instant Probes::next_deadline() const {
  return started_ ? std::min(liveness_.next_deadline(), readiness_.next_deadline()) : startup_.next_deadline();
}

void Probes::startup_result(Instant now, bool passed) {
  if (started_) return;
  passed ? startup_.passed() : startup_.failed();
  if (!passed) return;
  started_ = true;
  liveness_ = Probe(settings_.liveness, true, now, prng_.fork());
  readiness_ = Probe(settings_.readiness, false, now, prng_.fork());
}

}  // namespace bellwether::health
