#include "sim/datacenter/datacenter_place.h"

#include <numeric>
#include <utility>

#include "cluster/net/message_classes.h"
#include "cluster/node/node_admin.h"
#include "jobs/dispatch/codec/messages_codec.h"
#include "lead/roles/context_role.h"
#include "sim/datacenter/careless_service.h"
#include "sim/datacenter/sim_assignments.h"
#include "sim/datacenter/sim_contexts.h"

namespace bellwether::sim {

using runtime::task;

namespace {

constexpr Duration kMaxInquest = Duration::seconds(10);
constexpr Duration kShortPermit = Duration::millis(300);

// Managers ask the disks for ended jobs soon, and wait for a stuck process for a shorter time than in life, where jobs
// take longer.
node::ManagerSettings manager_settings(const DatacenterStage& stage) {
  node::ManagerSettings settings;
  if (stage.is("owner-does-not-wait")) settings.coordinator.rules.permit = kShortPermit;
  settings.tracking = Duration::seconds(20);
  settings.tracking_failed = Duration::seconds(20);
  settings.workers.drain_limit = Duration::seconds(5);
  return settings;
}

// How the simulated machine of a worker is.
class SimUsage final : public cluster::UsageSource {
 public:
  explicit SimUsage(const DatacenterPlace& place) : place_(place) {}
  task<cluster::ResourceUsage> measure() override {
    cluster::ResourceUsage signs;
    signs.cores = place_.cores;
    signs.memory_most = 100;
    signs.memory = place_.pressed ? 90 : 10;
    co_return signs;
  }

 private:
  const DatacenterPlace& place_;
};

}  // namespace

// The last role of each node: through it the world sees the others from when they are prepared until they go.
class Sight final : public node::NodeRole {
 public:
  struct Roles {
    std::shared_ptr<node::ManagerRole> manager;
    std::shared_ptr<node::RegisterRole> registers;
    std::shared_ptr<node::WorkerRole> worker;
  };
  Sight(DatacenterPlace& place, Roles roles) : place_(place), roles_(std::move(roles)) {}
  ~Sight() override {
    place_.manager = nullptr;
    place_.registers = nullptr;
    place_.worker = nullptr;
    place_.sight = nullptr;
  }

  task<Status> prepare(const node::NodeTools& tools) override {
    tools_.emplace(tools);
    place_.manager = roles_.manager.get();
    place_.registers = roles_.registers.get();
    place_.worker = roles_.worker.get();
    place_.sight = this;
    // The roles show their services for reading only; the services are not const themselves.
    if (roles_.worker != nullptr && CarelessService::is_worker(*place_.stage)) {
      be_careless(cluster::message_type::kDispatch, const_cast<node::WorkerService&>(roles_.worker->service()));
    } else if (roles_.manager != nullptr && CarelessService::is_manager(*place_.stage)) {
      be_careless(cluster::message_type::kDispatch, const_cast<node::ManagerService&>(roles_.manager->service()));
    } else if (roles_.registers != nullptr && CarelessService::is_replica(*place_.stage)) {
      be_careless(cluster::message_type::kJobs, roles_.registers->lines());
    }
    co_return Status();
  }
  task<void> run(runtime::Cancellation* cancel) override {
    if (roles_.manager != nullptr) scope_.spawn(ask_for_contexts(*tools_, *place_.stage, scope_.cancellation()));
    co_await tools_->runtime.sleep_until(Instant::never(), cancel);
    scope_.cancel();
    co_await scope_.join();
  }
  void hold(Inquest& inquest) { scope_.spawn(answer(this, &inquest)); }

 private:
  void be_careless(uint16_t type, cluster::Service& real) {
    careless_.emplace(tools_->runtime, tools_->port.router(), type, real, *place_.stage);
  }
  static task<void> answer(Sight* self, Inquest* inquest) {
    const blobs::BlobKey key{inquest->job, node::kIngestBlob};
    const auto copy =
        co_await node::ManagerRole::stores_of(self->roles_.manager)
            ->blobs->get(key, {}, self->tools_->runtime.read_clock() + kMaxInquest, self->scope_.cancellation());
    inquest->answered = true;
    if (!copy) {
      inquest->trouble = copy.error().message;
    } else if (*copy) {
      inquest->ingest = (*copy)->bytes;
    }
  }

