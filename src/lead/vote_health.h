// Judges from the nodes' reports whether a cluster has its one leader: elections that come too often, two leaders at
// once, no leader, lost heartbeats. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lead/agents/health.h"

namespace bellwether::node {

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
