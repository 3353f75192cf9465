#include "cluster/health/manager_state.h"

#include "core/base/enum_names.h"

namespace bellwether::health {
namespace {

std::string missing_in(const ManagerStates::Sight& sight) {
  if (!sight.registers_read) return "its registers of jobs are not read yet";
  if (sight.workers == 0) return "no worker is known yet";
  if (sight.unheard == 0) return {};
  return std::to_string(sight.unheard) + " of " + std::to_string(sight.workers) + " workers have not reported yet";
}

}  // namespace

std::string_view to_string(ManagerState state) {
  static constexpr EnumNames<ManagerState> kNames("syncing", "active", "draining");
  return kNames[state];
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

}  // namespace bellwether::health
