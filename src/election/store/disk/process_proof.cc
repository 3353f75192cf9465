#include "election/store/disk/process_proof.h"

#include "core/base/probe.h"

namespace bellwether::store {

using election::HolderSight;
using runtime::ProcessIdentity;
using runtime::ProcessSight;

Proof judge_process(const ProcessIdentity& holder, const ProcessIdentity& self, const ProcessSight& seen,
                    bool one_machine) {
  if (holder.pid == 0 || holder.boot_id.empty() || self.boot_id.empty()) return {};
  const std::string process = "its process " + std::to_string(holder.pid);
  if (holder.boot_id != self.boot_id) {
    if (!one_machine) return {};
    BW_PROBE("store: a claim from before the machine started");
    return {HolderSight::kDead, "the machine has started again since " + process + " claimed the key"};
  }
  if (holder.pid_namespace.empty() || holder.pid_namespace != self.pid_namespace) return {};
  if (seen.state == ProcessSight::State::kDead) {
    BW_PROBE("store: a claim of a dead process");
    return {HolderSight::kDead, process + " is gone"};
  }
  if (!seen.start_time || holder.start_time == 0) return {};
  if (*seen.start_time != holder.start_time) {
    BW_PROBE("store: a claim whose process id was given to another process");
    return {HolderSight::kDead, process + " is gone, and its id was given to another process"};
  }
  return {HolderSight::kAlive, {}};
}

}  // namespace bellwether::store
