#include "cluster/node/node_admin.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cluster/net/message_classes.h"
#include "cluster/node/admin_messages.h"
#include "cluster/node/node_page.h"
#include "core/base/bytes.h"
#include "core/base/encoding.h"

namespace bellwether::node {
namespace {

// The name of a request in the audit log, without any secret; empty for a question, which changes nothing.
struct ActOf {
  std::string operator()(const Leave&) { return "leave"; }
  std::string operator()(const Drain&) { return "drain"; }
  std::string operator()(const Transfer& ask) { return fmt::format("transfer to '{}'", ask.to); }
  std::string operator()(const CallElection& ask) { return ask.forced ? "force an election" : "elect"; }
  std::string operator()(const ChangeVoters& ask) {
    return fmt::format("{} voter '{}'", ask.add ? "add" : "remove", ask.name);
  }
  std::string operator()(const ChangeManagers& ask) {
    return fmt::format("{} manager '{}'", ask.add ? "add" : "remove", ask.name);
  }
  std::string operator()(const AskSecrets& ask) {
    constexpr std::array kActs{"", "learn a secret", "use another secret", "forget a secret"};
    return kActs[static_cast<std::size_t>(ask.act)];
  }
  std::string operator()(const auto&) { return {}; }
};

struct Answering {
  using Answer = Result<AdminAnswer>;

  NodeControl& kernel;
  const std::string& self;
  const std::string& by;

