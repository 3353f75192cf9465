#include <utility>

#include "base/printable.h"
#include "base/units.h"
#include "node/cluster/node_impl.h"

namespace bellwether::node {

using namespace std::string_literals;
using runtime::task;

void ClusterNode::say(std::string_view event, const std::string& text, Journal::Fields more) {
  more.insert(more.begin(), {"node", config_.name});
  journal_.transition(runtime_.wall_now(), event, text, more);
}

// --- what membership says --------------------------------------------------------------------------------------------

void ClusterNode::on_member(const membership::MemberEvent& event) {
  using membership::MemberChange;
  const std::string change = to_string(event.change);
  ++member_changes_[change];
  if (event.change == MemberChange::kForgotten) {
    since_.erase(event.name);
    states_.erase(event.name);
  } else if (event.change != MemberChange::kUpdated) {
    since_[event.name] = runtime_.now();
  }
  const bool gone = event.change == MemberChange::kDied || event.change == MemberChange::kLeft;
  if (gone) states_.erase(event.name);
  const bool is_leader = event.name == leader_;
  if (election_ != nullptr && is_leader && (gone || event.change == MemberChange::kSuspected)) {
    election_->suspect(event.name);
  }
  if (election_ == nullptr && is_leader && gone) {
    leader_.clear();
    leader_evidence_ = "'" + event.name + "', who led, has " + change;
  }
  const runtime::Endpoint at = cluster::to_runtime(event.endpoint);
  const HostPort place{at.address.to_string(), at.port};
  if (gone) {
    peers_.failed(place);
  } else if (event.change == MemberChange::kJoined) {
    peers_.succeeded(runtime_.wall_now(), place);
  }
  compare_decisions(event);
  if (role_ != nullptr && gone) role_->on_gone(event.name, "it has " + change + ": " + to_string(event.cause));
  if (role_ != nullptr && event.change == MemberChange::kJoined) role_->on_there(event.name);
  std::string accusers;
  for (const membership::AccuserMark mark : event.accusers) {
    const std::string name = membership_->kernel().name_of(mark);
    accusers += (accusers.empty() ? "" : ", ") + (name.empty() ? "somebody unknown" : name);
  }
  say("member_" + change,
      "'" + event.name + "' at " + at.to_string() + " " + change + ": " + to_string(event.cause) +
          (accusers.empty() ? "" : ", accused by " + accusers),
      {{"member", event.name},
       {"address", at.to_string()},
       {"incarnation", int64_t{event.incarnation}},
       {"cause", std::string(to_string(event.cause))},
       {"accusers", accusers}});
}

// Two that leave it to different things who leads could both lead.
void ClusterNode::compare_decisions(const membership::MemberEvent& event) {
  using membership::MemberChange;
  if (config_.role == wire::Role::kWorker) return;
  if (event.change != MemberChange::kJoined && event.change != MemberChange::kUpdated) return;
  const std::vector<Rival> others = rivals();
  const std::string own = kind_of_decision(config_.leadership);
  const Rival* other = other_minded(others, own);
  if (other == nullptr || other->name != event.name) return;
  journal_.warn(runtime_.wall_now(), "'" + event.name + "' leaves it to " + printable(other->decided_by) +
                                         " who leads, and this node to " + own +
                                         ": 'leadership' must be the same on all nodes");
}

void ClusterNode::on_state(const membership::StateArrived& arrived) {
  const auto state = read_state(arrived.bytes);
  if (!state) return;
  states_[arrived.name] = *state;
  // Who takes part hears of the leader from the election itself.
  if (election_ != nullptr || state->term < leader_term_) return;
  if (!state->leads) {
    if (leader_ == arrived.name) on_leader_changed({}, election::Term(leader_term_), "it leads no more, as it says");
    return;
  }
  if (leader_ != arrived.name || leader_term_ != state->term) {
    on_leader_changed(arrived.name, election::Term(state->term), "it says so itself");
  }
}

void ClusterNode::on_conflict(const membership::Conflict& conflict) {
  journal_.warn(runtime_.wall_now(), "conflict of "s + to_string(conflict.kind) + ": '" + printable(conflict.name) +
                                         "' at " + to_string(conflict.held) + " and " +
                                         (conflict.other.empty() ? "" : "'" + printable(conflict.other) + "' ") +
                                         "at " + to_string(conflict.claimed));
}

void ClusterNode::on_name_taken(const runtime::Endpoint& holder) {
  journal_.error(runtime_.wall_now(), "the name '" + config_.name + "' belongs to the process at " +
                                          holder.to_string() + ": give this node another name, or end that one");
  exit_code_ = kExitNotJoined;
  leave_cause_ = "the name is taken";
  gone_.set();
  leaving_.set();
}

void ClusterNode::on_joined(std::size_t members) {
  joined_ = true;
  since_[config_.name] = runtime_.now();
  say("joined", "joined cluster '" + config_.cluster + "', " + format_count(members, "member"),
      {{"members", static_cast<int64_t>(members)}});
  tell_health();
}

void ClusterNode::on_left() { gone_.set(); }

void ClusterNode::on_incarnation(uint32_t incarnation) {
  if (parts_->kv != nullptr && scope_ != nullptr) scope_->spawn(remember(kIncarnation, std::to_string(incarnation)));
}

task<void> ClusterNode::remember(std::string key, std::string value) {
  std::vector<cluster::KvChange> changes;
  changes.push_back({std::move(key), std::move(value)});
  const Status done = co_await parts_->kv->put(std::move(changes));
  if (!done) journal_.warn(runtime_.wall_now(), "data: " + done.error().message);
}

void ClusterNode::on_degraded(const membership::DegradationChanged& changed) {
  say("degradation",
      "this node is "s + to_string(changed.level) + " (health score " + std::to_string(changed.health_score) +
          ", loop lag " + std::to_string(changed.lag_ratio) + ")",
      {{"level", std::string(to_string(changed.level))}, {"health_score", int64_t{changed.health_score}}});
  tell_health();
  tell_state();
}

void ClusterNode::on_guard(const membership::GuardChanged& guard) {
  say("correlation_guard",
      guard.holding ? "more than half of the nodes of one kind look dead: nobody is evicted for now"
                    : "evictions are no longer held",
      {{"holding", int64_t{guard.holding}}});
}

// --- what the election says ------------------------------------------------------------------------------------------

void ClusterNode::on_elected(const election::TermOfOffice& term) {
  term_ = term;
  if (work_ != nullptr) {
    work_->on_elected(term);
  } else {
    say("elected", "this node leads, term " + std::to_string(term.epoch.value()),
        {{"term", static_cast<int64_t>(term.epoch.value())}});
  }
  tell_state();
  if (context_ != nullptr) context_->on_elected(term);
}

void ClusterNode::on_renewed(Instant ends, Duration took) {
  if (work_ != nullptr) work_->on_renewed(ends, took);
}

void ClusterNode::on_drain(const std::string& cause) {
  if (work_ != nullptr) return work_->on_drain(cause);
  journal_.detail(runtime_.wall_now(), "hands the leadership over: " + cause);
  if (context_ != nullptr) return context_->on_drain(cause);
  stop_work();
}

// Beside the command that has the key, all work of a leader asks for its term before it acts.
void ClusterNode::stop_work() {
  if (key_command_ == nullptr || !key_command_->stop()) election_->work_stopped();
}

void ClusterNode::on_admin_key(const election::TermOfOffice& term, secret::SecretBytes key) {
  key_command_->start(term, std::move(key), *scope_);
}

void ClusterNode::on_term_ended(const election::TermEnded& ended) {
  term_ = {};
  if (work_ != nullptr) {
    work_->on_term_ended(ended);
  } else {
    const bool resigned = ended.reason == election::EndReason::kResigned;
    say(resigned ? "resigned" : "deposed", "no longer leads ("s + to_string(ended.reason) + "): " + ended.why,
        {{"term", static_cast<int64_t>(ended.epoch.value())}, {"reason", std::string(to_string(ended.reason))}});
  }
  tell_state();
  if (context_ != nullptr) return context_->on_term_ended(ended);
  if (work_ == nullptr && ended.work_runs) stop_work();
}

void ClusterNode::on_leader_changed(const std::string& leader, election::Term term, const std::string& evidence) {
  ++changes_;
  leader_ = leader;
  leader_term_ = term.value();
  leader_since_ = runtime_.now();
  leader_evidence_ = evidence;
  // Who leads is all the state of a group that a node has to learn before it may lead itself.
  if (election_ != nullptr && !leader.empty()) election_->synced();
  if (work_ != nullptr) return work_->on_leader_changed(leader, term, evidence);
  say("leader",
      leader.empty() ? "nobody leads: " + evidence
                     : "'" + leader + "' leads, term " + std::to_string(term.value()) + ": " + evidence,
      {{"leader", leader}, {"term", static_cast<int64_t>(term.value())}});
  if (context_ != nullptr) context_->on_leader_changed(leader, term);
}

void ClusterNode::on_election_complete(const std::string& winner, election::Term term, const std::string& why) {
  say("election_complete",
      "the election of term " + std::to_string(term.value()) + " is over, and " +
          (winner.empty() ? "nobody" : "'" + winner + "'") + " has won: " + why,
      {{"winner", winner}, {"term", static_cast<int64_t>(term.value())}});
}

void ClusterNode::on_voters_changed(const std::vector<std::string>& voters) {
  std::string names;
  for (const std::string& one : voters) names += (names.empty() ? "" : ", ") + (one.empty() ? "somebody unknown" : one);
  say("voters", "the voters are " + names, {{"voters", names}});
}

void ClusterNode::on_note(bool warning, const std::string& text) {
  if (warning) {
    journal_.warn(runtime_.wall_now(), text);
  } else {
    journal_.detail(runtime_.wall_now(), text);
  }
}

// --- what links and meters say ---------------------------------------------------------------------------------------

void ClusterNode::on_refused(const cluster::PeerAddress& peer) {
  if (membership_ == nullptr || peer.name.empty()) return;
  membership_->tell(membership::ProofOfDeath{peer.name, cluster::from_runtime(peer.endpoint)});
}

void ClusterNode::on_trouble(const cluster::PeerAddress& peer, const Error& why) {
  journal_.detail(runtime_.wall_now(), "no connection to '" + printable(peer.name) + "' at " +
                                           peer.endpoint.to_string() + ": " + why.message);
}

void ClusterNode::on_refused(wire::Refusal refusal, const runtime::Endpoint& from, std::string_view detail,
                             uint64_t unheard) {
  const std::string text = "refused "s + std::string(to_string(refusal)) + " from " + from.to_string() +
                           (detail.empty() ? "" : ": " + printable(std::string(detail))) +
                           (unheard == 0 ? "" : "; and " + format_count(unheard, "time") + " since the last such line");
  // A node that has just started is asked for a proof once: nothing is wrong with that.
  on_note(refusal != wire::Refusal::kUnproven, text);
}

void ClusterNode::on_mismatch(wire::Refusal refusal, const wire::Mismatch& names) {
  discovery::PairCounts* counts = nullptr;
  if (refusal == wire::Refusal::kCluster) counts = &discovery_.cluster_id_rejections;
  if (refusal == wire::Refusal::kEnvironment) counts = &discovery_.environment_id_rejections;
  if (refusal == wire::Refusal::kRole) counts = &discovery_.role_rejections;
  if (counts != nullptr) counts->add(names.expected, names.received);
}

void ClusterNode::on_job_says(const std::string& job, const std::string& event, const std::string& text, bool warning) {
  Journal::Fields fields{{"job", job}};
  if (warning) fields.emplace_back("level", "warning");
  say(event, text, std::move(fields));
}

void ClusterNode::on_vital_signs(const cluster::VitalSigns& signs) {
  if (role_ != nullptr) role_->on_vital_signs(signs, health_score());
  vital_ = signs;
  front_desk_.on_vital_signs(signs);
  front_desk_.on_connections(parts_->server->connections());
  tell_state();
}

void ClusterNode::on_load_changed(resilience::LoadState state, std::string_view reason) {
  const std::string name(to_string(state));
  say("load_changed", reason.empty() ? "is " + name : "is " + name + " by its " + std::string(reason),
      {{"state", name}, {"reason", std::string(reason)}});
}

void ClusterNode::on_act(const std::string& by, const std::string& what, const std::string& outcome) {
  say("operator", "operator '" + printable(by) + "': " + what + ": " + outcome,
      {{"by", by}, {"act", what}, {"outcome", outcome}});
}

void ClusterNode::tell_health() {
  if (election_ == nullptr) return;
  const membership::Membership& kernel = membership_->kernel();
  election_->set_health(health_of(kernel.degradation(), kernel.health_score(), unfit().empty()));
}

// What others are told of this node with every acknowledgement.
void ClusterNode::tell_state() {
  if (membership_ == nullptr) return;
  PeerState state;
  state.leads = term_.valid_for(runtime_.boot_now()) > Duration::zero();
  state.term = state.leads ? term_.epoch.value() : leader_term_;
  state.ready = not_ready().empty();
  state.electable = election_ != nullptr && election_->electable();
  state.health_score = membership_->kernel().health_score();
  state.degradation = static_cast<uint32_t>(membership_->kernel().degradation());
  state.cpu_percent = static_cast<uint32_t>(vital_.cpu_share * 100);
  state.memory_percent = static_cast<uint32_t>(vital_.memory_share() * 100);
  state.stuck = progress() == to_string(health::Progress::kStuck);
  membership_->tell(membership::SetState{write_state(state)});
}

}  // namespace bellwether::node
