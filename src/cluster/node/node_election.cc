#include "cluster/node/node_election.h"

#include <algorithm>
#include <utility>

#include "cluster/net/election_driver.h"
#include "cluster/node/dialling.h"

namespace bellwether::node {
namespace {

using namespace std::string_literals;
using runtime::task;

constexpr Duration kMaxHandOver = Duration::seconds(2);

}  // namespace

NodeElection::NodeElection(runtime::Runtime& runtime, const NodeOptions& options, NodeSupplies& supplies,
                           NodePort& port, NodeMembers& members, NodeRoles& roles, NodeLog& log, ClusterNode& node)
    : runtime_(runtime),
      options_(options),
      config_(options.config),
      supplies_(supplies),
      port_(port),
      members_(members),
      roles_(roles),
      log_(log),
      node_(node) {}

// --- what decides ----------------------------------------------------------------------------------------------------

void NodeElection::make() {
  const uint64_t seed = runtime_.prng().next();
  if (supplies_.store != nullptr) {
    leadership_ = in_store(seed);
  } else if (config_.votes()) {
    leadership_ = config_.votes_by_score() ? by_score(seed) : by_quorum(seed);
  }
}

std::unique_ptr<cluster::Leadership> NodeElection::in_store(uint64_t seed) {
  StoreElectionSettings settings;
  settings.key = leadership_key(config_);
  settings.self = config_.name;
  settings.decided_by = kind_of_decision(config_.leadership);
  settings.priority = config_.priority;
  settings.timing = election::LeaseTiming::of(config_.store_lease);
  return std::make_unique<StoreElection>(runtime_, *supplies_.store, *supplies_.store_key, supplies_.kv.get(),
                                         callback_to<&NodeMembers::rivals>(members_), std::move(settings), seed, *this);
}

std::unique_ptr<cluster::Leadership> NodeElection::by_score(uint64_t seed) {
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
  settings.fitness = callback_to<&NodeRoles::context_fitness>(roles_);
  settings.vetting = std::move(supplies_.vetting);
  settings.key_holding = std::move(supplies_.key_holding);
  if (roles_.take_admin_key()) {
    settings.key_receiver = callback_to<&NodeRoles::on_admin_key>(roles_);
  }
  if (settings.rule != vote::QuorumRule::kMajority) {
    log_.note(true, fmt::format("'vote.quorum' is {}: in a network partition, each side may elect an admin. Use "
                                "majority with three nodes or more",
                                to_string(settings.rule)));
  }
  return std::make_unique<cluster::VoteDriver>(runtime_, *supplies_.kv, port_.links(), port_.router(),
                                               callback_to<&NodeMembers::find>(members_), *supplies_.vote_seal,
                                               *supplies_.resources, std::move(settings), seed, *this);
}

std::unique_ptr<cluster::Leadership> NodeElection::by_quorum(uint64_t seed) {
  cluster::ElectionSettings settings;
  settings.key = config_.cluster;
  settings.self = config_.name;
  settings.voters = config_.voters;
  settings.timing = timing_named(config_.profile);
  settings.priority = config_.priority;
  settings.first_start = options_.first_start;
  return std::make_unique<cluster::ElectionDriver>(runtime_, *supplies_.kv, port_.links(), port_.router(),
                                                   callback_to<&NodeMembers::find>(members_), std::move(settings), seed,
                                                   *this);
}

// --- its life --------------------------------------------------------------------------------------------------------

task<void> NodeElection::run(runtime::Cancellation* cancel) {
  if (leadership_ != nullptr) co_await leadership_->run(cancel);
}

task<void> NodeElection::resign(std::string cause, Duration at_most) {
  if (leadership_ == nullptr) co_return;
  const bool led = leadership_->leads(runtime_.boot_now());
  leadership_->leave(cause);
  // It ends in time by itself, or is made to.
  co_await roles_.work_ended();
  const Instant deadline = runtime_.read_clock() + at_most;
  const auto over = [this] { return end_at_once_ || term_.end == nullptr; };
  co_await changed_.wait(runtime_, over, deadline);
  // The successor still needs this voter; a store must still learn that the key is free.
  const Instant known = std::min(deadline, runtime_.read_clock() + kMaxHandOver);
  const auto done = [this, led] {
    if (end_at_once_) return true;
    return leadership_->votes() ? !led || !(leader_.empty() || leader_ == config_.name) : retired_;
  };
  co_await changed_.wait(runtime_, done, known);
}

// --- what membership says --------------------------------------------------------------------------------------------

void NodeElection::on_member(const membership::MemberEvent& event) {
  using membership::MemberChange;
  const membership::MemberTable& table = members_.kernel().table();
  const auto at = table.find(membership::node_id(event.name));
  if (at && leadership_ != nullptr && static_cast<wire::Role>(table.profile(*at).role) != wire::Role::kWorker) {
    leadership_->learn(event.name);
  }
  if (event.name != leader_) return;
  const bool gone = event.change == MemberChange::kDied || event.change == MemberChange::kLeft;
  if (leadership_ != nullptr && (gone || event.change == MemberChange::kSuspected)) leadership_->suspect(event.name);
  if (leadership_ == nullptr && gone) {
    leader_.clear();
    leader_evidence_ = fmt::format("the leader '{}' has {}", event.name, to_string(event.change));
  }
}

// A node that takes part hears of the leader from the election itself. The others believe the leader's statements about
// itself, and any node's statement about a later term: so all know of a new leader after a few rounds of probes, and
// not only when each has probed the leader. About a known term only the leader can say that it no longer leads, or
// leads again.
void NodeElection::on_peer_state(const std::string& name, const PeerState& state) {
  if (leadership_ != nullptr || state.term < leader_term_) return;
  if (state.leads) {
    if (leader_ != name || leader_term_ != state.term) {
      on_leader_changed(name, election::Term(state.term), "it reports so itself");
    }
  } else if (leader_ == name) {
    on_leader_changed({}, election::Term(leader_term_), "it reports that it no longer leads");
  } else if (state.term > leader_term_ && !state.leader.empty() && state.leader != name) {
    on_leader_changed(state.leader, election::Term(state.term), fmt::format("'{}' reports it", name));
  }
}

// --- what the election says ------------------------------------------------------------------------------------------

void NodeElection::on_elected(const election::TermOfOffice& term) {
  term_ = term;
  if (!roles_.tell_of_terms()) {
    log_.say("elected", fmt::format("this node leads, term {}", term.epoch.value()),
             {{"term", static_cast<int64_t>(term.epoch.value())}});
  }
  node_.on_state_changed();
  roles_.each([&](NodeRole& role) { role.on_elected(term); });
}

void NodeElection::on_renewed(Instant ends, Duration took) {
  roles_.each([&](NodeRole& role) { role.on_renewed(ends, took); });
}

void NodeElection::on_drain(const std::string& cause) {
  if (!roles_.tell_of_terms()) log_.note(false, "hands over the leadership: " + cause);
  roles_.each([&](NodeRole& role) { role.on_drain(cause); });
  // Beside that of such a role, all work of a leader asks for its term before it acts.
  if (!roles_.work_while_leading()) leadership_->work_stopped();
}

void NodeElection::on_term_ended(const election::TermEnded& ended) {
  term_ = {};
  if (!roles_.tell_of_terms()) {
    const bool resigned = ended.reason == election::EndReason::kResigned;
    log_.say(resigned ? "resigned" : "deposed", "no longer leads ("s + to_string(ended.reason) + "): " + ended.why,
             {{"term", static_cast<int64_t>(ended.epoch.value())}, {"reason", std::string(to_string(ended.reason))}});
  }
  node_.on_state_changed();
  changed_.changed();
  roles_.each([&](NodeRole& role) { role.on_term_ended(ended); });
  if (ended.work_runs && !roles_.work_while_leading()) leadership_->work_stopped();
}

void NodeElection::on_leader_changed(const std::string& leader, election::Term term, const std::string& evidence) {
  ++changes_;
  leader_ = leader;
  leader_term_ = term.value();
  leader_since_ = runtime_.now();
  leader_evidence_ = evidence;
  changed_.changed();
  node_.on_state_changed();
  // The current leader is all the state of a group that a node must learn before it may lead itself.
  if (leadership_ != nullptr && !leader.empty()) leadership_->synced();
  if (!roles_.tell_of_terms()) {
    log_.say("leader",
             leader.empty() ? "no node leads: " + evidence
                            : fmt::format("'{}' leads, term {}: {}", leader, term.value(), evidence),
             {{"leader", leader}, {"term", static_cast<int64_t>(term.value())}});
  }
  roles_.each([&](NodeRole& role) { role.on_leader_changed(leader, term, evidence); });
}

void NodeElection::on_election_complete(const std::string& winner, election::Term term, const std::string& why) {
  log_.say("election_complete",
           fmt::format("the election of term {} has ended, and {} has won: {}", term.value(),
                       winner.empty() ? "nobody" : fmt::format("'{}'", winner), why),
           {{"winner", winner}, {"term", static_cast<int64_t>(term.value())}});
}

void NodeElection::on_voters_changed(const std::vector<std::string>& voters) {
  std::string names;
  for (const std::string& one : voters) names += (names.empty() ? "" : ", ") + (one.empty() ? "an unknown node" : one);
  log_.say("voters", "the voters are " + names, {{"voters", names}});
}

void NodeElection::on_retired() {
  retired_ = true;
  changed_.changed();
}

// --- for people ------------------------------------------------------------------------------------------------------

LeaderView NodeElection::view() const {
  LeaderView view{leader_, leader_term_, runtime_.now() - leader_since_, std::nullopt, leader_evidence_};
  if (term_.end != nullptr) view.valid_for = term_.valid_for(runtime_.boot_now());
  return view;
}

Result<std::string> NodeElection::transfer(const std::string& to) {
  if (leadership_ == nullptr || !leadership_->leads(runtime_.boot_now())) {
    return fail(Errc::kRefused, "'{}' does not lead{}", config_.name,
                leader_.empty() ? ", and no leader is known" : fmt::format(": send the request to '{}'", leader_));
  }
  BW_RETURN_IF_ERROR(leadership_->hand_over("an operator transfers the leadership", to));
  return fmt::format("'{}' hands over to {}", config_.name, to.empty() ? "the fittest node" : fmt::format("'{}'", to));
}

Result<std::string> NodeElection::call_election(bool forced) {
  if (leadership_ == nullptr) return fail(Errc::kRefused, "this node does not vote: send the request to a voter");
  BW_RETURN_IF_ERROR(leadership_->call_election(forced));
  return "an election has started; `bellwether cluster votes` shows its result";
}

Result<std::string> NodeElection::change_voters(bool add, const std::string& name) {
  if (leadership_ == nullptr || (leadership_->votes() && !leadership_->leads(runtime_.boot_now()))) {
    return fail(Errc::kRefused, "only the leader can change the voters" +
                                    (leader_.empty() ? ", and no leader is known"
                                                     : fmt::format(": send the request to '{}'", leader_)));
  }
  BW_RETURN_IF_ERROR(leadership_->change_voters(add, name));
  return "the change has started; `bellwether cluster quorum` shows when it has ended";
}

}  // namespace bellwether::node