  Answer operator()(AskMembers&) {
    return MembersAnswer{kernel.members(), kernel.degradation(), kernel.health_score()};
  }
  Answer operator()(AskLeader&) {
    LeaderView leader = kernel.leader();
    leader.answered_by = self;
    return leader;
  }
  Answer operator()(AskQuorum&) { return kernel.quorum(); }
  Answer operator()(AskVotes& ask) {
    BW_TRY(auto vote, kernel.last_vote());
    auto messages = ask.messages ? kernel.vote_messages() : std::vector<cluster::VoteMessageView>();
    return votes_answer(std::move(vote), std::move(messages), self);
  }
  Answer operator()(CallElection& ask) { return kernel.call_election(ask.forced); }
  Answer operator()(Leave&) { return kernel.leave(by); }
  Answer operator()(Drain&) { return kernel.drain(by); }
  Answer operator()(Transfer& ask) { return kernel.transfer(ask.to); }
  Answer operator()(ChangeVoters& ask) { return kernel.change_voters(ask.add, ask.name); }
  Answer operator()(AskManagers&) { return kernel.managers(); }
  Answer operator()(ChangeManagers& ask) { return kernel.change_managers(ask.add, ask.name); }
  Answer operator()(AskSecrets& ask) {
    switch (ask.act) {
      case AskSecrets::Act::kList: break;
      case AskSecrets::Act::kLearn: return kernel.learn_secret(std::move(ask.text));
      case AskSecrets::Act::kUse: return kernel.use_secret(ask.id);
      case AskSecrets::Act::kForget: return kernel.forget_secret(ask.id);
    }
    return SecretsAnswer{kernel.secrets()};
  }
};

}  // namespace

Result<std::string> AdminService::answer(std::string_view bytes, const std::string& by) {
  BW_TRY(auto request, message::decode<AdminRequest>(bytes));
  const std::string act = std::visit(ActOf(), request);
  Result<AdminAnswer> answer = std::visit(Answering{kernel_, self_, by}, request);
  if (!act.empty()) {
    audit_(by, act, answer ? std::get<std::string>(*answer) : "refused: " + answer.error().message);
  }
  BW_TRY(const auto given, std::move(answer));
  return message::encode(given);
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

using runtime::task;

NodeAdmin::NodeAdmin(runtime::Runtime& runtime, const cluster::NodeConfig& config, NodePort& port, NodeMembers& members,
                     NodeElection& election, NodeRoles& roles, NodeLog& log, ClusterNode& node)
    : runtime_(runtime),
      config_(config),
      port_(port),
      members_(members),
      election_(election),
      roles_(roles),
      log_(log),
      node_(node),
      probes_(runtime, *this),
      service_(*this, config.name, callback_to<&NodeAdmin::on_act>(*this)),
      page_(*this, probes_, callback_to<&NodeAdmin::figures>(*this)) {}

NodeAdmin::~NodeAdmin() {
  if (connected_) port_.router().disconnect(cluster::message_type::kAdmin);
}

task<Status> NodeAdmin::open(runtime::Scope& scope) {
  scope.spawn(probes_.run(scope.cancellation()));
  port_.router().connect(cluster::message_type::kAdmin, service_);
  connected_ = true;
  if (!config_.http) co_return Status();
  const std::string place = to_string(*config_.http);
  const auto at = co_await web::endpoint_of(runtime_, place);
  auto http = at ? web::HttpServer::listen(runtime_, *at, page_, {}) : tl::unexpected(at.error());
  if (!http) co_return fail(http.error().code, "http {}: {}", place, http.error().message);
  http_ = std::move(*http);
  scope.spawn(http_->serve(scope.cancellation()));
  log_.say("http", fmt::format("health and metrics at http://{}/", http_->local().to_string()),
           {{"address", http_->local().to_string()}});
  co_return Status();
}

// --- what is known ---------------------------------------------------------------------------------------------------

std::vector<MemberView> NodeAdmin::members() const {
  std::vector<MemberView> out;
  members_.for_each([&](const NodeMembers::Member& member) {
    MemberView view;
    view.name = member.name;
    view.state = to_string(member.state);
    view.role = to_string(member.role());
    view.address = cluster::to_runtime(member.profile.endpoint).to_string();
    view.incarnation = member.incarnation;
    const auto meta = read_meta(member.profile.meta);
    view.datacenter = meta.datacenter;
    view.software = meta.software;
    view.since = members_.since(view.name);
    view.leads = view.name == election_.leader();
    view.self = view.name == config_.name;
    out.push_back(std::move(view));
  });
  std::sort(out.begin(), out.end(), [](const MemberView& a, const MemberView& b) { return a.name < b.name; });
  return out;
}

QuorumView NodeAdmin::quorum() const {
  QuorumView view;
  roles_.each([&](const NodeRole& role) { role.describe(view); });
  const auto add = [&](const cluster::Leadership::Voter& voter) {
    VoterView one{.name = voter.name, .leads = voter.name == election_.leader(), .self = voter.name == config_.name};
    one.alive = one.self || members_.state_of(voter.name) == membership::MemberState::kAlive;
    one.joining = voter.joining;
    one.leaving = voter.leaving;
    view.voters.push_back(std::move(one));
  };
  if (election_.leadership() == nullptr) {
    for (const std::string& name : config_.voters) add({.name = name});
    view.term = election_.leader_term();
    view.decided_by = config_.leadership;
  } else {
    const cluster::Leadership::View seen = election_.leadership()->view();
    for (const cluster::Leadership::Voter& one : seen.voters) add(one);
    view.role = seen.role;
    view.term = seen.term;
    view.active = seen.active;
    view.follows_only = seen.follows_only;
    view.changing = seen.changing;
    view.decided_by = seen.decided_by;
    view.stands_back = seen.stands_back;
    view.obstacle = election_.obstacle();
  }
  if (config_.delegates()) {
    view.has_quorum = view.obstacle.empty();
    view.jobs = 0;
    view.jobs_unable.clear();
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
  return view;
}

ManagersView NodeAdmin::managers() const {
  ManagersView view;
  roles_.each([&](const NodeRole& role) { role.describe(view); });
  view.voters_lead = !config_.delegates() && !config_.votes_by_score();
  // Until a majority has confirmed the last change, the leader refuses the next one.
  const cluster::Leadership* const election = election_.leadership();
  view.changing = view.changing || (election != nullptr && election->view().changing);
  const auto row = [&](const std::string& name) -> ManagerView& {
    const auto at = std::ranges::find(view.managers, name, &ManagerView::name);
    return at != view.managers.end() ? *at : view.managers.emplace_back(ManagerView{.name = name});
  };
  for (const VoterView& voter : quorum().voters) {
    if (voter.name.empty()) continue;
    ManagerView& one = row(voter.name);
    one.votes = true;
    one.joining = one.joining || voter.joining;
    one.leaving = one.leaving || voter.leaving;
  }
  members_.for_each([&](const NodeMembers::Member& member) {
    const bool manager = member.role() == wire::Role::kManager;
    const bool known = std::ranges::find(view.managers, member.name, &ManagerView::name) != view.managers.end();
    if (!known && (!manager || member.gone())) return;
    ManagerView& one = row(member.name);
    one.manager = manager;
    one.self = member.name == config_.name;
    one.alive = one.self || member.state == membership::MemberState::kAlive;
    one.leads = one.self ? election_.leads() : member.name == election_.leader();
  });
  std::ranges::sort(view.managers, {}, &ManagerView::name);
  view.answered_by = config_.name;
  return view;
}

Status NodeAdmin::known(const std::string& name) const {
  if (members_.state_of(name) || name == config_.name) return {};
  return fail(Errc::kRefused, "no node '{}' is known: start it, and `bellwether cluster members` shows it", name);
}

Result<std::string> NodeAdmin::change_voters(bool add, const std::string& name) {
  if (add) BW_RETURN_IF_ERROR(known(name));
  return election_.change_voters(add, name);
}

// A change begins only if it can end: all nodes that it needs are alive.
Result<std::string> NodeAdmin::change_managers(bool add, const std::string& name) {
  const ManagersView view = managers();
  const auto at = std::ranges::find(view.managers, name, &ManagerView::name);
  const bool is_listed = at != view.managers.end();
  if (add) BW_RETURN_IF_ERROR(this->known(name));
  if (add && (!is_listed || !at->manager)) {
    return fail(Errc::kRefused, "'{}' is not a manager: start it with role: manager, or name another node", name);
  }
  if (add && !at->alive) return fail(Errc::kRefused, "'{}' is not alive: start it, and repeat the command", name);
  if (!add && (!is_listed || (!at->votes && !at->keeps))) {
    return fail(Errc::kRefused, "'{}' neither votes nor keeps jobs: `bellwether cluster managers` lists who does",
                name);
  }
  if (view.changing) return fail(Errc::kRefused, "a change is under way; `bellwether cluster managers` shows it");
  if (add && at->keeps && (at->votes || !view.voters_lead)) {
    return fail(Errc::kRefused, "'{}' is one of the managers already; `bellwether cluster managers` lists them", name);
  }
  std::size_t keepers = 0;
  std::size_t alive = 0;
  for (const ManagerView& one : view.managers) {
    if (!one.keeps) continue;
    ++keepers;
    alive += one.alive ? 1 : 0;
  }
  if (keepers > 0 && alive < quorum::majority_of(keepers)) {
    return fail(Errc::kRefused, "of {} managers that keep jobs {} are alive, and {} are needed", keepers, alive,
                quorum::majority_of(keepers));
  }
  if (view.voters_lead && (!is_listed || at->votes != add)) {
    const auto begun = election_.change_voters(add, name);
    if (!begun) return tl::unexpected(begun.error());
  } else {
    Status begun = fail(Errc::kUnsupported, "this node keeps no jobs: send the request to a manager");
    roles_.each([&](NodeRole& role) {
      if (!begun && begun.error().code == Errc::kUnsupported) begun = role.change_managers(add, name);
    });
    if (!begun) return tl::unexpected(begun.error());
  }
  return fmt::format("the change has started; `bellwether cluster managers` shows when '{}' is {}", name,
                     add ? "added" : "removed");
}

std::optional<cluster::VoteView> NodeAdmin::vote() const {
  return election_.leadership() == nullptr ? std::nullopt : election_.leadership()->last_vote();
}

Result<cluster::VoteView> NodeAdmin::last_vote() const {
  const auto last = vote();
  if (!last) return fail(Errc::kUnsupported, "this cluster does not vote by scores; that needs 'leadership: vote'");
  return *last;
}

std::vector<cluster::VoteMessageView> NodeAdmin::vote_messages() const {
  return election_.leadership() == nullptr ? std::vector<cluster::VoteMessageView>()
                                           : election_.leadership()->vote_messages();
}

std::vector<Figure> NodeAdmin::figures() const {
  NodeFigures sources{.members = members_.kernel().table(),
                      .refusals = port_.refusals().counts(),
                      .datagrams = port_.datagrams().counts(),
                      .discovery = port_.discovery(),
                      .usage = usage_,
                      .admission_control = port_.admission_control(),
                      .member_changes = members_.changes()};
  sources.leads = election_.leads();
  sources.term = election_.leader_term();
  sources.leader_changes = election_.changes();
  sources.health_score = health_score();
  sources.degradation = static_cast<int>(members_.kernel().degradation());
  sources.ready = not_ready().empty();
  sources.connections = port_.agreements();
  sources.breakers = port_.links().breakers();
  sources.datacenter = config_.datacenter;
  std::vector<Figure> all = figures_of(sources);
  if (const auto last = vote()) {
    std::ranges::copy(figures_of_vote(*last), std::back_inserter(all));
    all.push_back({"bellwether_vote_unheard",
                   "gauge",
                   "Voters that this node does not hear.",
                   {},
                   static_cast<double>(last->unheard.size())});
    all.push_back({"bellwether_vote_in_minority",
                   "gauge",
                   "1 while this node does not hear a majority of the voters.",
                   {},
                   last->in_minority ? 1.0 : 0.0});
  }
  std::ranges::copy(roles_.figures(), std::back_inserter(all));
  return all;
}

// --- what operators do -----------------------------------------------------------------------------------------------

Result<std::string> NodeAdmin::leave(const std::string& who) {
  node_.go(fmt::format("at the request of operator '{}'", who));
  return fmt::format("'{}' leaves the cluster and ends", config_.name);
}

Result<std::string> NodeAdmin::drain(const std::string& who) {
  if (!node_.drain(fmt::format("drained by operator '{}'", who))) {
    return fail(Errc::kRefused, "'{}' is not a worker: there is nothing to drain", config_.name);
  }
  return fmt::format("'{}' accepts no new work, and leaves when its assignments have ended", config_.name);
}

void NodeAdmin::on_act(const std::string& by, const std::string& what, const std::string& outcome) {
  log_.say("operator", fmt::format("operator '{}': {}: {}", printable(by), what, outcome),
           {{"by", by}, {"act", what}, {"outcome", outcome}});
}

}  // namespace bellwether::node
