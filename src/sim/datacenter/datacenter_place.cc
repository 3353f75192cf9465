#include "sim/datacenter/datacenter_place.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "cluster/net/message_classes.h"
#include "cluster/net/message_router.h"
#include "cluster/node/node_admin.h"
#include "cluster/register/codec.h"
#include "core/runtime/runtime.h"
#include "jobs/dispatch/codec/job_record_codec.h"
#include "jobs/dispatch/codec/messages_codec.h"
#include "jobs/dispatch/messages.h"
#include "lead/roles/context_role.h"
#include "sim/datacenter/sim_assignments.h"
#include "sim/datacenter/sim_client.h"

namespace bellwether::sim {

using runtime::task;

namespace {

// --- a node that makes a mistake -------------------------------------------------------------------------------------

constexpr Duration kKeepsLate = Duration::seconds(3);
constexpr uint64_t kCountTwiceEvery = 8;

wire::Inbound with_body(const wire::Inbound& inbound, std::string_view body) {
  wire::Inbound changed = inbound;
  changed.body = as_bytes(body);
  return changed;
}

// A node that makes one of the deliberate mistakes of a datacenter: it stands before the product's own service of a
// type of messages, and answers or changes some of them.
class CarelessService final : public cluster::Service {
 public:
  // The mistakes of a worker and a manager with messages about jobs, and of a replica of the jobs' registers.
  static bool is_worker(const DatacenterStage& stage) {
    return stage.is("forgets-denials") || stage.is("owner-does-not-wait") || stage.is("follower-starts-unconfirmed");
  }
  static bool is_manager(const DatacenterStage& stage) { return stage.is("counts-twice"); }
  static bool is_replica(const DatacenterStage& stage) {
    return stage.is("offers-unkept") || stage.is("gives-up-unkept");
  }
  // Takes the place of `real` at the router, for messages of this type. All outlive it.
  CarelessService(runtime::Runtime& runtime, cluster::MessageRouter& router, uint16_t type, cluster::Service& real,
                  const DatacenterStage& stage);
  ~CarelessService() override;
  CarelessService(const CarelessService&) = delete;
  CarelessService& operator=(const CarelessService&) = delete;

  void on_request(link::Connection& connection, const wire::Inbound& request) override;
  void on_message(link::Connection& connection, const wire::Inbound& message) override;
  void on_closed(link::Connection& connection) override { real_.on_closed(connection); }

 private:
  struct Noticed {
    uint64_t most = 0;  // assignments offered, or given up
    Instant keeps_again;
  };
  bool count_twice(dispatch::WindowMessage& message) const;
  bool keeps(const std::string& job, std::string_view value);

  runtime::Runtime& runtime_;
  cluster::MessageRouter& router_;
  uint16_t type_;
  cluster::Service& real_;
  const DatacenterStage& stage_;
  std::map<std::string, Noticed> noticed_;  // by job
};

CarelessService::CarelessService(runtime::Runtime& runtime, cluster::MessageRouter& router, uint16_t type,
                                 cluster::Service& real, const DatacenterStage& stage)
    : runtime_(runtime), router_(router), type_(type), real_(real), stage_(stage) {
  router_.disconnect(type_);
  router_.connect(type_, *this);
}

CarelessService::~CarelessService() { router_.disconnect(type_); }

void CarelessService::on_request(link::Connection& connection, const wire::Inbound& request) {
  auto message = dispatch::decode_message(as_text(request.body));
  if (!message) return real_.on_request(connection, request);
  if (stage_.is("forgets-denials") && std::holds_alternative<dispatch::DenyMessage>(*message)) {
    const std::string denied = dispatch::encode(dispatch::Response(dispatch::Denied{}));
    connection.respond(request.id, wire::ReplyStatus::kOk, as_bytes(denied), true);
    return;
  }
  bool changed = false;
  if (auto* const offer = std::get_if<dispatch::Offer>(&*message); offer && stage_.is("owner-does-not-wait")) {
    // The managers of this world count with permits that are shorter.
    offer->order.permit = dispatch::JobRules().permit;
    changed = true;
  }
  auto* const taking = std::get_if<dispatch::TakeOverMessage>(&*message);
  if (taking != nullptr && stage_.is("follower-starts-unconfirmed")) {
    taking->waits = false;
    changed = true;
  }
  if (auto* const window = std::get_if<dispatch::WindowMessage>(&*message); window && stage_.is("counts-twice"))
    changed = count_twice(*window);
  if (!changed) return real_.on_request(connection, request);
  const std::string body = dispatch::encode(*message);
  real_.on_request(connection, with_body(request, body));
}

bool CarelessService::count_twice(dispatch::WindowMessage& message) const {
  const auto job =
      std::find_if(stage_.jobs.begin(), stage_.jobs.end(), [&](const auto& one) { return one->id == message.job; });
  if (job == stage_.jobs.end() || message.last % kCountTwiceEvery != 0) return false;
  auto window = ingest::decode_window(message.window, (*job)->shape);
  const auto again = ingest::decode_window(message.window, (*job)->shape);
  if (!window || !again) return false;
  window->merge(*again);
  message.window = ingest::encode_window(*window);
  return true;
}

// For some time, a replica that does not keep a write answers as if it did: it confirms the claim of the writer.
void CarelessService::on_message(link::Connection& connection, const wire::Inbound& inbound) {
  auto message = message::decode<registers::Message>(as_text(inbound.body));
  auto* const ask = message ? std::get_if<registers::Ask>(&message->body) : nullptr;
  const auto* const write = ask == nullptr ? nullptr : std::get_if<registers::Accept>(&ask->body);
  if (write == nullptr || !is_replica(stage_) || keeps(ask->key, write->value))
    return real_.on_message(connection, inbound);
  ask->body = registers::Confirm{};
  const std::string body = message::encode(*message);
  real_.on_message(connection, with_body(inbound, body));
}

bool CarelessService::keeps(const std::string& job, std::string_view value) {
  const auto content = registers::parse_content(value);
  const auto record = content && content->value ? dispatch::read_record(*content->value) : dispatch::JobRecord();
  if (!record || dispatch::is_final(record->state)) return true;
  const auto given_up = std::count_if(record->assignments.begin(), record->assignments.end(), [](const auto& one) {
    return one.streams && one.state == dispatch::AssignmentState::kGone;
  });
  const uint64_t many = stage_.is("offers-unkept") ? record->last_assignment : static_cast<uint64_t>(given_up);
  Noticed& noticed = noticed_[job];
  if (many > noticed.most) noticed = {many, runtime_.now() + kKeepsLate};
  return runtime_.now() >= noticed.keeps_again;
}

// --- the place of a node ---------------------------------------------------------------------------------------------

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