  DatacenterPlace& place_;
  Roles roles_;
  std::optional<node::NodeTools> tools_;
  std::optional<CarelessService> careless_;
  runtime::Scope scope_;  // last: its coroutines use everything above
};

DatacenterPlace::DatacenterPlace(Node& on, FaultyWorld& lives_in, DatacenterStage& of, Kind what)
    : NodePlace(on, lives_in), stage(&of), kind(what), blobs(lives_in.prng(), on.disk()) {
  remembers = kind == Kind::kManager;
  if (kind == Kind::kWorker) options.config.role = wire::Role::kWorker;
  if (kind == Kind::kManager) options.config.context = context_settings_of_nodes();
}

// As `bellwether node` gives them to a node (cli/cluster/node.cc), except for the load, which is a model.
std::vector<std::shared_ptr<node::NodeRole>> DatacenterPlace::make_roles(runtime::Runtime& runtime) {
  Sight::Roles roles;
  std::vector<std::shared_ptr<node::NodeRole>> all;
  if (kind == Kind::kManager) {
    auto disk = std::make_unique<SimKv>(runtime, blobs, false);
    kept = disk.get();
    roles.registers = std::make_shared<node::RegisterRole>();
    roles.manager = std::make_shared<node::ManagerRole>(std::move(disk), roles.registers, manager_settings(*stage));
    all = {roles.registers, roles.manager,
           std::make_shared<node::ContextRole>(node::ManagerRole::stores_of(roles.manager),
                                               std::make_unique<ContextMaker>(runtime, *this))};
  } else {
    node::WorkerSettings settings;
    settings.cpus.resize(cores);
    std::iota(settings.cpus.begin(), settings.cpus.end(), 0);
    roles.worker =
        std::make_shared<node::WorkerRole>(std::move(settings), std::make_unique<SimAssignments>(runtime, *this));
    all = {roles.worker};
  }
  all.push_back(std::make_shared<Sight>(*this, std::move(roles)));
  return all;
}

node::NodeSupplies DatacenterPlace::make_supplies(runtime::Runtime& runtime) {
  kept = nullptr;
  node::NodeSupplies supplies = NodePlace::make_supplies(runtime);
  supplies.messages = &message::message_of<dispatch::JobMessage>();
  if (kind == Kind::kManager) supplies.resources = able_machine();
  if (kind == Kind::kWorker) supplies.usage = std::make_unique<SimUsage>(*this);
  return supplies;
}

bool DatacenterPlace::is_new() const {
  return NodePlace::is_new() || !stored.has("jobs-kept-with") || !blobs.has("blobs-kept-with");
}

bool DatacenterPlace::disk_is_broken() const {
  if (NodePlace::disk_is_broken() || (kept != nullptr && kept->broken())) return true;
  return manager != nullptr && (!manager->obstacle().empty() || !registers->replica().unable().empty());
}

void DatacenterPlace::on_line(std::string_view event, const std::string& text, const Journal::Fields& fields) {
  if (event == "job_taken_over") ++stage->owners;
  NodePlace::on_line(event, text, fields);
}

std::string DatacenterPlace::business() const {
  if (worker == nullptr) return "it has not found its cluster";
  const dispatch::WorkerKernel& kernel = worker->service().kernel();
  if (kernel.free_cores() != kernel.cores()) {
    return fmt::format("{} of its cores are taken", kernel.cores() - kernel.free_cores());
  }
  if (kernel.unfinished() > 0) return fmt::format("{} of its assignments have a process", kernel.unfinished());
  const dispatch::WorkerReport report = kernel.report();
  if (report.held.empty()) return {};
  return fmt::format("it still has assignment {} of job '{}'", report.held.front().assignment.value(),
                     report.held.front().job);
}

void DatacenterPlace::hold(Inquest& inquest) {
  inquest_ = &inquest;
  machine.runtime().post(
      [](void* context) {
        auto& asked = *static_cast<DatacenterPlace*>(context);
        if (asked.sight != nullptr) asked.sight->hold(*asked.inquest_);
      },
      this);
}

void DatacenterPlace::post_drain() {
  machine.runtime().post(
      [](void* context) {
        auto& asked = *static_cast<DatacenterPlace*>(context);
        if (asked.process == nullptr) return;
        const auto begun = asked.process->admin().drain("its operator");
        asked.say(begun ? *begun : begun.error().message);
      },
      this);
}

}  // namespace bellwether::sim
