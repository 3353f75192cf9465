#include "lead/health.h"

#include <algorithm>

#include "core/base/enum_names.h"
#include "core/base/units.h"

namespace bellwether::lead {
namespace {

constexpr std::size_t kMaxNamed = 5;

using election::LeaseRecord;
using election::Observation;

std::string show(const LeaseLooks& looks) {
  return fmt::format("bellwether lease show --via {} --key {}", looks.via, looks.key);
}

std::string of_epoch(const LeaseRecord& record) {
  return fmt::format("{} under epoch {}", record.held() ? record.holder : std::string("nobody"), record.epoch.value());
}

// Two looks that cannot both be true of one key.
void judge_contradictions(const LeaseLooks& looks, Findings& out) {
  for (std::size_t i = 1; i < looks.seen.size(); ++i) {
    const LeaseRecord& before = looks.seen[i - 1].record;
    const LeaseRecord& after = looks.seen[i].record;
    const std::string evidence = fmt::format("first {}, then {}", of_epoch(before), of_epoch(after));
    if (before.held() && after.held() && before.epoch == after.epoch && before.token != after.token) {
      out.push_back({Severity::kCritical, fmt::format("two leaders of '{}' under one epoch", looks.key), evidence,
                     "two processes act at once, and fencing cannot distinguish them. Cause: two stores behind one "
                     "URL, or a program that overwrites the lease",
                     "stop one of them; then " + show(looks)});
      return;
    }
    if (after.epoch < before.epoch) {
      out.push_back({Severity::kCritical, fmt::format("the epoch of '{}' went back", looks.key), evidence,
                     "the store has lost data, or two stores answer in turn: resources that are fenced by the epoch "
                     "refuse the new holder or trust the old one",
                     show(looks) + "; check the store's persistence and failover"});
      return;
    }
  }
}

void judge_holder(const LeaseLooks& looks, const Observation& last, WallTime now, const HealthLimits& limits,
                  Findings& out) {
  const LeaseRecord& record = last.record;
  const Duration age = Duration::nanos(now.unix_ns) - Duration::nanos(record.renewed_at.unix_ns);
  const std::string evidence =
      fmt::format("held by {}, renewed {}, lease {}", of_epoch(record),
                  age < Duration::zero() ? format_duration(-age) + " in the future"
                                         : format_duration(Duration::millis(age.ms())) + " ago",
                  format_duration(record.lease));
  if (last.sight == election::HolderSight::kDead) {
    out.push_back({Severity::kWarning, fmt::format("the holder of '{}' is dead", looks.key), evidence,
                   "the work is not done until a standby checks the key", "start a standby; " + show(looks)});
    return;
  }
  if (record.renewed_at.unix_ns == 0 || record.lease <= Duration::zero()) return;
  if (age < -limits.clock_difference) {
    out.push_back({Severity::kWarning, fmt::format("clock skew: '{}' was renewed in the future", looks.key), evidence,
                   "the clocks of the holder and of this machine differ. Leases do not depend on them, but the ages of "
                   "agents, logs and this report do",
                   "chronyc tracking (or timedatectl) on both machines"});
  } else if (last.left ? *last.left <= Duration::zero() : age > record.lease) {
    out.push_back({Severity::kCritical,
                   fmt::format("the lease of '{}' has expired, and no candidate has taken the key", looks.key),
                   evidence, "no standby is alive, or none reaches the store: work accumulates",
                   "start a standby; then " + show(looks)});
  } else if (!last.left && age > record.lease * 4 / 9) {
    out.push_back({Severity::kWarning, fmt::format("the heartbeat of '{}' is late", looks.key), evidence,
                   "a healthy holder renews every third of its lease; after a little more time the leader changes. If "
                   "that happens often, raise the TTL or renew more often",
                   fmt::format("bellwether budget --via {} --ttl {}", looks.via, format_duration(record.lease))});
  }
}

}  // namespace

std::string_view to_string(Severity severity) { return EnumNames<Severity>("note", "warning", "critical")[severity]; }

void judge_lease(const LeaseLooks& looks, WallTime now, const HealthLimits& limits, Findings& out) {
  if (looks.seen.empty()) return;
  judge_contradictions(looks, out);
  const Observation& last = looks.seen.back();
  if (last.may_have_lost_data) {
    out.push_back({Severity::kCritical, fmt::format("the store of '{}' may have lost data", looks.key),
                   last.evidence.empty() ? "it shows an older state than before" : last.evidence,
                   "candidates do not take the key for a whole lease, because another one may still hold it",
                   show(looks) + "; check the store's persistence"});
  } else if (!last.evidence.empty()) {
    // A record by another program is worth a note, and no fault.
    const Severity severity = last.foreign && last.record.held() ? Severity::kNote : Severity::kWarning;
    out.push_back({severity, fmt::format("the record of '{}' is unusual", looks.key), last.evidence,
                   "another program changed the file or key, or it is torn; Bellwether does not guess its contents",
                   show(looks)});
  }
  const bool held =
      std::any_of(looks.seen.begin(), looks.seen.end(), [](const Observation& seen) { return seen.record.held(); });
  if (held) {
    if (last.record.held()) judge_holder(looks, last, now, limits, out);
  } else if (looks.holder_expected) {
    out.push_back({Severity::kCritical, fmt::format("'{}' has no holder", looks.key),
                   last.present ? "last change: " + last.record.cause : std::string("there is no record of the key"),
                   "no process does the work of this key", "start a candidate; " + show(looks)});
  }
}

void judge_churn(const std::string& key, uint64_t epochs, const HealthLimits& limits, Findings& out) {
  if (epochs < limits.churn_warning) return;
  const bool critical = epochs >= limits.churn_critical;
  out.push_back({critical ? Severity::kCritical : Severity::kWarning,
                 fmt::format("the leader of '{}' changes too often", key),
                 format_count(epochs, "change") + " within the last hour; 0 or 1 is healthy",
                 "each change costs a takeover. Renewals come too late for the TTL: raise it, or renew more often",
                 "bellwether budget --profile lenient"});
}

void judge_registry(const std::string& path, const AgentRegistry& registry, const AgentAges& ages, WallTime now,
                    Findings& out) {
  std::string silent;
  std::string ahead;
  for (const Agent& agent : registry.agents()) {
    if (is_from_future(agent, now)) ahead += fmt::format("{}{} on {}", ahead.empty() ? "" : ", ", agent.id, agent.host);
    const AgentStatus status = status_of(agent, now, ages);
    if (status == AgentStatus::kActive) continue;
    silent += fmt::format("{}{} ({})", silent.empty() ? "" : ", ", agent.id, to_string(status));
  }
  if (!silent.empty()) {
    out.push_back({Severity::kWarning, "agents are silent", silent,
                   "their tasks wait until the leader's cleanup returns them to the queue; dead agents that stay in "
                   "the list show that no leader cleans up",
                   fmt::format("bellwether agents heartbeat --registry {} --id LEADER --clean", path)});
  }
  if (!ahead.empty()) {
    out.push_back({Severity::kWarning, "clock skew: heartbeats from the future", ahead,
                   "these agents count as alive long after they died", "chronyc tracking (or timedatectl) there"});
  }
}

void judge_queue(const std::string& path, const TaskQueue& queue, Findings& out) {
  if (!queue.halted().empty()) {
    out.push_back({Severity::kCritical, "the queue is halted", queue.halted(), "no tasks are added or started",
                   "bellwether agents tasks resume --queue " + path});
  }
  std::string failed;
  std::size_t count = 0;
  for (const QueuedTask& task : queue.tasks()) {
    if (task.state != QueuedTask::State::kFailed) continue;
    if (++count <= kMaxNamed) failed += fmt::format("{}{}: {}", failed.empty() ? "" : "; ", task.name, task.outcome);
  }
  if (count == 0) return;
  if (count > kMaxNamed) failed += fmt::format("; and {} more", count - kMaxNamed);
  out.push_back({Severity::kWarning, format_count(count, "task") + " failed", failed,
                 "they are not retried automatically", "bellwether agents tasks retry --all --queue " + path});
}

void judge_watchdog(const std::string& path, std::size_t restarts_last_hour, const std::string& last_cause,
                    const HealthLimits& limits, Findings& out) {
  if (restarts_last_hour < limits.restarts_most) return;
  out.push_back({Severity::kWarning, "the watchdog restarts its process too often",
                 fmt::format("{} within the last hour ({}); the last: {}", format_count(restarts_last_hour, "restart"),
                             path, last_cause),
                 "restarting does not repair it", "run its command by hand and read its output"});
}

void judge_budget(const Policy& policy, const LoopPolicy& loop, const LoopBudget& budget, Findings& out) {
  if (budget.holds()) return;
  const bool slo = budget.slo_holds == false;
  out.push_back({Severity::kWarning, fmt::format("loop '{}' cannot meet its objective", loop.name),
                 fmt::format("{}, but after a crash: {} = {}",
                             slo ? "takeover_slo " + format_duration(*loop.takeover_slo)
                                 : "stale_window " + format_duration(*loop.stale_window),
                             budget.budget.crash_worst.formula(), budget.budget.crash_worst.arithmetic()),
                 "the next crash will violate it: failover is too slow for the objective",
                 "bellwether budget " + policy.file});
}

Severity worst_of(const Findings& findings) {
  Severity worst = Severity::kNote;
  for (const Finding& finding : findings) worst = std::max(worst, finding.severity);
  return worst;
}

}  // namespace bellwether::lead

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
