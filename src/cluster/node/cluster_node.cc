#include "cluster/node/cluster_node.h"

#include <utility>

#include "cluster/health/signals.h"
#include "cluster/node/node_admin.h"
#include "cluster/node/node_roles.h"

namespace bellwether::node {
namespace {

using runtime::task;

constexpr Duration kMaxLeave = Duration::seconds(10);
constexpr Duration kMaxClose = Duration::millis(500);

}  // namespace

ClusterNode::ClusterNode(runtime::Runtime& runtime, const NodeOptions& options, NodeSupplies supplies,
                         std::vector<std::shared_ptr<NodeRole>> roles, Journal& journal)
    : runtime_(runtime),
      options_(options),
      config_(options.config),
      supplies_(std::move(supplies)),
      log_(runtime, journal, options.config.name),
      meter_(runtime, supplies_.usage.get(), callback_to<&ClusterNode::on_loop_lag>(*this),
             callback_to<&ClusterNode::on_resource_usage>(*this)),
      port_(std::make_unique<NodePort>(runtime, config_, supplies_, log_)),
      members_(std::make_unique<NodeMembers>(runtime, config_, supplies_, *port_, log_, *this)),
      roles_(std::make_unique<NodeRoles>(std::move(roles))) {
  election_ = std::make_unique<NodeElection>(runtime, options_, supplies_, *port_, *members_, *roles_, log_, *this);
  admin_ = std::make_unique<NodeAdmin>(runtime, config_, *port_, *members_, *election_, *roles_, log_, *this);
}

ClusterNode::~ClusterNode() = default;

// --- its life --------------------------------------------------------------------------------------------------------

void ClusterNode::go(const std::string& cause) {
  if (leaving_.is_set()) return;
  leave_cause_ = cause;
  leaving_.set();
  if (joining_ != nullptr) joining_->cancel();
}

void ClusterNode::end_at_once(int exit_code) {
  exit_code_ = exit_code;
  on_left();
  election_->give_up_waiting();
  if (winding_up_ != nullptr) winding_up_->cancel();
}

void ClusterNode::fail_to_start(const std::string& why) {
  log_.error(why);
  exit_code_ = kExitNotStarted;
}

task<int> ClusterNode::run() {
  if (const Status open = co_await port_->open(); !open) {
    fail_to_start(open.error().message);
    co_return exit_code_;
  }
  runtime::Scope outer;
  outer.spawn(port_->serve(outer.cancellation()));
  if (supplies_.serve_tls == nullptr) {
    log_.note(true, "without certificates (tls.certificate), any holder of the secret can claim any role");
  }
  log_.say("started", fmt::format("node '{}' ({}) is joining cluster '{}'", config_.name, to_string(config_.role),
                                  config_.cluster));
  runtime::Cancellation joining;
  if (leaving_.is_set()) joining.cancel();
  joining_ = &joining;
  const auto way = co_await members_->find_cluster(options_.found, &joining);
  joining_ = nullptr;
  if (way) {
    co_await take_part(*way, outer);
  } else if (!leaving_.is_set()) {
    log_.error(way.error().message);
    exit_code_ = kExitNotJoined;
  }
  outer.cancel();
  co_await port_->links().close(kMaxClose);
  co_await outer.join();
  log_.say("ended", fmt::format("node '{}' has ended", config_.name));
  co_return exit_code_;
}

task<void> ClusterNode::take_part(cluster::Joining::Way way, runtime::Scope& outer) {
  co_await members_->make(way);
  election_->make();
  if (const Status open = co_await admin_->open(outer); !open) {
    fail_to_start(open.error().message);
    co_return;
  }
  const NodeTools tools{runtime_, options_, supplies_, *port_, *members_, *election_, log_};
  if (const Status ready = co_await roles_->prepare(tools); !ready) {
    fail_to_start(ready.error().message);
    co_return;
  }
  co_await serve(std::move(way));
}

task<void> ClusterNode::serve(cluster::Joining::Way way) {
  runtime::Scope scope;
  scope_ = &scope;
  scope.spawn(members_->run(std::move(way), scope.cancellation()));
  scope.spawn(meter_.run(scope.cancellation()));
  if (supplies_.resources != nullptr) scope.spawn(supplies_.resources->run(scope.cancellation()));
  scope.spawn(election_->run(scope.cancellation()));
  roles_->start();
  co_await leaving_.wait();
  co_await depart();
  co_await roles_->stop();
  scope.cancel();
  co_await scope.join();
  scope_ = nullptr;
}

// In good order: it gives the leadership up, informs the group, and then ends the connections.
task<void> ClusterNode::depart() {
  log_.say("leaving", "leaves: " + leave_cause_);
  {
    runtime::Cancellation winding_up(scope_->cancellation());
    winding_up_ = &winding_up;
    co_await roles_->wind_up(runtime_.read_clock() + config_.hand_over + kMaxLeave, &winding_up);
    winding_up_ = nullptr;
  }
  co_await election_->resign(leave_cause_, kMaxLeave / 2);
  if (!gone_) members_->leave();
  const auto gone = [this] { return gone_; };
  co_await gone_changed_.wait(runtime_, gone, runtime_.read_clock() + kMaxLeave / 2);
}

bool ClusterNode::drain(const std::string& cause) {
  if (scope_ == nullptr || !roles_->drains()) return false;
  if (!std::exchange(draining_, true)) {
    leave_cause_ = cause;
    scope_->spawn(drain_and_leave(this));
  }
  return true;
}

task<void> ClusterNode::drain_and_leave(ClusterNode* self) {
  const bool drained = co_await self->roles_->drain(self->scope_->cancellation());
  if (drained) self->go(self->leave_cause_);
}

// --- what its parts say ----------------------------------------------------------------------------------------------

void ClusterNode::on_member(const membership::MemberEvent& event) {
  using membership::MemberChange;
  election_->on_member(event);
  if (event.change == MemberChange::kDied || event.change == MemberChange::kLeft) {
    const std::string why = fmt::format("it {} ({})", to_string(event.change), describe(event.cause));
    if (event.change == MemberChange::kLeft) on_process_ended(event.name, why);
    roles_->each([&](NodeRole& role) { role.on_gone(event.name, why); });
  }
  if (event.change == MemberChange::kJoined || event.change == MemberChange::kRestarted) {
    roles_->each([&](NodeRole& role) { role.on_there(event.name); });
  }
}

void ClusterNode::on_process_ended(const std::string& name, const std::string& why) {
  roles_->each([&](NodeRole& role) { role.on_ended(name, why); });
}

void ClusterNode::on_peer_state(const std::string& name, const PeerState& state) {
  election_->on_peer_state(name, state);
}

void ClusterNode::on_left() {
  gone_ = true;
  gone_changed_.changed();
}

void ClusterNode::on_name_taken(const runtime::Endpoint& holder) {
  log_.error(fmt::format("the name '{}' belongs to the process at {}: give this node another name, or end that process",
                         config_.name, holder.to_string()));
  exit_code_ = kExitNotJoined;
  on_left();
  leave_cause_ = "the name is taken";
  leaving_.set();
}

void ClusterNode::on_degraded() {
  tell_health();
  tell_state();
}

void ClusterNode::on_loop_lag(double ratio) {
  members_->on_loop_lag(ratio);
  port_->on_loop_lag(ratio);
}

void ClusterNode::on_resource_usage(const cluster::ResourceUsage& signs) {
  roles_->each([&](NodeRole& role) { role.on_resource_usage(signs, members_->kernel().health_score()); });
  usage_ = signs;
  admin_->on_resource_usage(signs);
  port_->on_resource_usage(signs);
  tell_state();
}

// --- what follows from it --------------------------------------------------------------------------------------------

// Why this node should not lead, independent of the current leader; empty: it may.
std::string ClusterNode::unfit() const {
  if (!members_->joined()) return "it has not joined its cluster yet";
  if (leaving_.is_set()) return "it is leaving";
  if (membership::conduct(members_->kernel().degradation()).refuse_new_work) return "it is overloaded";
  return {};
}

std::string ClusterNode::not_ready() const {
  if (std::string why = unfit(); !why.empty()) return why;
  if (std::string why = election_->obstacle(); !why.empty()) return why;
  if (std::string why = roles_->obstacle(); !why.empty()) return why;
  if (election_->leader().empty()) return "no leader is known";
  return {};
}

void ClusterNode::tell_health() {
  const membership::Membership& kernel = members_->kernel();
  election_->set_health(health_of(kernel.degradation(), kernel.health_score(), unfit().empty()));
}

// What others learn of this node with every acknowledgement.
void ClusterNode::tell_state() {
  PeerState state;
  state.leads = election_->leads();
  state.term = state.leads ? election_->term().epoch.value() : election_->leader_term();
  state.leader = election_->leader();
  state.ready = not_ready().empty();
  const cluster::Leadership* leadership = election_->leadership();
  state.electable = leadership != nullptr && leadership->electable();
  state.health_score = members_->kernel().health_score();
  state.degradation = static_cast<uint32_t>(members_->kernel().degradation());
  state.cpu_percent = static_cast<uint32_t>(usage_.cpu_ratio * 100);
  state.memory_percent = static_cast<uint32_t>(usage_.memory_ratio() * 100);
  state.stuck = roles_->progress() == to_string(health::Progress::kStuck);
  members_->say(state);
}

}  // namespace bellwether::node
