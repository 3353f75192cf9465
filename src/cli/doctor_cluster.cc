#include "cli/doctor_cluster.h"

#include <algorithm>
#include <map>

#include "node/cluster/vote_health.h"

namespace bellwether::cli {
namespace {

using node::NodeReport;

constexpr Duration kBetweenLooks = Duration::millis(200);

void take(const node::VotesAnswer& votes, NodeReport& into) {
  into.rule = votes.view.rule;
  if (votes.view.over && votes.view.winner.empty()) into.last_end = votes.view.why;
  into.elections_last_hour = votes.view.status.elections_last_hour;
  into.failed_last_hour = votes.view.status.failed_last_hour;
  for (const auto& one : votes.view.nodes) {
    if (!one.doubt.empty()) into.doubts.push_back(one.name + ": " + one.doubt);
  }
  into.unsigned_of = votes.unsigned_of;
  for (const auto& one : votes.view.status.followers) {
    into.followers.push_back({one.node, one.beats.lately, one.beats.missed_lately});
  }
}

class ClusterLook {
 public:
  ClusterLook(OperatorSession& session, Duration timeout) : session_(session), timeout_(timeout) {}

  // Who votes, and where; where a store decides who leads, who may lead.
  Status find() {
    BW_TRY(const auto members, node::only<node::MembersAnswer>(ask_any(session_, node::AskMembers(), timeout_)));
    BW_TRY(const auto quorum, node::only<node::QuorumView>(ask_any(session_, node::AskQuorum(), timeout_)));
    for (const auto& one : quorum.voters) places_[one.name];
    const bool votes = !places_.empty();
    for (const auto& one : members.members) {
      const bool there = one.state == "alive" || one.state == "suspect";
      if (votes ? !places_.contains(one.name) : one.role == "worker" || !there) continue;
      const auto place = parse_host_port(one.address, cluster::kDefaultPort);
      if (place) places_[one.name] = *place;
    }
    return {};
  }

  std::vector<NodeReport> look() {
    std::vector<NodeReport> out;
    for (const auto& [name, place] : places_) out.push_back(report_of(name, place));
    // Who acts now and has acted before all others were asked has acted all the time between.
    for (NodeReport& one : out) {
      if (!one.acts) continue;
      const auto again = node::only<node::LeaderView>(ask(session_, places_.at(one.name), node::AskLeader(), timeout_));
      one.acts = again && again->valid_for > Duration() && again->term == one.term;
    }
    return out;
  }

  void wait(Duration span) {
    session_.runtime->run([](runtime::Runtime& runtime, Duration time) -> runtime::task<void> {
      co_await runtime.sleep(time);
    }(*session_.runtime, span));
  }

 private:
  NodeReport report_of(const std::string& name, const HostPort& place) {
    NodeReport out;
    out.name = name;
    if (place.host.empty()) {
      out.trouble = "it is no member of the cluster";
      return out;
    }
    const auto leader = node::only<node::LeaderView>(ask(session_, place, node::AskLeader(), timeout_));
    const auto quorum = leader ? node::only<node::QuorumView>(ask(session_, place, node::AskQuorum(), timeout_))
                               : tl::unexpected(leader.error());
    if (!quorum) {
      out.trouble = quorum.error().message;
      return out;
    }
    out.leader = leader->name;
    out.term = leader->term;
    out.acts = out.leader == name && leader->valid_for > Duration();
    out.obstacle = quorum->obstacle;
    out.stands_back = quorum->stands_back;
    out.alive = quorum->alive;
    out.needed = quorum->needed;
    // Where no scores are voted on that is refused.
    if (const auto votes = node::only<node::VotesAnswer>(ask(session_, place, node::AskVotes(), timeout_)))
      take(*votes, out);
    return out;
  }

  OperatorSession& session_;
  Duration timeout_;
  std::map<std::string, HostPort> places_;  // by name; nowhere: it is no member
};

}  // namespace

std::optional<std::size_t> examine_cluster(const OperatorOptions& options, Duration watch_for, lead::Findings& out) {
  auto session = open_operator_session(options, "bellwether doctor");
  if (!session) return std::nullopt;
  ClusterLook look(*session, options.timeout);
  if (const Status found = look.find(); !found) {
    out.push_back({lead::Severity::kCritical, "the cluster cannot be asked", found.error().message,
                   "nobody can tell who leads it", "bellwether cluster members --config " + options.settings.file});
    return 0;
  }
  const Instant end = session->runtime->read_clock() + watch_for;
  std::vector<NodeReport> nodes = look.look();
  while (std::ranges::none_of(nodes, &NodeReport::acts) && session->runtime->read_clock() < end) {
    look.wait(kBetweenLooks);
    nodes = look.look();
  }
  judge_votes(nodes, options.settings.file, {}, out);
  return nodes.size();
}

}  // namespace bellwether::cli
