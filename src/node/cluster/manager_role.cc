#include "node/cluster/manager_role.h"

#include <utility>

#include "base/units.h"
#include "cluster/jobs/open_job_store.h"
#include "cluster/jobs/quorum_job_store.h"
#include "cluster/sqlite_kv.h"

namespace bellwether::node {
namespace {

using runtime::task;

// A job goes on under another manager when this long has passed since its own was last heard of.
constexpr jobs::JobSettings kJobs{Duration::seconds(3)};
constexpr Duration kCloseMost = Duration::seconds(1);

copies::CopyKeeperSettings keeping(bool first_start) {
  copies::CopyKeeperSettings settings;
  settings.first_start = first_start;
  return settings;
}

}  // namespace

task<Result<std::unique_ptr<NodeRole>>> ManagerRole::make(Parts parts, const cluster::NodeConfig& config,
                                                          bool first_start) {
  auto kv = co_await cluster::open_sqlite_kv(parts.runtime, config.data + "/copies.db");
  if (!kv) co_return fail(kv.error().code, "data: " + kv.error().message);
  auto registers = co_await open_registers(parts, config);
  if (!registers) co_return fail(registers.error().code, "jobs: " + registers.error().message);
  std::unique_ptr<NodeRole> role(new ManagerRole(parts, config, first_start, std::move(*kv), std::move(*registers)));
  co_return std::move(role);
}

task<Result<ManagerRole::Registers>> ManagerRole::open_registers(const Parts& parts,
                                                                 const cluster::NodeConfig& config) {
  Registers out;
  const uint64_t seed = parts.runtime.prng().next();
  if (!config.jobs_in_etcd()) {
    out.store = std::make_unique<jobs::QuorumJobStore>(parts.runtime, *parts.lines, kJobs, seed);
    co_return out;
  }
  const std::string group = config.cluster + "/" + config.environment;
  std::string url = config.jobs;
  auto store = co_await jobs::open_etcd_job_store(parts.runtime, url, group, config.name, kJobs, seed);
  if (!store) co_return tl::unexpected(store.error());
  auto view = co_await jobs::open_etcd_job_view(parts.runtime, std::move(url), group, parts.etcd_notes);
  if (!view) co_return tl::unexpected(view.error());
  co_return Registers{std::move(*store), std::move(*view)};
}

ManagerRole::ManagerRole(Parts parts, const cluster::NodeConfig& config, bool first_start,
                         std::unique_ptr<cluster::Kv> kv, Registers registers)
    : parts_(parts),
      kv_(std::move(kv)),
      copy_lines_(parts.runtime, parts.links, parts.switchboard, parts.surroundings, config.name, config.keepers),
      copy_keeper_(parts.runtime, *kv_, copy_lines_, keeping(first_start), parts.notes),
      copies_(parts.runtime, copy_lines_, {}, parts.runtime.prng().next()),
      registers_(std::move(registers)),
      service_({parts.runtime, parts.links, parts.switchboard, parts.surroundings, *registers_.store,
                registers_.etcd != nullptr ? static_cast<const jobs::JobView&>(*registers_.etcd) : *parts.keeper,
                copies_, parts.listener},
               {}) {}

task<void> ManagerRole::run(runtime::Cancellation* cancel) {
  runtime::Scope keeping;
  keeping.spawn(copy_keeper_.run(keeping.cancellation()));
  if (registers_.etcd != nullptr) keeping.spawn(registers_.etcd->run(keeping.cancellation()));
  {
    const runtime::CancelCallback on_cancel(
        cancel, [](void* self) { static_cast<ManagerRole*>(self)->winding_up_.cancel(); }, this);
    co_await service_.run(&winding_up_);
  }
  co_await registers_.store->close(kCloseMost);
  co_await copies_.close();
  keeping.cancel();
  co_await keeping.join();
  co_await copy_lines_.close();
}

// Its jobs go to other managers at once, while the lines are still open.
task<void> ManagerRole::wind_up(Instant deadline, runtime::Cancellation* cancel) {
  service_.leave();
  winding_up_.cancel();
  while (service_.jobs() > 0 && parts_.runtime.read_clock() < deadline && !cancel->cancelled()) {
    co_await parts_.runtime.sleep(Duration::millis(5), cancel);
  }
}

std::string ManagerRole::state() const {
  const health::ManagerStates& states = service_.states();
  const std::string word(to_string(states.state()));
  return states.state() == health::ManagerState::kSyncing && !states.reason().empty() ? word + ": " + states.reason()
                                                                                      : word;
}

std::string ManagerRole::obstacle() const {
  if (!copy_keeper_.unable().empty()) return copy_keeper_.unable();
  const std::string trouble = registers_.etcd != nullptr ? registers_.etcd->trouble() : std::string();
  return trouble.empty() ? trouble : "the registers of jobs cannot be read: " + trouble;
}

std::string ManagerRole::refuses_jobs() const {
  if (service_.quorum_breaker() != resilience::BreakerState::kOpen) return {};
  return std::string(kQuorumCircuitOpen) + ", it is tried again in " + format_duration(service_.quorum_again());
}

std::vector<Figure> ManagerRole::figures() const {
  return {{"bellwether_jobs_progress",
           "gauge",
           "Shares that were dispatched, of those that could be: 0 idle, 1 normal, 2 slow, 3 degraded, 4 stuck.",
           {},
           static_cast<double>(service_.progress())},
          {"bellwether_jobs_quorum_breaker",
           "gauge",
           "Before what is asked of a quorum for new jobs: 0 closed, 1 open, 2 half open.",
           {},
           static_cast<double>(service_.quorum_breaker())},
          {"bellwether_jobs_waiting_bytes",
           "gauge",
           "What workers told of jobs and is not counted yet, or in no copy.",
           {},
           static_cast<double>(service_.waiting_bytes())},
          {"bellwether_jobs_backpressure",
           "gauge",
           "What workers are asked for by all jobs together: 0 none, 1 throttle, 2 batch, 3 reject.",
           {},
           static_cast<double>(service_.pressure())}};
}

}  // namespace bellwether::node
