#include "node/cluster/cluster_node.h"

#include <algorithm>
#include <csignal>
#include <sys/resource.h>

#include "base/bytes.h"
#include "cluster/message_types.h"
#include "cluster/vote/vote_driver.h"
#include "node/cluster/manager_role.h"
#include "node/cluster/node_impl.h"
#include "node/cluster/own_address.h"
#include "node/cluster/quiet_protobuf.h"
#include "node/cluster/worker_role.h"

namespace bellwether::node {
namespace {

constexpr const char* kPeers = "discovery/peers";
constexpr Duration kLeaveMost = Duration::seconds(10);
constexpr Duration kHandOverMost = Duration::seconds(2);
constexpr Duration kRememberEvery = Duration::seconds(30);

}  // namespace

using runtime::task;

// --- its life --------------------------------------------------------------------------------------------------------

task<Status> ClusterNode::prepare() {
  if (work_ == nullptr) {
    auto signals = runtime::Signals::collect(runtime_, {SIGINT, SIGTERM, SIGHUP});
    if (!signals) co_return tl::unexpected(signals.error());
    signals_ = std::move(*signals);
  }
  auto parts = co_await make_parts(runtime_, config_, *this);
  if (!parts) co_return tl::unexpected(parts.error());
  parts_ = std::move(*parts);
  parts_->switchboard.report_to(this);
  parts_->switchboard.guard(&front_desk_);
  links_ = std::make_unique<cluster::PeerLinks>(runtime_, parts_->dialling, parts_->keyring, parts_->switchboard,
                                                parts_->refusals, *this);
  if (parts_->kv != nullptr) {
    const auto stored = co_await parts_->kv->get(kPeers);
    if (stored && *stored) {
      auto peers = discovery::PeerCache::decode(**stored);
      if (peers) peers_ = std::move(*peers);
    }
  }
  co_return Status();
}

task<Result<cluster::Joining::Way>> ClusterNode::find_cluster(runtime::Cancellation* cancel) {
  discovery::BootstrapSettings settings;
  settings.seeds = config_.seeds;
  for (const std::string& name : config_.dns_names) settings.names.push_back({name, cluster::kDefaultPort});
  settings.self.push_back({parts_->local.address.to_string(), parts_->local.port});
  if (!config_.advertise.host.empty()) settings.self.push_back(config_.advertise);
  for (const HostPort& seed : config_.seeds) {
    const auto address = runtime::IpAddress::parse(seed.host);
    if (!address || seed.port != parts_->local.port) continue;
    const auto own = own_address_towards({*address, seed.port});
    if (own == *address) settings.self.push_back(seed);
  }
  settings.give_up_after = config_.join_limit;
  settings.founding = options_.found ? discovery::Founding::kAtOnce : discovery::Founding::kWhenAlone;
  const WallTime now = runtime_.wall_now();
  discovery::event::Start start{peers_.healthy(now), peers_.stale(now)};
  cluster::Joining joining(runtime_, parts_->dialling, parts_->keyring, parts_->refusals, discovery_);
  auto way = co_await joining.find(std::move(settings), std::move(start), cancel);
  co_return way;
}

task<void> ClusterNode::make_membership(const cluster::Joining::Way& way) {
  membership::MembershipConfig config;
  config.name = config_.name;
  config.figures = membership::figures_named(config_.profile).value_or(membership::lan());
  config.life = static_cast<uint32_t>(runtime_.wall_now().unix_ns / 1'000'000'000);
  runtime::Endpoint own = parts_->local;
  if (!config_.advertise.host.empty()) {
    const auto addresses = co_await runtime_.resolve(config_.advertise.host, nullptr);
    if (addresses) own = {addresses->front(), config_.advertise.port};
  } else if (own.address == runtime::IpAddress::any() || own.address == runtime::IpAddress::v6({})) {
    const runtime::Endpoint there = way.through.value_or(runtime::Endpoint{runtime::IpAddress::loopback(), 1});
    own.address = own_address_towards(there).value_or(runtime::IpAddress::loopback());
  }
  config.profile.endpoint = cluster::from_runtime(own);
  config.profile.role = static_cast<uint8_t>(config_.role);
  PeerMeta meta{config_.datacenter, config_.region, software_name(), {}, {}};
  if (config_.role != wire::Role::kWorker) {
    meta.priority = config_.priority;
    meta.decided_by = kind_of_decision(config_.leadership);
  }
  config.profile.meta = write_meta(meta);
  if (parts_->kv != nullptr) {
    const auto stored = co_await parts_->kv->get(kIncarnation);
    if (stored && *stored) config.incarnation = static_cast<uint32_t>(parse_u64(**stored).value_or(0));
  }
  membership_ = std::make_unique<cluster::MembershipDriver>(runtime_, *parts_->datagrams, *links_, parts_->switchboard,
                                                            std::move(config), runtime_.prng().next(), *this);
  say("listening", "listens on " + parts_->local.to_string() + ", reached at " + own.to_string(),
      {{"address", own.to_string()}});
}

void ClusterNode::make_election() {
  const uint64_t seed = runtime_.prng().next();
  if (parts_->store != nullptr) {
    StoreElectionSettings settings;
    settings.key = leadership_key(config_);
    settings.self = config_.name;
    settings.decided_by = kind_of_decision(config_.leadership);
    settings.priority = config_.priority;
    settings.timing = election::LeaseTiming::of(config_.store_lease);
    election_ = std::make_unique<StoreElection>(runtime_, *parts_->store, *parts_->store_key, parts_->kv.get(), *this,
                                                std::move(settings), seed, *this);
  } else if (config_.votes() && config_.votes_by_score()) {
    cluster::VoteSettings settings;
    settings.key = config_.cluster;
    settings.self = config_.name;
    settings.members = config_.voters;
    settings.rule = config_.vote.rule;
    settings.timing = config_.vote.timing;
    settings.weights = config_.vote.weights;
    settings.capabilities = config_.vote.capabilities;
    settings.first_start = options_.first_start;
    settings.reputation_weight = config_.vote.reputation_weight;
    settings.fitness = this;
    settings.vetting = std::move(parts_->vetting);
    settings.key_holding = std::move(parts_->key_holding);
    if (!config_.vote.key_command.empty()) {
      key_command_ =
          std::make_unique<KeyCommand>(runtime_, config_.vote.key_command, config_.vote.timing.stop_grace, *this);
      settings.key_receiver = this;
    }
    if (settings.rule != vote::QuorumRule::kMajority) {
      on_note(true, "'vote.quorum' is " + std::string(to_string(settings.rule)) +
                        ": when the network parts, each side may have an admin. Use majority with three nodes or more");
    }
    resources_ = std::make_unique<cluster::ResourceMeter>(runtime_, config_.data);
    election_ =
        std::make_unique<cluster::VoteDriver>(runtime_, *parts_->kv, *links_, parts_->switchboard, *this,
                                              *parts_->vote_seal, *resources_, std::move(settings), seed, *this);
  } else if (config_.votes()) {
    cluster::ElectionSettings settings;
    settings.key = config_.cluster;
    settings.self = config_.name;
    settings.voters = config_.voters;
    settings.timing = timing_named(config_.profile);
    settings.priority = config_.priority;
    settings.first_start = options_.first_start;
    election_ = std::make_unique<cluster::ElectionDriver>(runtime_, *parts_->kv, *links_, parts_->switchboard, *this,
                                                          std::move(settings), seed, *this);
  }
  if (work_ != nullptr) work_->on_taking_part(election_.get());
}

// Registers and copies of jobs are kept by the same nodes; an etcd has only the registers.
void ClusterNode::make_registers() {
  if (work_ != nullptr || !config_.keeps_jobs() || config_.jobs_in_etcd() || config_.role == wire::Role::kWorker)
    return;
  job_lines_ = std::make_unique<jobs::JobLines>(*links_, parts_->switchboard, *this, config_.name, config_.keepers);
  jobs::KeeperSettings keeping;
  keeping.first_start = options_.first_start;
  job_keeper_ = std::make_unique<jobs::JobKeeper>(runtime_, *parts_->kv, *job_lines_, keeping, *this);
}

task<Status> ClusterNode::make_role() {
  if (work_ != nullptr) co_return Status();
  if (config_.role == wire::Role::kWorker) {
    auto role = WorkerRole::make(runtime_, *links_, parts_->switchboard, *this, config_, *this);
    if (!role) co_return tl::unexpected(role.error());
    role_ = std::move(*role);
  } else if (config_.role == wire::Role::kManager && config_.keeps_jobs()) {
    const ManagerRole::Parts parts{
        runtime_, *links_, parts_->switchboard, *this, job_lines_.get(), job_keeper_.get(), *this, *this, *this};
    auto role = co_await ManagerRole::make(parts, config_, options_.first_start);
    if (!role) co_return tl::unexpected(role.error());
    auto& manager = static_cast<ManagerRole&>(**role);
    role_ = std::move(*role);
    co_return make_context(manager);
  } else if (config_.role == wire::Role::kManager) {
    on_note(true, config_.keepers.empty() ? "without 'keepers' there is nobody to keep jobs: this cluster takes none"
                                          : "this manager is no keeper of jobs: it passes none on, and takes none");
  }
  co_return Status();
}

task<std::vector<runtime::Endpoint>> ClusterNode::resolve_seeds() {
  std::vector<runtime::Endpoint> out;
  for (const HostPort& seed : config_.seeds) {
    const auto addresses = co_await runtime_.resolve(seed.host, nullptr);
    if (addresses) out.push_back({addresses->front(), seed.port});
  }
  co_return out;
}

task<void> ClusterNode::take_part(cluster::Joining::Way way) {
  runtime::Scope scope;
  scope_ = &scope;
  // All seeds, and not only the one that answered first: of nodes that start at the same time each may have joined
  // through one that knew nobody either. Who founds a cluster asks them later, for it may have been cut off.
  std::vector<runtime::Endpoint> seeds = co_await resolve_seeds();
  const bool founds = !way.through;
  if (!founds && std::find(seeds.begin(), seeds.end(), *way.through) == seeds.end()) seeds.push_back(*way.through);
  scope.spawn(membership_->run(std::move(seeds), founds, scope.cancellation()));
  scope.spawn(meter_.run(scope.cancellation()));
  if (parts_->kv != nullptr) scope.spawn(remember_peers(scope.cancellation()));
  if (resources_ != nullptr) scope.spawn(resources_->run(scope.cancellation()));
  runtime::Scope leading;
  if (context_ != nullptr) leading.spawn(context_->run(leading.cancellation()));
  if (election_ != nullptr) scope.spawn(election_->run(scope.cancellation()));
  if (job_keeper_ != nullptr) scope.spawn(job_keeper_->run(scope.cancellation()));
  if (role_ != nullptr) scope.spawn(role_->run(scope.cancellation()));
  co_await leaving_.wait();
  co_await depart();
  // What stands on the role ends before it.
  leading.cancel();
  co_await leading.join();
  scope.cancel();
  co_await scope.join();
  scope_ = nullptr;
}

// In good order: the leadership first, then the group is told, then the connections end.
task<void> ClusterNode::depart() {
  say("leaving", "leaves: " + leave_cause_);
  if (context_ != nullptr) co_await context_->wind_up(runtime_.read_clock() + kLeaveMost / 2);
  if (role_ != nullptr) {
    runtime::Cancellation winding_up(scope_->cancellation());
    winding_up_ = &winding_up;
    co_await role_->wind_up(runtime_.read_clock() + config_.hand_over + kLeaveMost, &winding_up);
    winding_up_ = nullptr;
  }
  if (election_ != nullptr) co_await resign();
  if (!gone_.is_set()) membership_->tell(membership::Leave{});
  const Instant end = runtime_.read_clock() + kLeaveMost / 2;
  while (!gone_.is_set() && runtime_.read_clock() < end) co_await runtime_.sleep(Duration::millis(5));
}

task<void> ClusterNode::drain_and_leave(ClusterNode* self) {
  const bool drained = co_await self->role_->drain(self->scope_->cancellation());
  if (drained) self->leaving_.set();
}

task<void> ClusterNode::resign() {
  const bool led = election_->leads(runtime_.boot_now());
  election_->leave(leave_cause_);
  // It ends in time by itself, or is made to.
  while (work_ != nullptr && work_->runs()) co_await runtime_.sleep(Duration::millis(5));
  const Instant end = runtime_.read_clock() + kLeaveMost / 2;
  while (term_.end != nullptr && runtime_.read_clock() < end) co_await runtime_.sleep(Duration::millis(5));
  // The successor still needs this voter; a store still needs to hear that the key is free.
  const Instant known = std::min(end, runtime_.read_clock() + kHandOverMost);
  const auto done = [&] {
    return election_->votes() ? !led || !(leader_.empty() || leader_ == config_.name) : retired_;
  };
  while (!done() && runtime_.read_clock() < known) co_await runtime_.sleep(Duration::millis(5));
}

task<void> ClusterNode::remember_peers(runtime::Cancellation* cancel) {
  while (true) {
    const Duration most = kRememberEvery;
    const bool due =
        co_await runtime_.sleep(Duration::nanos(runtime_.prng().between(most.ns() / 2, most.ns())), cancel);
    if (!due) co_return;
    for (const MemberView& member : members()) {
      const auto place = parse_host_port(member.address, cluster::kDefaultPort);
      if (place && !member.self && member.state == "alive") peers_.succeeded(runtime_.wall_now(), *place);
    }
    peers_.evict_expired(runtime_.wall_now());
    co_await remember(kPeers, peers_.encode());
  }
}

task<void> ClusterNode::listen_to_signals(runtime::Cancellation* cancel) {
  while (true) {
    const int number = co_await signals_->next(cancel);
    if (number == 0) co_return;
    if (leaving_.is_set()) {
      journal_.warn(runtime_.wall_now(), "a second signal: ends at once");
      gone_.set();
      exit_code_ = 128 + number;
      if (winding_up_ != nullptr) winding_up_->cancel();
      continue;
    }
    go("signal " + std::to_string(number));
  }
}

void ClusterNode::go(const std::string& cause) {
  if (leaving_.is_set()) return;
  leave_cause_ = cause;
  leaving_.set();
  if (joining_ != nullptr) joining_->cancel();
}

task<int> ClusterNode::run() {
  const Status ready = co_await prepare();
  if (!ready) {
    journal_.error(runtime_.wall_now(), ready.error().message);
    co_return kExitNotStarted;
  }
  runtime::Scope outer;
  if (signals_ != nullptr) outer.spawn(listen_to_signals(outer.cancellation()));
  outer.spawn(parts_->server->serve(outer.cancellation()));
  if (!config_.has_tls()) {
    journal_.warn(runtime_.wall_now(),
                  "without certificates (tls.certificate) a role is what any holder of the secret says it is");
  }
  say("started", "node '" + config_.name + "' (" + std::string(to_string(config_.role)) + ") of cluster '" +
                     config_.cluster + "' looks for its cluster");
  runtime::Cancellation joining;
  if (leaving_.is_set()) joining.cancel();
  joining_ = &joining;
  const auto way = co_await find_cluster(&joining);
  joining_ = nullptr;
  if (way) {
    co_await make_membership(*way);
    make_election();
    make_registers();
    outer.spawn(probes_.run(outer.cancellation()));
    admin_ = std::make_unique<AdminService>(*this, config_.name, *this);
    parts_->switchboard.connect(cluster::message_type::kAdmin, *admin_);
    if (config_.http) {
      page_ = std::make_unique<NodePage>(*this, probes_, *this);
      const auto at = co_await web::endpoint_of(runtime_, to_string(*config_.http));
      auto http = at ? web::HttpServer::listen(runtime_, *at, *page_, {}) : tl::unexpected(at.error());
      if (http) {
        http_ = std::move(*http);
        outer.spawn(http_->serve(outer.cancellation()));
        say("http", "health and metrics at http://" + http_->local().to_string() + "/",
            {{"address", http_->local().to_string()}});
      } else {
        journal_.error(runtime_.wall_now(), "http " + to_string(*config_.http) + ": " + http.error().message);
        exit_code_ = kExitNotStarted;
        leaving_.set();
      }
    }
    if (const Status made = co_await make_role(); !made) {
      journal_.error(runtime_.wall_now(), made.error().message);
      exit_code_ = kExitNotStarted;
    }
    if (exit_code_ == 0) co_await take_part(*way);
  } else if (!leaving_.is_set()) {
    journal_.error(runtime_.wall_now(), way.error().message);
    exit_code_ = kExitNotJoined;
  }
  outer.cancel();
  co_await links_->close(Duration::millis(500));
  co_await outer.join();
  context_.reset();
  role_.reset();
  say("ended", "node '" + config_.name + "' has ended");
  co_return exit_code_;
}

int run_node(runtime::EpollRuntime& runtime, const NodeOptions& options) {
  quiet_protobuf();
  // A core dump would hold the cluster's secret and the keys made of it.
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  Journal journal(options.verbosity, options.json, "node");
  if (!journal.open_audit(runtime.wall_now(), options.audit_file)) return kExitNotStarted;
  ClusterNode node(runtime, options, journal);
  return runtime.run(node.run());
}

}  // namespace bellwether::node
