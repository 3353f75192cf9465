#include "load/results/process.h"

#include "core/runtime/processes.h"

namespace bellwether::results {

bool is_alive(int64_t pid, uint64_t start_time, const std::string& boot_id, const std::string& pid_namespace) {
  const runtime::ProcessIdentity self = runtime::identify_self();
  if (!boot_id.empty() && !self.boot_id.empty() && boot_id != self.boot_id) return false;
  if (pid_namespace != self.pid_namespace) return true;
  const runtime::ProcessSight sight = runtime::look_at_process(pid);
  if (sight.state == runtime::ProcessSight::State::kDead) return false;
  return start_time == 0 || !sight.start_time || *sight.start_time == start_time;
}

}  // namespace bellwether::results
