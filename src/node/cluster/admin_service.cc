#include "node/cluster/admin_service.h"

#include <array>
#include <utility>

#include "base/bytes.h"
#include "node/cluster/admin_messages.h"
#include "node/cluster/vote_answer.h"

namespace bellwether::node {
namespace {

// What a request is called in the audit log, without any secret; empty for a question, which changes nothing.
struct ActOf {
  std::string operator()(const Leave&) { return "leave"; }
  std::string operator()(const Drain&) { return "drain"; }
  std::string operator()(const Transfer& ask) { return "transfer to '" + ask.to + "'"; }
  std::string operator()(const CallElection& ask) { return ask.forced ? "elect by force" : "elect"; }
  std::string operator()(const ChangeVoters& ask) {
    return std::string(ask.add ? "add" : "remove") + " voter '" + ask.name + "'";
  }
  std::string operator()(const AskSecrets& ask) {
    constexpr std::array kActs{"", "learn a secret", "use another secret", "forget a secret"};
    return kActs[static_cast<std::size_t>(ask.act)];
  }
  std::string operator()(const auto&) { return {}; }
};

struct Answering {
  using Answer = Result<AdminAnswer>;

  NodeDesk& desk;
  const std::string& self;
  const std::string& by;

  Answer operator()(AskMembers&) { return MembersAnswer{desk.members(), desk.degradation(), desk.health_score()}; }
  Answer operator()(AskLeader&) {
    LeaderView leader = desk.leader();
    leader.answered_by = self;
    return leader;
  }
  Answer operator()(AskQuorum&) { return desk.quorum(); }
  Answer operator()(AskVotes& ask) {
    BW_TRY(auto vote, desk.last_vote());
    auto messages = ask.messages ? desk.vote_messages() : std::vector<cluster::VoteMessageView>();
    return votes_answer(std::move(vote), std::move(messages), self);
  }
  Answer operator()(CallElection& ask) { return desk.call_election(ask.forced); }
  Answer operator()(Leave&) { return desk.leave(by); }
  Answer operator()(Drain&) { return desk.drain(by); }
  Answer operator()(Transfer& ask) { return desk.transfer(ask.to); }
  Answer operator()(ChangeVoters& ask) { return desk.change_voters(ask.add, ask.name); }
  Answer operator()(AskSecrets& ask) {
    switch (ask.act) {
      case AskSecrets::Act::kList: break;
      case AskSecrets::Act::kLearn: return desk.learn_secret(std::move(ask.text));
      case AskSecrets::Act::kUse: return desk.use_secret(ask.id);
      case AskSecrets::Act::kForget: return desk.forget_secret(ask.id);
    }
    return SecretsAnswer{desk.secrets()};
  }
};

}  // namespace

Result<std::string> AdminService::answer(std::string_view bytes, const std::string& by) {
  BW_TRY(auto request, message::decode<AdminRequest>(bytes));
  const std::string act = std::visit(ActOf(), request);
  const Result<AdminAnswer> answer = std::visit(Answering{desk_, self_, by}, request);
  if (!act.empty()) {
    audit_.on_act(by, act, answer ? std::get<std::string>(*answer) : "refused: " + answer.error().message);
  }
  if (!answer) return tl::unexpected(answer.error());
  return message::encode(*answer);
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
