#include "sim/datacenter/member_process.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/probe.h"
#include "sim/datacenter/sim_manager.h"
#include "sim/datacenter/sim_worker.h"

namespace bellwether::sim {

using runtime::task;

namespace {

constexpr Duration kWindUpMost = Duration::seconds(10);
constexpr Duration kLeaveMost = Duration::seconds(5);
constexpr Duration kLook = Duration::millis(5);

}  // namespace

wire::Keyring keyring_of_datacenter() {
  auto secret = wire::Secret::take("what all simulated nodes know, 7Q");
  check(secret.has_value(), "the secret is a good one");
  return wire::Keyring(std::move(*secret));
}

task<void> run_manager_process(runtime::Runtime& runtime, void* context) {
  MemberProcess process(runtime, *static_cast<DatacenterPlace*>(context), wire::Role::kManager, &make_manager);
  co_await process.run();
}

task<void> run_worker_process(runtime::Runtime& runtime, void* context) {
  MemberProcess process(runtime, *static_cast<DatacenterPlace*>(context), wire::Role::kWorker, &make_worker);
  co_await process.run();
}

MemberProcess::MemberProcess(runtime::Runtime& runtime, DatacenterPlace& place, wire::Role kind, MakeRole make_role)
    : runtime_(runtime),
      place_(place),
      kind_(kind),
      make_role_(make_role),
      keyring_(keyring_of_datacenter()),
      front_desk_(runtime, *this) {
  place_.process = this;
  ++place_.starts;
}

MemberProcess::~MemberProcess() { place_.process = nullptr; }

// --- its life --------------------------------------------------------------------------------------------------------

task<void> MemberProcess::run() {
  say("starts");
  open_port();
  const auto way = co_await find_cluster(scope_.cancellation());
  make_membership();
  role_ = make_role_({runtime_, place_, *links_, switchboard_, *this, *this, membership_->kernel()});
  scope_.spawn(membership_->run(other_seeds(), !way.through, scope_.cancellation()));
  scope_.spawn(role_->work(scope_.cancellation()));
  co_await over_.wait();
  scope_.cancel();
  co_await links_->close(Duration::millis(500));
  co_await scope_.join();
}

void MemberProcess::open_port() {
  dialling_.handshake.self.identity = {kDatacenterCluster, "sim", kDatacenterName, place_.name, kind_};
  dialling_.handshake.self.software = "bellwether sim";
  dialling_.handshake.has_gates = false;
  link::DatagramSettings datagrams;
  datagrams.self = dialling_.handshake.self.identity;
  auto bound = link::Datagrams::bind(runtime_, place_.at, std::move(datagrams), keyring_, refusals_);
  check(bound.has_value(), "the ports of a new process are free");
  datagrams_ = std::move(*bound);
  dialling_.handshake.self.session = datagrams_->session();
  link::ServerSettings serving;
  serving.handshake = dialling_.handshake;
  auto server = link::Server::listen(runtime_, place_.at, std::move(serving), keyring_, switchboard_, refusals_);
  check(server.has_value(), "the ports of a new process are free");
  server_ = std::move(*server);
  switchboard_.report_to(this);
  switchboard_.guard(&front_desk_);
  links_ = std::make_unique<cluster::PeerLinks>(runtime_, dialling_, keyring_, switchboard_, refusals_, *this);
  scope_.spawn(server_->serve(scope_.cancellation()));
}

task<cluster::Joining::Way> MemberProcess::find_cluster(runtime::Cancellation* cancel) {
  discovery::BootstrapSettings settings;
  settings.seeds = place_.stage->seeds;
  settings.self.push_back({place_.at.address.to_string(), place_.at.port});
  const bool first = place_.founds && !place_.votes->has(kVotes);
  settings.founding = first ? discovery::Founding::kAtOnce : discovery::Founding::kWhenAlone;
  cluster::Joining joining(runtime_, dialling_, keyring_, refusals_, discovery_);
  const auto way = co_await joining.find(std::move(settings), {}, cancel);
  check(way.has_value(), "a node without a limit looks for its cluster for ever");
  co_return *way;
}

std::vector<runtime::Endpoint> MemberProcess::other_seeds() const {
  std::vector<runtime::Endpoint> seeds;
  for (const HostPort& seed : place_.stage->seeds) {
    const auto address = runtime::IpAddress::parse(seed.host);
    check(address.has_value(), "seeds are addresses");
    if (*address != place_.at.address) seeds.push_back({*address, seed.port});
  }
  return seeds;
}

void MemberProcess::make_membership() {
  membership::MembershipConfig config;
  config.name = place_.name;
  config.figures = membership::lan();
  config.life = static_cast<uint32_t>(runtime_.wall_now().unix_ns / 1'000'000'000);
  config.profile.endpoint = cluster::from_runtime(place_.at);
  config.profile.role = static_cast<uint8_t>(kind_);
  membership_ = std::make_unique<cluster::MembershipDriver>(runtime_, *datagrams_, *links_, switchboard_,
                                                            std::move(config), runtime_.prng().next(), *this);
}

void MemberProcess::ask_to_leave() {
  if (role_ != nullptr && !std::exchange(leaving_, true)) scope_.spawn(depart(this));
}

task<void> MemberProcess::depart(MemberProcess* self) {
  self->say("leaves");
  runtime::Runtime& runtime = self->runtime_;
  co_await self->role_->wind_up(runtime.read_clock() + kWindUpMost, self->scope_.cancellation());
  self->membership_->tell(membership::Leave{});
  const Instant last = runtime.read_clock() + kLeaveMost;
  while (!self->left_ && runtime.read_clock() < last) co_await runtime.sleep(kLook);
  self->over_.set();
}

// --- what membership and links say -----------------------------------------------------------------------------------

void MemberProcess::on_member(const membership::MemberEvent& event) {
  using membership::MemberChange;
  say("sees '" + event.name + "' " + to_string(event.change) + " (" + to_string(event.cause) + ")");
  const bool gone = event.change == MemberChange::kDied || event.change == MemberChange::kLeft;
  if (gone || event.change == MemberChange::kSuspected) role_->on_suspected(event.name);
  if (gone) role_->on_gone(event.name, std::string("it has ") + to_string(event.change));
  if (event.change == MemberChange::kJoined) role_->on_there(event.name);
}

void MemberProcess::on_name_taken(const runtime::Endpoint& holder) {
  BW_PROBE("datacenter: a name is taken");
  say("ends: its name belongs to the process at " + holder.to_string());
  over_.set();
}

void MemberProcess::on_refused(const cluster::PeerAddress& peer) {
  if (membership_ == nullptr || peer.name.empty()) return;
  membership_->tell(membership::ProofOfDeath{peer.name, cluster::from_runtime(peer.endpoint)});
}

// --- what it knows of its cluster ------------------------------------------------------------------------------------

std::vector<cluster::PeerAddress> MemberProcess::managers() const {
  std::vector<cluster::PeerAddress> out;
  const membership::MemberTable& table = membership_->kernel().table();
  for (membership::NodeIndex i = 0; i < table.slots(); ++i) {
    if (!table.has(i) || table.at(i).state == membership::MemberState::kDead ||
        table.at(i).state == membership::MemberState::kLeft) {
      continue;
    }
    if (static_cast<wire::Role>(table.profile(i).role) != wire::Role::kManager) continue;
    out.push_back({table.name(i), cluster::to_runtime(table.profile(i).endpoint)});
  }
  return out;
}

std::vector<std::string> MemberProcess::manager_names() const {
  std::vector<std::string> out;
  for (const cluster::PeerAddress& one : managers()) out.push_back(one.name);
  std::sort(out.begin(), out.end());
  return out;
}

bool MemberProcess::is_gone(const std::string& name) const {
  const auto state = membership_->state_of(name);
  return state == membership::MemberState::kDead || state == membership::MemberState::kLeft;
}

std::vector<node::Surroundings::Neighbour> MemberProcess::neighbours() const {
  std::vector<Neighbour> out;
  const membership::MemberTable& table = membership_->kernel().table();
  for (membership::NodeIndex i = 0; i < table.slots(); ++i) {
    if (!table.has(i)) continue;
    const auto role = static_cast<wire::Role>(table.profile(i).role);
    out.push_back({table.name(i), kDatacenterName, role == wire::Role::kManager, !is_gone(table.name(i))});
  }
  return out;
}

bool MemberProcess::is_suspect(const std::string& name) const {
  return membership_->state_of(name) == membership::MemberState::kSuspect;
}

std::size_t MemberProcess::alive() const {
  if (membership_ == nullptr) return 0;
  const membership::MemberTable& table = membership_->kernel().table();
  std::size_t count = 0;
  for (membership::NodeIndex i = 0; i < table.slots(); ++i) {
    if (table.has(i) && table.at(i).state == membership::MemberState::kAlive) ++count;
  }
  return count;
}

}  // namespace bellwether::sim
