#include <algorithm>

#include "base/printable.h"
#include "node/cluster/node_figures.h"
#include "node/cluster/node_impl.h"

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
  const auto voter = [&](const std::string& name) {
    VoterView one{.name = name, .leads = name == leader_, .self = name == config_.name};
    one.alive = one.self || membership_->state_of(name) == membership::MemberState::kAlive;
    return one;
  };
  if (election_ == nullptr) {
    for (const std::string& name : config_.voters) view.voters.push_back(voter(name));
    view.term = leader_term_;
  } else {
    const quorum::QuorumElector& kernel = election_->kernel();
    const quorum::Configuration& members = kernel.members();
    for (const quorum::MemberId id : members.voters) {
      VoterView one = voter(election_->name_of(id));
      one.leaving = members.joint() && std::find(members.next.begin(), members.next.end(), id) == members.next.end();
      view.voters.push_back(std::move(one));
    }
    for (const quorum::MemberId id : members.next) {
      if (std::find(members.voters.begin(), members.voters.end(), id) != members.voters.end()) continue;
      VoterView one = voter(election_->name_of(id));
      one.joining = true;
      view.voters.push_back(std::move(one));
    }
    view.role = to_string(kernel.role());
    view.term = kernel.term().value();
    view.active = kernel.active();
    view.follows_only = kernel.follows_only();
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
  const bool leads = election_ != nullptr && election_->kernel().role() == quorum::Role::kLeader;
  view.changing = (leads && !election_->kernel().members_settled()) ||
                  std::any_of(view.voters.begin(), view.voters.end(),
                              [](const VoterView& one) { return one.joining || one.leaving; });
  return view;
}

std::string ClusterNode::not_ready() const {
  if (!joined_) return "it has not joined its cluster yet";
  if (leaving_.is_set()) return "it is leaving";
  if (membership::conduct(membership_->kernel().degradation()).refuse_new_work) return "it is overloaded";
  if (election_ != nullptr && election_->kernel().follows_only())
    return "its record of votes is lost: it does not vote";
  if (leader_.empty()) return "nobody is known to lead";
  return {};
}

Result<std::string> ClusterNode::leave(const std::string& who) {
  leave_cause_ = "operator '" + who + "' said so";
  leaving_.set();
  return "'" + config_.name + "' leaves the cluster and ends";
}

Result<std::string> ClusterNode::transfer(const std::string& to) {
  if (election_ == nullptr || !election_->kernel().leads(runtime_.boot_now())) {
    return fail(Errc::kRefused, "'" + config_.name + "' does not lead" +
                                    (leader_.empty() ? ", and nobody is known to" : ": ask '" + leader_ + "'"));
  }
  quorum::StepDown wish{.cause = "an operator moves the leadership", .heir = quorum::kNobody};
  if (!to.empty()) {
    const QuorumView view = quorum();
    const bool known =
        std::any_of(view.voters.begin(), view.voters.end(), [&](const VoterView& one) { return one.name == to; });
    if (!known) return fail(Errc::kInvalid, "'" + to + "' is no voter of this cluster");
    if (to == config_.name) return fail(Errc::kInvalid, "'" + to + "' leads already");
    wish.heir = cluster::member_id(to);
  }
  election_->tell(wish);
  return "'" + config_.name + "' hands over to " + (to.empty() ? "the fittest voter" : "'" + to + "'");
}

Result<std::string> ClusterNode::change_voters(bool add, const std::string& name) {
  if (election_ == nullptr || !election_->kernel().leads(runtime_.boot_now())) {
    return fail(Errc::kRefused, "only the leader changes the voters" +
                                    (leader_.empty() ? ", and nobody is known to lead" : ": ask '" + leader_ + "'"));
  }
  if (!wire::is_name(name)) return fail(Errc::kInvalid, "'" + printable(name) + "' is no name of a node");
  const auto kind = add ? quorum::MemberChange::Kind::kAdd : quorum::MemberChange::Kind::kRemove;
  election_->learn(name);
  change_refused_.clear();
  election_->tell(quorum::ChangeMembers{{kind, cluster::member_id(name)}});
  if (!change_refused_.empty()) return fail(Errc::kRefused, "the voters stay as they are: " + change_refused_);
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
                      .member_changes = member_changes_};
  sources.leads = term_.valid_for(const_cast<runtime::EpollRuntime&>(runtime_).boot_now()) > Duration::zero();
  sources.term = leader_term_;
  sources.leader_changes = changes_;
  sources.health_score = health_score();
  sources.degradation = static_cast<int>(membership_->kernel().degradation());
  sources.ready = not_ready().empty();
  for (const link::Connection* one : parts_->server->connections()) sources.connections.push_back(&one->agreement());
  for (const link::Connection* one : links_->connections()) sources.connections.push_back(&one->agreement());
  sources.role = std::string(to_string(config_.role));
  sources.datacenter = config_.datacenter;
  return figures_of(sources);
}

}  // namespace bellwether::node
