#include <algorithm>
#include <utility>

#include "node/cluster/node_figures.h"
#include "node/cluster/node_impl.h"
#include "node/cluster/vote_figures.h"

namespace bellwether::node {

// --- the desk --------------------------------------------------------------------------------------------------------

std::vector<MemberView> ClusterNode::members() const {
  std::vector<MemberView> out;
  const membership::MemberTable& table = membership_->kernel().table();
  for (membership::NodeIndex i = 0; i < table.slots(); ++i) {
    if (!table.has(i)) continue;
    const membership::Profile& profile = table.profile(i);
    MemberView view;
    view.name = table.name(i);
    view.state = to_string(table.at(i).state);
    view.role = to_string(static_cast<wire::Role>(profile.role));
    view.address = cluster::to_runtime(profile.endpoint).to_string();
    view.incarnation = table.at(i).incarnation;
    const auto meta = read_meta(profile.meta);
    view.datacenter = meta.datacenter;
    view.software = meta.software;
    const auto since = since_.find(view.name);
    if (since != since_.end()) view.since = runtime_.now() - since->second;
    view.leads = view.name == leader_;
    view.self = view.name == config_.name;
    out.push_back(std::move(view));
  }
  std::sort(out.begin(), out.end(), [](const MemberView& a, const MemberView& b) { return a.name < b.name; });
  return out;
}

LeaderView ClusterNode::leader() const {
  LeaderView view{leader_, leader_term_, runtime_.now() - leader_since_, std::nullopt, leader_evidence_};
  if (term_.end != nullptr) view.valid_for = term_.valid_for(const_cast<runtime::EpollRuntime&>(runtime_).boot_now());
  return view;
}

QuorumView ClusterNode::quorum() const {
  QuorumView view;
  if (role_ != nullptr) {
    view.state = role_->state();
    view.submissions = role_->refuses_jobs();
  }
  const auto add = [&](const cluster::Leadership::Voter& voter) {
    VoterView one{.name = voter.name, .leads = voter.name == leader_, .self = voter.name == config_.name};
    one.alive = one.self || membership_->state_of(voter.name) == membership::MemberState::kAlive;
    one.joining = voter.joining;
    one.leaving = voter.leaving;
    view.voters.push_back(std::move(one));
  };
  if (election_ == nullptr) {
    for (const std::string& name : config_.voters) add({.name = name});
    view.term = leader_term_;
    view.decided_by = config_.leadership;
  } else {
    const cluster::Leadership::View seen = election_->view();
    for (const cluster::Leadership::Voter& one : seen.voters) add(one);
    view.role = seen.role;
    view.term = seen.term;
    view.active = seen.active;
    view.follows_only = seen.follows_only;
    view.changing = seen.changing;
    view.decided_by = seen.decided_by;
    view.stands_back = seen.stands_back;
    view.obstacle = election_->obstacle();
  }
  if (config_.delegates()) {
    view.has_quorum = view.obstacle.empty();
    return view;
  }
  const auto majority = [&](bool VoterView::*other_side) {
    std::size_t all = 0;
    std::size_t alive = 0;
    for (const VoterView& one : view.voters) {
      if (one.*other_side) continue;
      ++all;
      alive += one.alive ? 1 : 0;
    }
    return alive >= quorum::majority_of(all);
  };
  view.needed = quorum::majority_of(view.voters.size());
  view.alive = static_cast<std::size_t>(
      std::count_if(view.voters.begin(), view.voters.end(), [](const VoterView& one) { return one.alive; }));
  view.has_quorum = majority(&VoterView::joining) && majority(&VoterView::leaving);
  if (job_keeper_ != nullptr) {
    view.jobs = job_keeper_->jobs();
    view.jobs_unable = job_keeper_->unable();
  }
  return view;
}

// Other gates and managers that are alive, as they describe themselves.
std::vector<Rival> ClusterNode::rivals() const {
  std::vector<Rival> out;
  const membership::MemberTable& table = membership_->kernel().table();
  for (membership::NodeIndex i = 0; i < table.slots(); ++i) {
    if (!table.has(i) || table.at(i).state != membership::MemberState::kAlive) continue;
    const membership::Profile& profile = table.profile(i);
    const auto role = static_cast<wire::Role>(profile.role);
    if (table.name(i) == config_.name || (role != wire::Role::kGate && role != wire::Role::kManager)) continue;
    const PeerMeta meta = read_meta(profile.meta);
    Rival one{.name = table.name(i), .decided_by = meta.decided_by};
    one.priority = meta.priority.value_or(0);
    if (const auto state = states_.find(one.name); state != states_.end()) {
      one.electable = state->second.electable;
      one.health_score = state->second.health_score;
    }
    out.push_back(std::move(one));
  }
  return out;
}

bool ClusterNode::leads() const {
  return term_.valid_for(const_cast<runtime::EpollRuntime&>(runtime_).boot_now()) > Duration::zero();
}

std::vector<cluster::PeerAddress> ClusterNode::managers() const {
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

std::vector<std::string> ClusterNode::manager_names() const {
  std::vector<std::string> out;
  for (const cluster::PeerAddress& one : managers()) out.push_back(one.name);
  std::sort(out.begin(), out.end());
  return out;
}

bool ClusterNode::is_gone(const std::string& name) const {
  const auto state = membership_->state_of(name);
  return state == membership::MemberState::kDead || state == membership::MemberState::kLeft;
}

std::vector<Surroundings::Neighbour> ClusterNode::neighbours() const {
  std::vector<Neighbour> out;
  const membership::MemberTable& table = membership_->kernel().table();
  for (membership::NodeIndex i = 0; i < table.slots(); ++i) {
    if (!table.has(i)) continue;
    const auto role = static_cast<wire::Role>(table.profile(i).role);
    if (role != wire::Role::kManager && role != wire::Role::kWorker) continue;
    const auto said = states_.find(table.name(i));
    const bool stuck = table.name(i) == config_.name ? progress() == to_string(health::Progress::kStuck)
                                                     : said != states_.end() && said->second.stuck;
    out.push_back({table.name(i), read_meta(table.profile(i).meta).datacenter, role == wire::Role::kManager,
                   !is_gone(table.name(i)), stuck});
  }
  return out;
}

bool ClusterNode::is_suspect(const std::string& name) const {
  return membership_->state_of(name) == membership::MemberState::kSuspect;
}

// Why this node should not lead, whoever leads now; empty: it may.
std::string ClusterNode::unfit() const {
  if (!joined_) return "it has not joined its cluster yet";
  if (leaving_.is_set()) return "it is leaving";
  if (membership::conduct(membership_->kernel().degradation()).refuse_new_work) return "it is overloaded";
  return {};
}

std::string ClusterNode::not_ready() const {
  if (std::string why = unfit(); !why.empty()) return why;
  if (election_ != nullptr) {
    if (std::string why = election_->obstacle(); !why.empty()) return why;
  }
  if (role_ != nullptr) {
    if (std::string why = role_->obstacle(); !why.empty()) return why;
  }
  if (leader_.empty()) return "nobody is known to lead";
  return {};
}

Result<std::string> ClusterNode::leave(const std::string& who) {
  leave_cause_ = "operator '" + who + "' said so";
  leaving_.set();
  return "'" + config_.name + "' leaves the cluster and ends";
}

Result<std::string> ClusterNode::drain(const std::string& who) {
  if (config_.role != wire::Role::kWorker || role_ == nullptr || scope_ == nullptr) {
    return fail(Errc::kRefused, "'" + config_.name + "' is no worker: there is nothing to drain");
  }
  if (!std::exchange(draining_, true)) {
    leave_cause_ = "operator '" + who + "' drains it";
    scope_->spawn(drain_and_leave(this));
  }
  return "'" + config_.name + "' takes nothing new, and leaves when what it runs has ended";
}

Result<std::string> ClusterNode::transfer(const std::string& to) {
  if (election_ == nullptr || !election_->leads(runtime_.boot_now())) {
    return fail(Errc::kRefused, "'" + config_.name + "' does not lead" +
                                    (leader_.empty() ? ", and nobody is known to" : ": ask '" + leader_ + "'"));
  }
  if (const Status begun = election_->hand_over("an operator moves the leadership", to); !begun) {
    return tl::unexpected(begun.error());
  }
  return "'" + config_.name + "' hands over to " + (to.empty() ? "the fittest" : "'" + to + "'");
}

Result<cluster::VoteView> ClusterNode::last_vote() const {
  const auto vote = election_ == nullptr ? std::nullopt : election_->last_vote();
  if (!vote) return fail(Errc::kUnsupported, "nobody votes by scores here: that is 'leadership: vote'");
  return *vote;
}

Result<std::string> ClusterNode::call_election(bool forced) {
  if (election_ == nullptr) return fail(Errc::kRefused, "this node does not vote: ask one that does");
  if (const Status begun = election_->call_election(forced); !begun) return tl::unexpected(begun.error());
  return "an election begins; `bellwether cluster votes` shows how it ends";
}

Result<std::string> ClusterNode::change_voters(bool add, const std::string& name) {
  if (election_ == nullptr || (election_->votes() && !election_->leads(runtime_.boot_now()))) {
    return fail(Errc::kRefused, "only the leader changes the voters" +
                                    (leader_.empty() ? ", and nobody is known to lead" : ": ask '" + leader_ + "'"));
  }
  if (const Status begun = election_->change_voters(add, name); !begun) return tl::unexpected(begun.error());
  return "the change has begun; `bellwether cluster quorum` shows when it is done";
}

Result<std::string> ClusterNode::learn_secret(std::string text) {
  auto secret = wire::Secret::take(std::move(text));
  if (!secret) return tl::unexpected(secret.error());
  const auto id = parts_->keyring.learn(std::move(*secret));
  if (!id) return tl::unexpected(id.error());
  return "knows " + wire::key_name(*id);
}

Result<std::string> ClusterNode::use_secret(uint32_t id) {
  if (auto done = parts_->keyring.use(id); !done) return tl::unexpected(done.error());
  return "uses " + wire::key_name(id);
}

Result<std::string> ClusterNode::forget_secret(uint32_t id) {
  if (!parts_->keyring.knows(id)) return "does not know " + wire::key_name(id);
  if (auto done = parts_->keyring.forget(id); !done) return tl::unexpected(done.error());
  links_->renew(id);
  for (link::Connection* connection : parts_->server->connections()) {
    if (connection->agreement().key == id) connection->say_goodbye();
  }
  return "has forgotten " + wire::key_name(id);
}

std::vector<Figure> ClusterNode::figures() const {
  NodeFigures sources{.members = membership_->kernel().table(),
                      .refusals = parts_->refusals.counts(),
                      .datagrams = parts_->datagrams->counts(),
                      .discovery = discovery_,
                      .vital = vital_,
                      .front_desk = front_desk_,
                      .member_changes = member_changes_};
  sources.leads = term_.valid_for(const_cast<runtime::EpollRuntime&>(runtime_).boot_now()) > Duration::zero();
  sources.term = leader_term_;
  sources.leader_changes = changes_;
  sources.health_score = health_score();
  sources.degradation = static_cast<int>(membership_->kernel().degradation());
  sources.ready = not_ready().empty();
  for (const link::Connection* one : parts_->server->connections()) sources.connections.push_back(&one->agreement());
  for (const link::Connection* one : links_->connections()) sources.connections.push_back(&one->agreement());
  sources.breakers = links_->breakers();
  sources.role = std::string(to_string(config_.role));
  sources.datacenter = config_.datacenter;
  std::vector<Figure> all = figures_of(sources);
  if (const auto vote = election_ == nullptr ? std::nullopt : election_->last_vote()) {
    std::ranges::copy(figures_of_vote(*vote), std::back_inserter(all));
    all.push_back({"bellwether_vote_unheard",
                   "gauge",
                   "Voters that this node does not hear.",
                   {},
                   static_cast<double>(vote->unheard.size())});
    all.push_back({"bellwether_vote_in_minority",
                   "gauge",
                   "1 while this node hears no majority of the voters.",
                   {},
                   vote->in_minority ? 1.0 : 0.0});
  }
  if (role_ != nullptr) std::ranges::copy(role_->figures(), std::back_inserter(all));
  if (context_ != nullptr) std::ranges::copy(context_figures(), std::back_inserter(all));
  return all;
}

}  // namespace bellwether::node
