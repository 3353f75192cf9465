#include "sim/datacenter/sim_worker.h"

#include <numeric>
#include <utility>

namespace bellwether::sim {

using runtime::task;

namespace {

constexpr Duration kFeelEvery = Duration::seconds(1);

node::WorkerSettings settings_of(const DatacenterPlace& place) {
  node::WorkerSettings settings;
  settings.cpus.resize(place.cores);
  std::iota(settings.cpus.begin(), settings.cpus.end(), 0);
  return settings;
}

}  // namespace

std::unique_ptr<MemberRole> make_worker(const MemberParts& parts) { return std::make_unique<SimWorker>(parts); }

SimWorker::SimWorker(const MemberParts& parts)
    : parts_(parts),
      shares_(parts.runtime, parts.place),
      service_(parts.runtime, parts.links, parts.switchboard, parts.managers, shares_, settings_of(parts.place),
               *this) {
  shares_.watch(service_);
}

task<void> SimWorker::work(runtime::Cancellation* cancel) {
  runtime::Scope scope(cancel);
  scope.spawn(feel(this, scope.cancellation()));
  co_await service_.run(scope.cancellation());
  co_await scope.join();
}

task<void> SimWorker::wind_up(Instant deadline, runtime::Cancellation* cancel) {
  if (parts_.runtime.prng().chance(0.5)) {
    const Status drained = co_await service_.drain(deadline, cancel);
    static_cast<void>(drained);
  } else {
    const Status left = co_await service_.leave(deadline, cancel);
    static_cast<void>(left);
  }
}

task<void> SimWorker::feel(SimWorker* self, runtime::Cancellation* cancel) {
  while (true) {
    const bool due = co_await self->parts_.runtime.sleep(kFeelEvery, cancel);
    if (!due) co_return;
    cluster::VitalSigns signs;
    signs.cores = self->parts_.place.cores;
    signs.memory_most = 100;
    signs.memory = self->parts_.place.pressed ? 90 : 10;
    self->service_.sample(signs, self->parts_.members.health_score());
  }
}

std::string SimWorker::business() const {
  const dispatch::WorkerDesk& desk = service_.desk();
  if (desk.free_cores() != desk.cores()) {
    return std::to_string(desk.cores() - desk.free_cores()) + " of its cores are taken";
  }
  if (desk.unfinished() > 0) return std::to_string(desk.unfinished()) + " of its shares have a process";
  const dispatch::WorkerReport report = desk.report();
  if (report.held.empty()) return {};
  return "it keeps share " + std::to_string(report.held.front().share.value()) + " of job '" + report.held.front().job +
         "'";
}

void SimWorker::on_worker_note(bool warning, const std::string& text) {
  parts_.place.stage->watcher->saw(parts_.place, (warning ? "warns: " : "notes: ") + text);
}

}  // namespace bellwether::sim
