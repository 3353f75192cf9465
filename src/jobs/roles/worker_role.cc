#include "jobs/roles/worker_role.h"

#include <sched.h>
#include <utility>

#include "cluster/node/cluster_node.h"
#include "cluster/node/keyring.h"
#include "cluster/node/node_members.h"
#include "core/base/units.h"

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

Result<WorkerSettings> local_worker_settings(const cluster::NodeConfig& config) {
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
  return settings;
}

task<Status> WorkerRole::prepare(const NodeTools& tools) {
  members_ = &tools.members;
  log_ = &tools.log;
  service_ = std::make_unique<WorkerService>(tools.runtime, tools.port.links(), tools.port.switchboard(), *this,
                                             *shares_, settings_, *this);
  co_return Status();
}

task<void> WorkerRole::wind_up(Instant deadline, runtime::Cancellation* cancel) {
  const Status left = co_await service_->leave(deadline, cancel);
  static_cast<void>(left);
}

task<bool> WorkerRole::drain(runtime::Cancellation* cancel) {
  const Status drained = co_await service_->drain(Instant::never(), cancel);
  co_return drained.has_value();
}

std::vector<cluster::PeerAddress> WorkerRole::managers() const {
  std::vector<cluster::PeerAddress> out;
  members_->for_each([&](const NodeMembers::Member& member) {
    if (member.role() != wire::Role::kManager || member.gone()) return;
    out.push_back({member.name, cluster::to_runtime(member.profile.endpoint)});
  });
  return out;
}

}  // namespace bellwether::node
