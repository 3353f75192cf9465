#include "node/cluster/admin_service.h"

#include <utility>

#include "base/bytes.h"
#include "node/cluster/admin_request.h"
#include "node/cluster/vote_answer.h"
#include "proto/admin.pb.h"

namespace bellwether::node {
namespace {

uint64_t milliseconds(Duration span) { return static_cast<uint64_t>(std::max<int64_t>(span.ns(), 0)) / 1'000'000; }

void put_members(const NodeDesk& desk, wire::AdminAnswer::Members& out) {
  for (const MemberView& one : desk.members()) {
    auto& member = *out.add_members();
    member.set_name(one.name);
    member.set_state(one.state);
    member.set_role(one.role);
    member.set_datacenter(one.datacenter);
    member.set_address(one.address);
    member.set_incarnation(one.incarnation);
    member.set_since_ms(milliseconds(one.since));
    member.set_software(one.software);
    member.set_leads(one.leads);
    member.set_self(one.self);
  }
  out.set_degradation(desk.degradation());
  out.set_health_score(desk.health_score());
}

void put_leader(const LeaderView& leader, const std::string& self, wire::AdminAnswer::Leader& out) {
  out.set_name(leader.name);
  out.set_term(leader.term);
  out.set_since_ms(milliseconds(leader.since));
  if (leader.valid_for) out.set_valid_for_ms(leader.valid_for->ns() / 1'000'000);
  out.set_evidence(leader.evidence);
  out.set_answered_by(self);
}

void put_quorum(const QuorumView& quorum, wire::AdminAnswer::Quorum& out) {
  for (const VoterView& one : quorum.voters) {
    auto& voter = *out.add_voters();
    voter.set_name(one.name);
    voter.set_alive(one.alive);
    voter.set_leads(one.leads);
    voter.set_self(one.self);
    voter.set_joining(one.joining);
    voter.set_leaving(one.leaving);
  }
  out.set_needed(static_cast<uint32_t>(quorum.needed));
  out.set_alive(static_cast<uint32_t>(quorum.alive));
  out.set_role(quorum.role);
  out.set_term(quorum.term);
  out.set_active(quorum.active);
  out.set_follows_only(quorum.follows_only);
  out.set_has_quorum(quorum.has_quorum);
  out.set_changing(quorum.changing);
  out.set_jobs(static_cast<uint32_t>(quorum.jobs));
  out.set_jobs_unable(quorum.jobs_unable);
  out.set_decided_by(quorum.decided_by);
  out.set_obstacle(quorum.obstacle);
  out.set_stands_back(quorum.stands_back);
  out.set_submissions(quorum.submissions);
  out.set_state(quorum.state);
}

void put_votes(const cluster::VoteView& view, const std::string& self, wire::AdminAnswer::Votes& out) {
  out.set_term(view.term);
  out.set_over(view.over);
  out.set_trigger(view.trigger);
  out.set_winner(view.winner);
  out.set_why(view.why);
  out.set_rule(view.rule);
  out.set_needed(static_cast<uint32_t>(view.needed));
  out.set_answered_by(self);
  out.set_state(view.state);
  out.set_in_minority(view.in_minority);
  for (const auto& [name, since] : view.unheard) {
    auto& unheard = *out.add_unheard();
    unheard.set_name(name);
    unheard.set_for_ms(milliseconds(since));
  }
  if (view.keys) {
    auto& keys = *out.mutable_keys();
    keys.set_term(view.keys->term);
    keys.set_admin(view.keys->admin);
    keys.set_stage(view.keys->stage);
    keys.set_held(static_cast<uint32_t>(view.keys->held));
    keys.set_needed(static_cast<uint32_t>(view.keys->needed));
    for (const auto& [from, why] : view.keys->refused) {
      auto& refused = *keys.add_refused();
      refused.set_from(from);
      refused.set_why(why);
    }
  }
  const vote::ScoreWeights& weights = view.weights;
  for (const double one :
       {weights.uptime, weights.capability, weights.resources, weights.network, weights.experience, weights.fitness}) {
    out.add_weights(one);
  }
  for (const cluster::VoteView::Node& one : view.nodes) {
    auto& node = *out.add_nodes();
    node.set_name(one.name);
    node.set_took_part(one.took_part);
    node.set_stood(one.stood);
    for (const std::string& capability : one.claim.capabilities) node.add_capabilities(capability);
    node.set_uptime_ms(milliseconds(one.claim.uptime));
    node.set_experience_ms(milliseconds(one.claim.experience));
    node.set_cpu_used(one.claim.resources.cpu_used);
    node.set_memory_used(one.claim.resources.memory_used);
    node.set_disk_used(one.claim.resources.disk_used);
    node.set_network_quality(one.claim.resources.network_quality);
    node.set_score(one.claim.score);
    node.set_uptime_part(one.parts.uptime);
    node.set_capability_part(one.parts.capability);
    node.set_resources_part(one.parts.resources);
    node.set_network_part(one.parts.network);
    node.set_experience_part(one.parts.experience);
    if (one.claim.fitness) node.set_fitness(*one.claim.fitness);
    node.set_doubt(one.doubt);
    node.set_penalty(one.penalty);
    node.set_voted_for(one.voted_for);
    node.set_votes(static_cast<uint32_t>(one.votes));
  }
}

void put_secrets(const NodeDesk& desk, wire::AdminAnswer::Keys& out) {
  for (const uint32_t id : desk.secrets()) out.add_ids(id);
}

// Answers to questions go into `out`; what acts have come to is returned.
struct Answering {
  NodeDesk& desk;
  const std::string& self;
  const std::string& by;
  wire::AdminAnswer& out;

