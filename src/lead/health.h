// Judges from observations whether leadership is healthy: each finding states its grounds, why it matters and the
// command to run. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/time.h"
#include "election/lease_record.h"
#include "lead/agents/agent_registry.h"
#include "lead/agents/task_queue.h"
#include "lead/policy/policy.h"

namespace bellwether::lead {

enum class Severity : unsigned char { kNote, kWarning, kCritical };
std::string_view to_string(Severity severity);

struct Finding {
  Severity severity = Severity::kNote;
  std::string what;
  std::string evidence;
  std::string why;
  std::string command;  // to run next
};
using Findings = std::vector<Finding>;

// The figures at which health ends.
struct HealthLimits {
  std::size_t churn_warning = 5;  // changes of leader in an hour
  std::size_t churn_critical = 10;
  std::size_t restarts_most = 20;  // by the watchdog, in an hour
  Duration clock_difference = Duration::seconds(5);
};

// Several looks at one key, in the order in which they were made.
struct LeaseLooks {
  std::string via;
  std::string key;
  std::vector<election::Observation> seen;
  bool holder_expected = true;  // false: a loop that gives its key back after each tick
};
void judge_lease(const LeaseLooks& looks, WallTime now, const HealthLimits& limits, Findings& out);

// `epochs`: how much the epoch of the key grew within the last hour.
void judge_churn(const std::string& key, uint64_t epochs, const HealthLimits& limits, Findings& out);

void judge_registry(const std::string& path, const AgentRegistry& registry, const AgentAges& ages, WallTime now,
                    Findings& out);

void judge_queue(const std::string& path, const TaskQueue& queue, Findings& out);

void judge_watchdog(const std::string& path, std::size_t restarts_last_hour, const std::string& last_cause,
                    const HealthLimits& limits, Findings& out);

// Promises of a policy sheet that its values cannot keep.
void judge_budget(const Policy& policy, const LoopPolicy& loop, const LoopBudget& budget, Findings& out);

Severity worst_of(const Findings& findings);

}  // namespace bellwether::lead

namespace bellwether::node {

// Judges from the nodes' reports whether a cluster has its one leader: elections that come too often, two leaders at
// once, no leader, lost heartbeats. Pure.

// The report of one node. If it did not answer, only `name` and `trouble` are valid.
struct NodeReport {
  struct Follower {
    std::string name;
    uint64_t lately = 0;  // heartbeats that it was to answer
    uint64_t missed_lately = 0;
  };
  std::string name;
  std::string trouble;  // why it could not be asked; empty: it was
  std::string leader;   // that it knows of; empty: none
  bool acts = false;    // as the leader, at all times that it was asked
  uint64_t term = 0;
  std::string stands_back;  // why it does not lead now, although it could; or cannot stand
  std::string obstacle;     // why it can neither stand nor name the leader
  std::size_t alive = 0;    // voters, as it sees them
  std::size_t needed = 0;
  // For votes by score.
  std::string rule;      // "majority", or an unsafe one; empty: no votes by score
  std::string last_end;  // of the last election without a winner: why; else empty
  std::size_t elections_last_hour = 0;
  std::size_t failed_last_hour = 0;
  std::vector<std::string> doubts;       // "b: a score of ...": the candidates that it does not vote for, and why
  std::vector<std::string> unsigned_of;  // nodes that do not sign with the key that it has of them
  std::vector<Follower> followers;       // of its heartbeats
};

struct VoteHealthLimits {
  lead::HealthLimits churn;
  double missed_warning = 0.1;  // of the heartbeats of late
  double missed_critical = 0.5;
  uint64_t beats_needed = 20;  // fewer say nothing
};

// `cluster`: its name for --cluster, as a word of a shell; proposed commands use it.
void judge_votes(const std::vector<NodeReport>& nodes, const std::string& cluster, const VoteHealthLimits& limits,
                 lead::Findings& out);

}  // namespace bellwether::node
