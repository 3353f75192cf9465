#include "sim/processes.h"

#include <utility>

namespace bellwether::sim {
namespace {

constexpr int64_t kFirstPid = 1000;
constexpr int64_t kTicksPerSecond = 100;

}  // namespace

void Processes::power_on(std::string boot_id) {
  others_.clear();
  own_runs_ = false;
  next_pid_ = kFirstPid;
  self_.boot_id = std::move(boot_id);
  if (self_.pid_namespace.empty()) self_.pid_namespace = "pid:[4026531836]";
}

void Processes::begin_own(Instant boot) {
  self_.pid = next_pid_++;
  // 0 means that nothing is known.
  self_.start_time = static_cast<uint64_t>(boot.ns() / (Duration::seconds(1).ns() / kTicksPerSecond)) + 1;
  own_runs_ = true;
}

runtime::ProcessSight Processes::look_at(int64_t pid) const {
  if (const auto other = others_.find(pid); other != others_.end()) return other->second;
  if (own_runs_ && pid == self_.pid) return {runtime::ProcessSight::State::kAlive, self_.start_time};
  return {runtime::ProcessSight::State::kDead, {}};
}

}  // namespace bellwether::sim
