#include "cluster/health/datacenter.h"

#include <algorithm>

#include "core/base/enum_names.h"

namespace bellwether::health {

namespace {

std::string missing_in(const ManagerStates::Sight& sight) {
  if (!sight.registers_read) return "it has not read the job registers yet";
  if (sight.workers == 0) return "no worker is known yet";
  if (sight.unheard == 0) return {};
  return fmt::format("{} of {} workers have not reported yet", sight.unheard, sight.workers);
}

bool is_majority(std::size_t part, std::size_t all) { return part >= all / 2 + 1; }

const ManagerView* best_informed(const std::vector<ManagerView>& managers) {
  const ManagerView* best = nullptr;
  for (const ManagerView& manager : managers) {
    if (!manager.alive) continue;
    const bool better =
        best == nullptr || (manager.is_leader != best->is_leader ? manager.is_leader : manager.heard > best->heard);
    if (better) best = &manager;
  }
  return best;
}

}  // namespace

std::string_view to_string(ManagerState state) {
  return EnumNames<ManagerState>("syncing", "active", "draining")[state];
}

bool ManagerStates::look(Instant now, const Sight& sight) {
  if (state_ != ManagerState::kSyncing) return false;
  reason_ = missing_in(sight);
  if (!began_) began_ = now;
  const Duration since = now - *began_;
  if (since < settings_.least || (!reason_.empty() && since < settings_.limit)) return false;
  state_ = ManagerState::kActive;
  return true;
}

std::string_view to_string(DatacenterHealth health) {
  return EnumNames<DatacenterHealth>("healthy", "busy", "degraded", "unhealthy")[health];
}

DatacenterVerdict judge(const std::vector<ManagerView>& managers) {
  const auto count = [&](auto holds) {
    return static_cast<std::size_t>(std::count_if(managers.begin(), managers.end(), holds));
  };
  const ManagerView* informed = best_informed(managers);
  if (informed == nullptr) return {DatacenterHealth::kUnhealthy, "no manager answers", {}};
  const WorkerFigures& workers = informed->workers;
  const auto verdict = [&](DatacenterHealth health, std::string_view reason) {
    return DatacenterVerdict{health, reason, workers};
  };
  if (workers.registered == 0) return verdict(DatacenterHealth::kUnhealthy, "no worker is registered");

  const auto degraded = [&](std::string_view reason) { return verdict(DatacenterHealth::kDegraded, reason); };
  const std::size_t all = managers.size();
  if (!is_majority(count([](const ManagerView& m) { return m.alive; }), all)) {
    return degraded("most managers do not answer");
  }
  if (count([](const ManagerView& m) { return m.alive && m.has_quorum; }) == 0)
    return degraded("no manager has a quorum");
  if (is_majority(count([](const ManagerView& m) { return !m.alive || !m.ready; }), all)) {
    return degraded("most managers are not ready");
  }
  if (count([](const ManagerView& m) { return m.alive && m.stuck; }) > 0) return degraded("a manager is stuck");
  if (!is_majority(workers.healthy, workers.registered)) return degraded("most workers are not healthy");
  if (workers.free_cores == 0) return verdict(DatacenterHealth::kBusy, "no core is free");
  return verdict(DatacenterHealth::kHealthy, "");
}

}  // namespace bellwether::health
