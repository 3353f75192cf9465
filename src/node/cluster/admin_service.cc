#include "node/cluster/admin_service.h"

#include "base/bytes.h"
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
  out.set_decided_by(quorum.decided_by);
  out.set_obstacle(quorum.obstacle);
  out.set_stands_back(quorum.stands_back);
}

Result<std::string> act_on_keys(NodeDesk& desk, const wire::AdminRequest::Keys& ask, wire::AdminAnswer::Keys& out) {
  Result<std::string> done = std::string();
  switch (ask.act()) {
    case wire::AdminRequest::Keys::LEARN: done = desk.learn_secret(ask.secret()); break;
    case wire::AdminRequest::Keys::USE: done = desk.use_secret(ask.id()); break;
    case wire::AdminRequest::Keys::FORGET: done = desk.forget_secret(ask.id()); break;
    default: break;
  }
  for (const uint32_t id : desk.secrets()) out.add_ids(id);
  return done;
}

// What an act is called in the audit log; empty for a question.
std::string named(const wire::AdminRequest& request) {
  switch (request.ask_case()) {
    case wire::AdminRequest::kLeave: return "leave";
    case wire::AdminRequest::kTransfer: return "transfer to '" + request.transfer().to() + "'";
    case wire::AdminRequest::kVoters:
      return std::string(request.voters().add() ? "add" : "remove") + " voter '" + request.voters().name() + "'";
    case wire::AdminRequest::kKeys:
      switch (request.keys().act()) {
        case wire::AdminRequest::Keys::LEARN: return "learn a secret";
        case wire::AdminRequest::Keys::USE: return "use another secret";
        case wire::AdminRequest::Keys::FORGET: return "forget a secret";
        default: return {};
      }
    default: return {};
  }
}

}  // namespace

Result<std::string> AdminService::answer(std::string_view bytes, const std::string& by) {
  wire::AdminRequest request;
  if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(Errc::kProtocol, "a request that cannot be read");
  }
  wire::AdminAnswer answer;
  Result<std::string> done = std::string();
  switch (request.ask_case()) {
    case wire::AdminRequest::kMembers: put_members(desk_, *answer.mutable_members()); break;
    case wire::AdminRequest::kLeader: put_leader(desk_.leader(), self_, *answer.mutable_leader()); break;
    case wire::AdminRequest::kQuorum: put_quorum(desk_.quorum(), *answer.mutable_quorum()); break;
    case wire::AdminRequest::kLeave: done = desk_.leave(by); break;
    case wire::AdminRequest::kTransfer: done = desk_.transfer(request.transfer().to()); break;
    case wire::AdminRequest::kVoters:
      done = desk_.change_voters(request.voters().add(), request.voters().name());
      break;
    case wire::AdminRequest::kKeys: done = act_on_keys(desk_, request.keys(), *answer.mutable_keys()); break;
    case wire::AdminRequest::ASK_NOT_SET: return fail(Errc::kUnsupported, "a request that this version does not know");
  }
  if (const std::string what = named(request); !what.empty()) {
    audit_.on_act(by, what, done ? *done : "refused: " + done.error().message);
  }
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
