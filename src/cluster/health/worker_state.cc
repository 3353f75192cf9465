#include "cluster/health/worker_state.h"

#include <algorithm>

#include "core/base/enum_names.h"

namespace bellwether::health {

std::string_view to_string(WorkerState state) {
  static constexpr EnumNames<WorkerState> kNames("registering", "healthy", "degraded", "draining", "offline");
  return kNames[state];
}

void WorkerStates::registered() {
  if (state_ == WorkerState::kRegistering) state_ = WorkerState::kHealthy;
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

}  // namespace bellwether::health