  Result<std::string> operator()(AskMembers&) {
    put_members(desk, *out.mutable_members());
    return {};
  }
  Result<std::string> operator()(AskLeader&) {
    put_leader(desk.leader(), self, *out.mutable_leader());
    return {};
  }
  Result<std::string> operator()(AskQuorum&) {
    put_quorum(desk.quorum(), *out.mutable_quorum());
    return {};
  }
  Result<std::string> operator()(AskVotes& ask) {
    const auto vote = desk.last_vote();
    if (!vote) return tl::unexpected(vote.error());
    put_votes(*vote, self, *out.mutable_votes());
    put_vote_status(vote->status, out);
    if (ask.messages) put_vote_messages(desk.vote_messages(), out);
    return {};
  }
  Result<std::string> operator()(CallElection& ask) { return desk.call_election(ask.forced); }
  Result<std::string> operator()(AskSecrets&) { return with_secrets(std::string()); }
  Result<std::string> operator()(Leave&) { return desk.leave(by); }
  Result<std::string> operator()(Drain&) { return desk.drain(by); }
  Result<std::string> operator()(Transfer& ask) { return desk.transfer(ask.to); }
  Result<std::string> operator()(ChangeVoters& ask) { return desk.change_voters(ask.add, ask.name); }
  Result<std::string> operator()(LearnSecret& ask) { return with_secrets(desk.learn_secret(std::move(ask.secret))); }
  Result<std::string> operator()(UseSecret& ask) { return with_secrets(desk.use_secret(ask.id)); }
  Result<std::string> operator()(ForgetSecret& ask) { return with_secrets(desk.forget_secret(ask.id)); }

  Result<std::string> with_secrets(Result<std::string> done) {
    put_secrets(desk, *out.mutable_keys());
    return done;
  }
};

}  // namespace

Result<std::string> AdminService::answer(std::string_view bytes, const std::string& by) {
  auto request = decode_admin_request(bytes);
  if (!request) return tl::unexpected(request.error());
  const std::string act = act_of(*request);
  wire::AdminAnswer answer;
  const Result<std::string> done = std::visit(Answering{desk_, self_, by, answer}, *request);
  if (!act.empty()) audit_.on_act(by, act, done ? *done : "refused: " + done.error().message);
  if (!done) return tl::unexpected(done.error());
  answer.set_done(*done);
  return answer.SerializeAsString();
}

void AdminService::on_request(link::Connection& connection, const wire::Inbound& request) {
  if (connection.peer().identity.role != wire::Role::kOperator) {
    connection.respond(request.id, wire::ReplyStatus::kNotPermitted, {});
    return;
  }
  const auto text = answer(as_text(request.body), connection.peer().identity.node);
  if (text) {
    connection.respond(request.id, wire::ReplyStatus::kOk, as_bytes(*text), true);
  } else {
    connection.respond(request.id, wire::ReplyStatus::kFailed, as_bytes(text.error().message));
  }
}

}  // namespace bellwether::node
