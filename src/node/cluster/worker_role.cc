#include "node/cluster/worker_role.h"

#include <sched.h>
#include <utility>

#include "base/units.h"
#include "node/cluster/keyring.h"

namespace bellwether::node {
namespace {

using runtime::task;

std::vector<int> usable_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

}  // namespace

Result<std::unique_ptr<WorkerRole>> WorkerRole::make(runtime::Runtime& runtime, cluster::PeerLinks& links,
                                                     cluster::Switchboard& switchboard, const Managers& managers,
                                                     const cluster::NodeConfig& config,
                                                     WorkerService::Listener& listener) {
  WorkerSettings settings;
  settings.cpus = usable_cpus();
  settings.cores = config.cores;
  settings.pin = config.pin;
  settings.hand_over = config.hand_over;
  if (config.cores > settings.cpus.size()) {
    return fail(Errc::kInvalid, "'cores' is " + std::to_string(config.cores) + ", but this process may use " +
                                    format_count(settings.cpus.size(), "processor") +
                                    ": say fewer, or leave it out to use all of them");
  }
  if (!config.trust_keys.empty()) {
    auto keys = read_keyring(config.trust_keys);
    if (!keys) return fail(keys.error().code, "'trust_keys': " + keys.error().message);
    settings.trusted = std::move(*keys);
  }
  return std::unique_ptr<WorkerRole>(
      new WorkerRole(runtime, links, switchboard, managers, std::move(settings), listener));
}

task<void> WorkerRole::run(runtime::Cancellation* cancel) { co_await service_.run(cancel); }

task<void> WorkerRole::wind_up(Instant deadline, runtime::Cancellation* cancel) {
  const Status left = co_await service_.leave(deadline, cancel);
  static_cast<void>(left);
}

task<bool> WorkerRole::drain(runtime::Cancellation* cancel) {
  const Status drained = co_await service_.drain(Instant::never(), cancel);
  co_return drained.has_value();
}

}  // namespace bellwether::node
