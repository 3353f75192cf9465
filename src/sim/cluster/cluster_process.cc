#include "sim/cluster/cluster_process.h"

#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/probe.h"

namespace bellwether::sim {
namespace {

using runtime::task;

constexpr const char* kIncarnation = "membership/incarnation";
constexpr const char* kRecord = "election/record";
constexpr Duration kLeaveMost = Duration::seconds(10);
constexpr Duration kLook = Duration::millis(5);

wire::Keyring keyring_of_cluster() {
  auto secret = wire::Secret::take("what all simulated nodes know, 7Q");
  check(secret.has_value(), "the secret is a good one");
  return wire::Keyring(std::move(*secret));
}

}  // namespace

task<void> run_cluster_process(runtime::Runtime& runtime, void* context) {
  ClusterProcess process(runtime, *static_cast<ClusterPlace*>(context));
  co_await process.run();
}

ClusterProcess::ClusterProcess(runtime::Runtime& runtime, ClusterPlace& place)
    : runtime_(runtime),
      place_(place),
      careless_(place.mistake == ClusterMistake::kActsOnAfterTerm),
      kv_(runtime, *place.stored, place.mistake == ClusterMistake::kConfirmsBeforeDurable),
      keyring_(keyring_of_cluster()) {
  place_.process = this;
  ++place_.starts;
}

ClusterProcess::~ClusterProcess() { place_.process = nullptr; }

task<void> ClusterProcess::run() {
  say("starts");
  dialling_.handshake.self.identity = {"flock", "sim", "dc1", place_.name, wire::Role::kManager};
  dialling_.handshake.self.software = "bellwether sim";
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
  links_ = std::make_unique<cluster::PeerLinks>(runtime_, dialling_, keyring_, switchboard_, refusals_, *this);
  scope_.spawn(server_->serve(scope_.cancellation()));

  const auto way = co_await find_cluster(scope_.cancellation());
  check(way.has_value(), "a node without a limit looks for its cluster for ever");
  co_await make_drivers();
  std::vector<runtime::Endpoint> seeds;
  for (const HostPort& seed : place_.seeds) {
    const auto address = runtime::IpAddress::parse(seed.host);
    check(address.has_value(), "seeds are addresses");
    if (seed.port != place_.at.port || *address != place_.at.address) seeds.push_back({*address, seed.port});
  }
  scope_.spawn(membership_->run(std::move(seeds), !way->through, scope_.cancellation()));
  scope_.spawn(election_->run(scope_.cancellation()));
  co_await over_.wait();
  scope_.cancel();
  co_await links_->close(Duration::millis(500));
  co_await scope_.join();
}

task<Result<cluster::Joining::Way>> ClusterProcess::find_cluster(runtime::Cancellation* cancel) {
  discovery::BootstrapSettings settings;
  settings.seeds = place_.seeds;
  settings.self.push_back({place_.at.address.to_string(), place_.at.port});
  const bool first = place_.founds && !place_.stored->has(kRecord) && !place_.lost;
  settings.founding = first ? discovery::Founding::kAtOnce : discovery::Founding::kWhenAlone;
  cluster::Joining joining(runtime_, dialling_, keyring_, refusals_, discovery_);
  auto way = co_await joining.find(std::move(settings), {}, cancel);
  co_return way;
}

task<void> ClusterProcess::make_drivers() {
  membership::MembershipConfig config;
  config.name = place_.name;
  config.figures = membership::lan();
  config.life = static_cast<uint32_t>(runtime_.wall_now().unix_ns / 1'000'000'000);
  config.profile.endpoint = cluster::from_runtime(place_.at);
  config.profile.role = static_cast<uint8_t>(wire::Role::kManager);
  const auto stored = co_await kv_.get(kIncarnation);
  if (stored && *stored) config.incarnation = static_cast<uint32_t>(parse_u64(**stored).value_or(0));
  membership_ = std::make_unique<cluster::MembershipDriver>(runtime_, *datagrams_, *links_, switchboard_,
                                                            std::move(config), runtime_.prng().next(), *this);
  cluster::ElectionSettings settings;
  settings.key = "flock";
  settings.self = place_.name;
  settings.voters = place_.voters;
  settings.timing = quorum::QuorumTiming::lan();
  // A person says it again as long as nothing has ever been written, and so nothing said.
  settings.first_start = !place_.stored->has(kRecord) && !place_.lost;
  election_ = std::make_unique<cluster::ElectionDriver>(runtime_, kv_, *links_, switchboard_, *this,
                                                        std::move(settings), runtime_.prng().next(), *this);
}

std::string ClusterProcess::leader() const {
  return election_ == nullptr ? std::string() : election_->name_of(election_->kernel().leader());
}

std::size_t ClusterProcess::alive() const {
  if (membership_ == nullptr) return 0;
  std::size_t count = 0;
  for (const std::string& name : place_.voters) {
    const auto state = membership_->state_of(name);
    if (name == place_.name || state == membership::MemberState::kAlive) ++count;
  }
  return count;
}

void ClusterProcess::ask_to_step_down(const std::string& heir) {
  if (election_ == nullptr) return;
  election_->tell(quorum::StepDown{"asked to", heir.empty() ? quorum::kNobody : cluster::member_id(heir), false, true});
}

void ClusterProcess::ask_to_leave() {
  if (election_ != nullptr && !std::exchange(leaving_, true)) scope_.spawn(depart(this));
}

task<void> ClusterProcess::depart(ClusterProcess* self) {
  self->say("leaves");
  runtime::Runtime& runtime = self->runtime_;
  const Instant first = runtime.read_clock() + kLeaveMost / 2;
  if (self->leads(runtime.boot_now())) {
    self->election_->tell(quorum::StepDown{"leaves", quorum::kNobody, true, true});
    while (self->working_ && runtime.read_clock() < first) co_await runtime.sleep(kLook);
    while ((self->leader().empty() || self->leader() == self->place_.name) && runtime.read_clock() < first) {
      co_await runtime.sleep(kLook);
    }
  }
  self->membership_->tell(membership::Leave{});
  const Instant last = runtime.read_clock() + kLeaveMost / 2;
  while (!self->left_ && runtime.read_clock() < last) co_await runtime.sleep(kLook);
  self->over_.set();
}

// --- what membership says --------------------------------------------------------------------------------------------

void ClusterProcess::on_member(const membership::MemberEvent& event) {
  using membership::MemberChange;
  say("sees '" + event.name + "' " + to_string(event.change) + " (" + to_string(event.cause) + ")");
  const bool gone = event.change == MemberChange::kDied || event.change == MemberChange::kLeft;
  if (election_ == nullptr || event.name != leader() || !(gone || event.change == MemberChange::kSuspected)) return;
  election_->tell(quorum::LeaderSuspected{cluster::member_id(event.name)});
  if (place_.mistake == ClusterMistake::kDeathIsProof) {
    election_->tell(quorum::LeaderDead{cluster::member_id(event.name), election_->kernel().promised_life()});
  }
}

void ClusterProcess::on_name_taken(const runtime::Endpoint& holder) {
  BW_PROBE("cluster world: a name is taken");
  say("ends: its name belongs to the process at " + holder.to_string());
  over_.set();
}

void ClusterProcess::on_joined(std::size_t members) { say("has joined, " + std::to_string(members) + " members"); }

void ClusterProcess::on_incarnation(uint32_t incarnation) { scope_.spawn(remember(this, std::to_string(incarnation))); }

task<void> ClusterProcess::remember(ClusterProcess* self, std::string incarnation) {
  std::vector<cluster::KvChange> changes;
  changes.push_back({kIncarnation, std::move(incarnation)});
  const Status done = co_await self->kv_.put(std::move(changes));
  static_cast<void>(done);  // worth keeping, and not needed
}

// --- what the election says, and the work it guards ------------------------------------------------------------------

Instant ClusterProcess::stop_by() const { return ended_by_ ? *ended_by_ : election_->kernel().stopped_by(); }

void ClusterProcess::on_elected(const election::TermOfOffice& term) {
  working_ = true;
  ended_by_.reset();
  ++work_;
  place_.watcher->elected(place_, term.epoch.value());
}

void ClusterProcess::on_drain(const std::string& cause) {
  say("drains: " + cause);
  scope_.spawn(stop_work(this, work_, runtime_.prng().between(Duration::zero(), Duration::millis(500))));
}

void ClusterProcess::on_term_ended(const election::TermEnded& ended) {
  say(std::string("term ends: ") + to_string(ended.reason) + ": " + ended.why);
  if (!ended.work_runs) return;
  ended_by_ = ended.stop_by;
  const Duration left = std::max(ended.stop_by - runtime_.boot_now(), Duration::zero());
  scope_.spawn(stop_work(this, work_, runtime_.prng().between(Duration::zero(), left)));
}

task<void> ClusterProcess::stop_work(ClusterProcess* self, uint64_t work, Duration after) {
  const Duration late = self->careless_ ? Duration::seconds(2) : Duration::zero();
  const bool due = co_await self->runtime_.sleep(after + late, self->scope_.cancellation());
  if (!due || !self->working_ || self->work_ != work) co_return;
  self->working_ = false;
  self->election_->work_stopped();
}

void ClusterProcess::on_leader_changed(const std::string& leader, election::Term term, const std::string& evidence) {
  say("sees leader '" + leader + "' in term " + std::to_string(term.value()) + ": " + evidence);
  if (!leader.empty()) election_->synced();
}

void ClusterProcess::on_note(bool warning, const std::string& text) { say((warning ? "warns: " : "notes: ") + text); }

// --- what links say --------------------------------------------------------------------------------------------------

void ClusterProcess::on_refused(const cluster::PeerAddress& peer) {
  if (membership_ == nullptr || peer.name.empty()) return;
  BW_PROBE("cluster world: a process is proven to have ended");
  membership_->tell(membership::ProofOfDeath{peer.name, cluster::from_runtime(peer.endpoint)});
}

void ClusterProcess::on_trouble(const cluster::PeerAddress& peer, const Error& why) {
  say("has trouble with '" + peer.name + "': " + why.message);
}

}  // namespace bellwether::sim
