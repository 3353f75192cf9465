#include "cluster/node/node_members.h"

#include <algorithm>
#include <utility>

#include "cluster/node/cluster_node.h"
#include "cluster/node/dialling.h"
#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/probe.h"
#include "core/base/units.h"

namespace bellwether::node {
namespace {

using namespace std::string_literals;
using membership::MemberChange;
using runtime::task;

constexpr const char* kPeers = "discovery/peers";
constexpr const char* kIncarnation = "membership/incarnation";  // of this node
constexpr Duration kRememberEvery = Duration::seconds(30);

}  // namespace

using runtime::task;

NodePort::NodePort(runtime::Runtime& runtime, const cluster::NodeConfig& config, NodeSupplies& supplies, NodeLog& log)
    : runtime_(runtime),
      config_(config),
      supplies_(supplies),
      log_(log),
      refusals_({callback_to<&NodePort::on_refused>(*this), callback_to<&NodePort::on_mismatch>(*this)}),
      router_(cluster::MessageClasses(supplies.messages)),
      admission_(runtime, router_.classes(), callback_to<&NodePort::on_load_changed>(*this)) {
  router_.report_to(callback_to<&NodePort::on_open>(*this));
  router_.guard(callback_to<&cluster::AdmissionControl::turns_away>(admission_));
  router_.report_refusals(&refusals_);
}

// TCP and UDP share one port.
task<Status> NodePort::open() {
  BW_CO_TRY(dialling_, plain_dialling_as(config_, config_.name, config_.role));
  dialling_.tls = supplies_.dial_tls;
  const auto addresses = co_await runtime_.resolve(config_.listen.host, nullptr);
  if (!addresses) {
    co_return fail(addresses.error().code, "listen {}: {}", to_string(config_.listen), addresses.error().message);
  }
  link::DatagramSettings datagrams;
  datagrams.self = dialling_.handshake.self.identity;
  const runtime::Endpoint at{addresses->front(), config_.listen.port};
  auto bound = link::Datagrams::bind(runtime_, at, std::move(datagrams), supplies_.keyring, refusals_);
  if (!bound) co_return fail(bound.error().code, "listen {} (UDP): {}", at.to_string(), bound.error().message);
  datagrams_ = std::move(*bound);
  local_ = datagrams_->local();
  // Each end of a connection learns from the hello whose datagrams to expect.
  dialling_.handshake.self.session = datagrams_->session();
  link::ServerSettings serving;
  serving.tls = supplies_.serve_tls;
  serving.handshake = dialling_.handshake;
  auto server = link::Server::listen(runtime_, local_, std::move(serving), supplies_.keyring, router_, refusals_);
  if (!server) {
    co_return fail(server.error().code, "listen {} (TCP): {}", local_.to_string(), server.error().message);
  }
  server_ = std::move(*server);
  links_ =
      std::make_unique<cluster::PeerLinks>(runtime_, dialling_, supplies_.keyring, router_, refusals_,
                                           cluster::PeerLinks::Listener{callback_to<&NodePort::on_peer_gone>(*this),
                                                                        callback_to<&NodePort::on_trouble>(*this)});
  co_return Status();
}

task<void> NodePort::serve(runtime::Cancellation* cancel) { return server_->serve(cancel); }

void NodePort::on_resource_usage(const cluster::ResourceUsage& signs) {
  admission_.on_resource_usage(signs);
  admission_.on_connections(server_->connections());
}

std::vector<const wire::Agreement*> NodePort::agreements() const {
  std::vector<const wire::Agreement*> out;
  for (const link::Connection* one : server_->connections()) out.push_back(&one->agreement());
  for (const link::Connection* one : links_->connections()) out.push_back(&one->agreement());
  return out;
}

// --- its secrets -----------------------------------------------------------------------------------------------------

Result<std::string> NodePort::learn_secret(std::string text) {
  BW_TRY(auto secret, wire::Secret::take(std::move(text)));
  BW_TRY(const auto id, supplies_.keyring.learn(std::move(secret)));
  return "knows " + wire::key_name(id);
}

Result<std::string> NodePort::use_secret(uint32_t id) {
  BW_RETURN_IF_ERROR(supplies_.keyring.use(id));
  return "uses " + wire::key_name(id);
}

Result<std::string> NodePort::forget_secret(uint32_t id) {
  if (!supplies_.keyring.knows(id)) return "does not know " + wire::key_name(id);
  BW_RETURN_IF_ERROR(supplies_.keyring.forget(id));
  links_->renew(id);
  for (link::Connection* connection : server_->connections()) {
    if (connection->agreement().key == id) connection->say_goodbye();
  }
  return "has forgotten " + wire::key_name(id);
}

// --- what its parts say ----------------------------------------------------------------------------------------------

void NodePort::on_refused(wire::Refusal refusal, const runtime::Endpoint& from, std::string_view detail,
                          uint64_t unheard) {
  const std::string text = fmt::format(
      "refused {} from {}{}{}", to_string(refusal), from.to_string(),
      detail.empty() ? "" : ": " + printable(std::string(detail)),
      unheard == 0 ? "" : fmt::format("; and {} since the last line of this kind", format_count(unheard, "time")));
  // A node that has just started is asked for a proof once: that is normal.
  log_.note(refusal != wire::Refusal::kUnproven, text);
}

void NodePort::on_mismatch(wire::Refusal refusal, const wire::Mismatch& names) {
  discovery::PairCounts* counts = nullptr;
  if (refusal == wire::Refusal::kCluster) counts = &discovery_.cluster_id_rejections;
  if (refusal == wire::Refusal::kEnvironment) counts = &discovery_.environment_id_rejections;
  if (refusal == wire::Refusal::kRole) counts = &discovery_.role_rejections;
  if (counts != nullptr) counts->add(names.expected, names.received);
}

void NodePort::on_peer_gone(const cluster::PeerAddress& peer) {
  if (members_ != nullptr && !peer.name.empty()) members_->on_refused(peer);
}

void NodePort::on_trouble(const cluster::PeerAddress& peer, const Error& why) {
  log_.note(false, fmt::format("no connection to '{}' at {}: {}", printable(peer.name), peer.endpoint.to_string(),
                               why.message));
}

void NodePort::on_load_changed(resilience::LoadState state, std::string_view reason) {
  const std::string name(to_string(state));
  log_.say("load_changed", reason.empty() ? "is " + name : fmt::format("is {}, because of its {}", name, reason),
           {{"state", name}, {"reason", std::string(reason)}});
}

NodeMembers::NodeMembers(runtime::Runtime& runtime, const cluster::NodeConfig& config, NodeSupplies& supplies,
                         NodePort& port, NodeLog& log, ClusterNode& node)
    : runtime_(runtime), config_(config), supplies_(supplies), port_(port), log_(log), node_(node) {}

NodeMembers::~NodeMembers() { port_.report_to(nullptr); }

// --- its life --------------------------------------------------------------------------------------------------------

std::optional<runtime::IpAddress> NodeMembers::own_address(const runtime::Endpoint& there) const {
  return supplies_.own_address == nullptr ? std::nullopt : supplies_.own_address(there);
}

task<Result<cluster::Joining::Way>> NodeMembers::find_cluster(bool founds, runtime::Cancellation* cancel) {
  if (supplies_.kv != nullptr) {
    const auto stored = co_await supplies_.kv->get(kPeers);
    if (stored && *stored) {
      auto peers = discovery::PeerCache::decode(**stored);
      if (peers) peers_ = std::move(*peers);
    }
  }
  const runtime::Endpoint& local = port_.local();
  discovery::BootstrapSettings settings;
  settings.seeds = config_.seeds;
  for (const std::string& name : config_.dns_names) settings.names.push_back({name, cluster::kDefaultPort});
  settings.self.push_back({local.address.to_string(), local.port});
  if (!config_.advertise.host.empty()) settings.self.push_back(config_.advertise);
  for (const HostPort& seed : config_.seeds) {
    const auto address = runtime::IpAddress::parse(seed.host);
    if (!address || seed.port != local.port) continue;
    if (own_address({*address, seed.port}) == *address) settings.self.push_back(seed);
  }
  settings.give_up_after = config_.join_limit;
  settings.founding = founds ? discovery::Founding::kAtOnce : discovery::Founding::kWhenAlone;
  const WallTime now = runtime_.wall_now();
  discovery::event::Start start{peers_.healthy(now), peers_.stale(now)};
  cluster::Joining joining(runtime_, port_.dialling(), port_.keyring(), port_.refusals(), port_.discovery(),
                           callback_to<&NodeMembers::on_nobody_found>(*this));
  auto way = co_await joining.find(std::move(settings), std::move(start), cancel);
  co_return way;
}

task<void> NodeMembers::make(const cluster::Joining::Way& way) {
  membership::MembershipConfig config;
  config.name = config_.name;
  config.figures = membership::figures_named(config_.profile).value_or(membership::lan());
  config.life = static_cast<uint32_t>(runtime_.wall_now().unix_ns / 1'000'000'000);
  runtime::Endpoint own = port_.local();
  if (!config_.advertise.host.empty()) {
    const auto addresses = co_await runtime_.resolve(config_.advertise.host, nullptr);
    if (addresses) own = {addresses->front(), config_.advertise.port};
  } else if (own.address == runtime::IpAddress::any() || own.address == runtime::IpAddress::v6({})) {
    const runtime::Endpoint there = way.through.value_or(runtime::Endpoint{runtime::IpAddress::loopback(), 1});
    own.address = own_address(there).value_or(runtime::IpAddress::loopback());
  }
  config.profile.endpoint = cluster::from_runtime(own);
  config.profile.role = static_cast<uint8_t>(config_.role);
  PeerMeta meta{config_.datacenter, config_.region, software_name(), {}, {}};
  if (config_.role != wire::Role::kWorker) {
    meta.priority = config_.priority;
    meta.decided_by = kind_of_decision(config_.leadership);
  }
  config.profile.meta = write_meta(meta);
  if (supplies_.kv != nullptr) {
    const auto stored = co_await supplies_.kv->get(kIncarnation);
    if (stored && *stored) config.incarnation = static_cast<uint32_t>(parse_u64(**stored).value_or(0));
  }
  driver_ = std::make_unique<cluster::MembershipDriver>(runtime_, port_.datagrams(), port_.links(), port_.router(),
                                                        std::move(config), runtime_.prng().next(),
                                                        callback_to<&NodeMembers::on_news>(*this));
  port_.report_to(this);
  log_.say("listening", fmt::format("listens on {}, reached at {}", port_.local().to_string(), own.to_string()),
           {{"address", own.to_string()}});
}

task<std::vector<runtime::Endpoint>> NodeMembers::resolve_seeds() {
  std::vector<runtime::Endpoint> out;
  for (const HostPort& seed : config_.seeds) {
    const auto addresses = co_await runtime_.resolve(seed.host, nullptr);
    if (addresses) out.push_back({addresses->front(), seed.port});
  }
  co_return out;
}

task<void> NodeMembers::run(cluster::Joining::Way way, runtime::Cancellation* cancel) {
  // All seeds, and not only the one that answered first: of nodes that start at the same time each may have joined
  // through one that knew no other node either. A founder of a cluster asks them later, for it may have been cut off.
  std::vector<runtime::Endpoint> seeds = co_await resolve_seeds();
  const bool founds = !way.through;
  if (!founds && std::find(seeds.begin(), seeds.end(), *way.through) == seeds.end()) seeds.push_back(*way.through);
  runtime::Scope scope(cancel);
  scope_ = &scope;
  scope.spawn(driver_->run(std::move(seeds), founds, scope.cancellation()));
  if (supplies_.kv != nullptr) scope.spawn(remember_peers(scope.cancellation()));
  co_await scope.join();
  scope_ = nullptr;
}

task<void> NodeMembers::remember_peers(runtime::Cancellation* cancel) {
  while (true) {
    const Duration most = kRememberEvery;
    const bool due =
        co_await runtime_.sleep(Duration::nanos(runtime_.prng().between(most.ns() / 2, most.ns())), cancel);
    if (!due) co_return;
    for_each([&](const Member& member) {
      if (member.name == config_.name || member.state != membership::MemberState::kAlive) return;
      const runtime::Endpoint at = cluster::to_runtime(member.profile.endpoint);
      peers_.succeeded(runtime_.wall_now(), {at.address.to_string(), at.port});
    });
    peers_.evict_expired(runtime_.wall_now());
    co_await remember(kPeers, peers_.encode());
  }
}

task<void> NodeMembers::remember(std::string key, std::string value) {
  std::vector<cluster::KvChange> changes;
  changes.push_back({std::move(key), std::move(value)});
  const Status done = co_await supplies_.kv->put(std::move(changes));
  if (!done) log_.note(true, "data: " + done.error().message);
}

// --- what membership says --------------------------------------------------------------------------------------------

void NodeMembers::on_news(const cluster::MembershipNews& news) {
  std::visit([this](const auto& one) { hear(one); }, news);
}

void NodeMembers::hear(const membership::MemberEvent& event) {
  const std::string change = to_string(event.change);
  ++changes_[change];
  if (event.change == MemberChange::kForgotten) {
    since_.erase(event.name);
  } else if (event.change != MemberChange::kUpdated) {
    since_[event.name] = runtime_.now();
  }
  const bool gone = event.change == MemberChange::kDied || event.change == MemberChange::kLeft;
  if (gone || event.change == MemberChange::kForgotten) said_.erase(event.name);
  const runtime::Endpoint at = cluster::to_runtime(event.endpoint);
  const HostPort place{at.address.to_string(), at.port};
  if (gone) {
    peers_.failed(place);
  } else if (event.change == MemberChange::kJoined) {
    peers_.succeeded(runtime_.wall_now(), place);
  }
  compare_decisions(event);
  node_.on_member(event);
  std::string accusers;
  for (const membership::AccuserMark mark : event.accusers) {
    const std::string name = kernel().name_of(mark);
    accusers += (accusers.empty() ? "" : ", ") + (name.empty() ? "an unknown node" : name);
  }
  log_.say("member_" + change,
           fmt::format("'{}' at {} {} ({}{})", event.name, at.to_string(), change, describe(event.cause),
                       accusers.empty() ? "" : ", accused by " + accusers),
           {{"member", event.name},
            {"address", at.to_string()},
            {"incarnation", int64_t{event.incarnation}},
            {"cause", std::string(to_string(event.cause))},
            {"accusers", accusers}});
}

// Two nodes with different sources of leadership could both lead.
void NodeMembers::compare_decisions(const membership::MemberEvent& event) {
  if (config_.role == wire::Role::kWorker) return;
  if (event.change != MemberChange::kJoined && event.change != MemberChange::kUpdated) return;
  const membership::MemberTable& table = kernel().table();
  const auto at = table.find(membership::node_id(event.name));
  if (!at || event.name == config_.name) return;
  const auto role = static_cast<wire::Role>(table.profile(*at).role);
  if (role != wire::Role::kGate && role != wire::Role::kManager) return;
  const std::string decided_by = read_meta(table.profile(*at).meta).decided_by;
  const std::string own = kind_of_decision(config_.leadership);
  if (decided_by.empty() || decided_by == own) return;
  log_.note(true,
            fmt::format("'{}' lets {} elect the leader, but this node {}: 'leadership' must be the same on all nodes",
                        event.name, printable(decided_by), own));
}

void NodeMembers::hear(const membership::StateArrived& arrived) {
  const auto state = read_state(arrived.bytes);
  if (!state) return;
  said_[arrived.name] = *state;
  node_.on_peer_state(arrived.name, *state);
}

void NodeMembers::hear(const membership::Conflict& conflict) {
  log_.note(true, "conflict of "s + to_string(conflict.kind) + ": '" + printable(conflict.name) + "' at " +
                      to_string(conflict.held) + " and " +
                      (conflict.other.empty() ? "" : fmt::format("'{}' ", printable(conflict.other))) + "at " +
                      to_string(conflict.claimed));
}

void NodeMembers::hear(const membership::JoinedGroup& group) {
  joined_ = true;
  since_[config_.name] = runtime_.now();
  log_.say("joined", fmt::format("joined cluster '{}', {}", config_.cluster, format_count(group.members, "member")),
           {{"members", static_cast<int64_t>(group.members)}});
  node_.on_joined();
}

void NodeMembers::hear(const membership::LeftGroup&) { node_.on_left(); }
void NodeMembers::hear(const membership::Refused& refused) { node_.on_name_taken(cluster::to_runtime(refused.holder)); }

void NodeMembers::hear(const membership::IncarnationRaised& raised) {
  if (supplies_.kv != nullptr && scope_ != nullptr)
    scope_->spawn(remember(kIncarnation, std::to_string(raised.incarnation)));
}

void NodeMembers::hear(const membership::DegradationChanged& changed) {
  log_.say("degradation",
           fmt::format("this node is {} (health score {}, event loop late by {})", to_string(changed.level),
                       changed.health_score,
                       format_duration(Duration::from_seconds_f(changed.lag_ratio * cluster::kLoopBeat.seconds_f()))),
           {{"level", std::string(to_string(changed.level))}, {"health_score", int64_t{changed.health_score}}});
  node_.on_degraded();
}

void NodeMembers::hear(const membership::GuardChanged& guard) {
  log_.say("correlation_guard",
           guard.holding ? "more than half of the nodes of one role look dead: evictions are held"
                         : "evictions are permitted again",
           {{"holding", int64_t{guard.holding}}});
}

void NodeMembers::on_refused(const cluster::PeerAddress& peer) {
  BW_PROBE("node: a process is proven to have ended");
  const auto known = find(peer.name);
  if (known && known->endpoint == peer.endpoint) {
    node_.on_process_ended(peer.name, "its process has ended (its machine refuses the connection)");
  }
  driver_->tell(membership::ProofOfDeath{peer.name, cluster::from_runtime(peer.endpoint)});
}

// --- what it knows ---------------------------------------------------------------------------------------------------

bool NodeMembers::is_gone(const std::string& name) const {
  const auto state = state_of(name);
  return state == membership::MemberState::kDead || state == membership::MemberState::kLeft;
}

const PeerState* NodeMembers::said_by(const std::string& name) const {
  const auto said = said_.find(name);
  return said == said_.end() ? nullptr : &said->second;
}

Duration NodeMembers::since(const std::string& name) const {
  const auto since = since_.find(name);
  return since == since_.end() ? Duration() : runtime_.now() - since->second;
}

std::vector<Rival> NodeMembers::rivals() const {
  std::vector<Rival> out;
  for_each([&](const Member& member) {
    if (member.state != membership::MemberState::kAlive || member.name == config_.name) return;
    if (member.role() != wire::Role::kGate && member.role() != wire::Role::kManager) return;
    const PeerMeta meta = read_meta(member.profile.meta);
    Rival one{.name = member.name, .decided_by = meta.decided_by};
    one.priority = meta.priority.value_or(0);
    if (member.said != nullptr) {
      one.electable = member.said->electable;
      one.health_score = member.said->health_score;
    }
    out.push_back(std::move(one));
  });
  return out;
}

}  // namespace bellwether::node
