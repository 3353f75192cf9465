#include "lead/vote_health.h"

#include <algorithm>

#include "core/base/units.h"

namespace bellwether::node {
namespace {

using lead::Findings;
using lead::Severity;

void add_to(std::string& list, const std::string& one) { list += (list.empty() ? "" : "; ") + one; }

void judge_reach(const std::vector<NodeReport>& nodes, const std::string& cluster, Findings& out) {
  std::string troubles;
  for (const NodeReport& one : nodes) {
    if (!one.trouble.empty()) add_to(troubles, fmt::format("{}: {}", one.name, one.trouble));
  }
  if (troubles.empty()) return;
  out.push_back({Severity::kWarning, "voters do not answer", troubles,
                 "each missing voter reduces the number of voters that the cluster can lose; the findings below do not "
                 "cover them",
                 "bellwether cluster members --cluster " + cluster});
}

void judge_two(const std::vector<NodeReport>& nodes, const std::string& cluster, Findings& out) {
  std::string who;
  std::size_t count = 0;
  bool unsafe = false;
  for (const NodeReport& one : nodes) {
    if (!one.acts) continue;
    ++count;
    add_to(who, fmt::format("{} in term {}", one.name, one.term));
    unsafe |= !one.rule.empty() && one.rule != "majority";
  }
  if (count < 2) return;
  out.push_back(
      {Severity::kCritical, "two nodes lead at once", who,
       unsafe ? "the rule of this vote permits two leaders in a network partition: their work is done twice. With "
                "three nodes or more, vote.quorum: majority prevents it"
              : "a majority cannot have elected both: their `voters` differ, or a node votes twice because two "
                "processes have its name or its disk was set back. Their work is done twice",
       fmt::format("bellwether cluster quorum --cluster {} (on each side; then repair the network or correct `voters`)",
                   cluster)});
}

// Why the cluster has no leader, as far as the asked nodes know.
std::string causes_of(const std::vector<NodeReport>& asked) {
  std::string causes;
  for (const NodeReport& one : asked) {
    if (one.alive < one.needed) {
      add_to(causes,
             fmt::format("{} sees {} alive; {} are needed", one.name, format_count(one.alive, "voter"), one.needed));
    }
    if (!one.obstacle.empty()) add_to(causes, fmt::format("{}: {}", one.name, one.obstacle));
    if (!one.stands_back.empty()) add_to(causes, fmt::format("{}: {}", one.name, one.stands_back));
    if (!one.last_end.empty()) add_to(causes, fmt::format("{}, last election: {}", one.name, one.last_end));
    for (const std::string& doubt : one.doubts) add_to(causes, fmt::format("{} does not believe {}", one.name, doubt));
    for (const std::string& name : one.unsigned_of)
      add_to(causes, fmt::format("{} has another key of {}", one.name, name));
  }
  return causes;
}

void judge_none(const std::vector<NodeReport>& nodes, const std::string& cluster, Findings& out) {
  std::vector<NodeReport> asked;
  std::ranges::copy_if(nodes, std::back_inserter(asked), [](const NodeReport& one) { return one.trouble.empty(); });
  if (std::ranges::any_of(asked, &NodeReport::acts)) return;
  std::string causes = causes_of(asked);
  if (asked.empty()) {
    causes = "no voter could be asked";
  } else if (causes.empty()) {
    causes = "no node reports a reason: an election may be in progress";
  }
  const bool no_quorum = std::ranges::any_of(asked, [](const NodeReport& one) { return one.alive < one.needed; });
  const bool none_stands =
      !asked.empty() && std::ranges::all_of(asked, [](const NodeReport& one) { return !one.stands_back.empty(); });
  std::string remedy = "run this again with a longer --for; then bellwether cluster votes --cluster " + cluster;
  if (no_quorum) {
    remedy = "start the missing voters, or repair the network between them";
  } else if (none_stands) {
    remedy = "give a node a capability that permits a candidacy: agent.capabilities: [admin_election]";
  }
  out.push_back(
      {Severity::kCritical, "no node leads", causes, "the leader's work is not done, and clients are refused", remedy});
}

void judge_keys(const std::vector<NodeReport>& nodes, Findings& out) {
  std::string who;
  for (const NodeReport& one : nodes) {
    for (const std::string& name : one.unsigned_of)
      add_to(who, fmt::format("{} refuses the messages of {}", one.name, name));
  }
  if (who.empty()) return;
  out.push_back({Severity::kWarning, "keys of voters do not match", who,
                 "a voter whose messages are refused counts as lost: the next loss may leave no majority",
                 "run openssl pkey -in NAME.key -pubout on its machine: the output must be the same as NAME.pem in "
                 "vote.keys of the other nodes"});
}

void judge_elections(const std::vector<NodeReport>& nodes, const std::string& cluster, const lead::HealthLimits& limits,
                     Findings& out) {
  const auto most = std::ranges::max_element(nodes, {}, &NodeReport::elections_last_hour);
  if (most == nodes.end() || most->elections_last_hour < limits.churn_warning) return;
  out.push_back(
      {most->elections_last_hour >= limits.churn_critical ? Severity::kCritical : Severity::kWarning,
       "there are too many elections",
       fmt::format("{} took part in {} within the last hour, {} of them without a winner; 0 or 1 is healthy",
                   most->name, format_count(most->elections_last_hour, "election"), most->failed_last_hour),
       "each costs time without a leader. Causes: nodes or networks stall for longer than heartbeat_timeout, the order "
       "of scores changes, or an operator calls elections",
       fmt::format(
           "bellwether cluster votes --messages --cluster {}; then lengthen security.election_config.heartbeat_timeout",
           cluster)});
}

void judge_beats(const std::vector<NodeReport>& nodes, const VoteHealthLimits& limits, Findings& out) {
  for (const NodeReport& leader : nodes) {
    if (!leader.acts) continue;
    std::string who;
    double worst = 0;
    for (const NodeReport::Follower& one : leader.followers) {
      const auto there = std::ranges::find(nodes, one.name, &NodeReport::name);
      // A missing node answers nothing, which is reported above.
      if (there == nodes.end() || !there->trouble.empty() || one.lately < limits.beats_needed) continue;
      const double ratio = static_cast<double>(one.missed_lately) / static_cast<double>(one.lately);
      if (ratio < limits.missed_warning) continue;
      worst = std::max(worst, ratio);
      add_to(who, fmt::format("{} has not answered {} of the last {} of {} in time", one.name, one.missed_lately,
                              format_count(one.lately, "heartbeat"), leader.name));
    }
    if (who.empty()) continue;
    out.push_back({worst >= limits.missed_critical ? Severity::kCritical : Severity::kWarning, "heartbeats are lost",
                   who,
                   "a few more in a row, and a healthy leader loses its office. Packets are lost, or the network or "
                   "the machines are too slow for these times",
                   "ping the nodes; then repair the network, or lengthen security.election_config.heartbeat_timeout"});
  }
}

}  // namespace

void judge_votes(const std::vector<NodeReport>& nodes, const std::string& cluster, const VoteHealthLimits& limits,
                 Findings& out) {
  judge_reach(nodes, cluster, out);
  judge_two(nodes, cluster, out);
  judge_none(nodes, cluster, out);
  judge_keys(nodes, out);
  judge_elections(nodes, cluster, limits.churn, out);
  judge_beats(nodes, limits, out);
}

}  // namespace bellwether::node
