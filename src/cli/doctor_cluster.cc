#include "cli/doctor_cluster.h"

#include <algorithm>
#include <map>

#include "node/cluster/vote_health.h"
#include "proto/admin.pb.h"

namespace bellwether::cli {
namespace {

using node::NodeReport;
using wire::AdminAnswer;
using wire::AdminRequest;

constexpr Duration kBetweenLooks = Duration::millis(200);

enum class Question : unsigned char { kMembers, kLeader, kQuorum, kVotes };

AdminRequest request_for(Question question) {
  AdminRequest request;
  switch (question) {
    case Question::kMembers: request.mutable_members(); break;
    case Question::kLeader: request.mutable_leader(); break;
    case Question::kQuorum: request.mutable_quorum(); break;
    case Question::kVotes: request.mutable_votes(); break;
  }
  return request;
}

void take(const AdminAnswer::Votes& votes, NodeReport& into) {
  into.rule = votes.rule();
  if (votes.over() && votes.winner().empty()) into.last_end = votes.why();
  into.elections_last_hour = votes.elections_last_hour();
  into.failed_last_hour = votes.failed_last_hour();
  for (const auto& one : votes.nodes()) {
    if (!one.doubt().empty()) into.doubts.push_back(one.name() + ": " + one.doubt());
  }
  into.unsigned_of.assign(votes.unsigned_of().begin(), votes.unsigned_of().end());
  for (const auto& one : votes.followers()) {
    into.followers.push_back({one.name(), one.lately(), one.missed_lately()});
  }
}

class ClusterLook {
 public:
  ClusterLook(OperatorSession& session, Duration timeout) : session_(session), timeout_(timeout) {}

  // Who votes, and where; where a store decides who leads, who may lead.
  Status find() {
    const auto members = ask_any(session_, request_for(Question::kMembers), timeout_);
    if (!members) return tl::unexpected(members.error());
    const auto quorum = ask_any(session_, request_for(Question::kQuorum), timeout_);
    if (!quorum) return tl::unexpected(quorum.error());
    for (const auto& one : quorum->quorum().voters()) places_[one.name()];
    const bool votes = !places_.empty();
    for (const auto& one : members->members().members()) {
      const bool there = one.state() == "alive" || one.state() == "suspect";
      if (votes ? !places_.contains(one.name()) : one.role() == "worker" || !there) continue;
      const auto place = parse_host_port(one.address(), cluster::kDefaultPort);
      if (place) places_[one.name()] = *place;
    }
    return {};
  }

  std::vector<NodeReport> look() {
    std::vector<NodeReport> out;
    for (const auto& [name, place] : places_) out.push_back(report_of(name, place));
    // Who acts now and has acted before all others were asked has acted all the time between.
    for (NodeReport& one : out) {
      if (!one.acts) continue;
      const auto again = ask(session_, places_.at(one.name), request_for(Question::kLeader), timeout_);
      one.acts = again && again->leader().valid_for_ms() > 0 && again->leader().term() == one.term;
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
    const auto leader = ask(session_, place, request_for(Question::kLeader), timeout_);
    const auto quorum =
        leader ? ask(session_, place, request_for(Question::kQuorum), timeout_) : tl::unexpected(leader.error());
    if (!quorum) {
      out.trouble = quorum.error().message;
      return out;
    }
    out.leader = leader->leader().name();
    out.term = leader->leader().term();
    out.acts = out.leader == name && leader->leader().valid_for_ms() > 0;
    out.obstacle = quorum->quorum().obstacle();
    out.stands_back = quorum->quorum().stands_back();
    out.alive = quorum->quorum().alive();
    out.needed = quorum->quorum().needed();
    // Where no scores are voted on that is refused.
    if (const auto votes = ask(session_, place, request_for(Question::kVotes), timeout_)) take(votes->votes(), out);
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
