// What a node knows of the leadership of contexts at a moment, for people and pages. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "election/context/request.h"

namespace bellwether::cluster {

// What the jobs of a node have come to since its start. Those that were stopped count for neither.
struct ContextWork {
  uint64_t done = 0;
  uint64_t failed = 0;
  Duration time;  // of all these, together
};

// Whether a node could lead contexts, by what it has measured of itself.
struct ContextFitness {
  double score = 0;  // 0 to 1; 0: disqualified
  std::vector<std::string> disqualified;
  std::vector<std::string> lacks_preferred;
  bool operator==(const ContextFitness&) const = default;
};

struct ContextView {
  struct Node {
    std::string name;
    double health = 0;  // 0 to 1
    bool operator==(const Node&) const = default;
  };
  struct Step {
    std::string text;
    WallTime at;
    bool operator==(const Step&) const = default;
  };
  struct Failover {
    std::string from;  // empty: nobody had led
    std::string to;
    Duration took;
    bool ok = false;
    std::string why;  // it was not
    std::vector<Step> steps;
    bool operator==(const Failover&) const = default;
  };
  struct Job {
    context_lead::RequestId id;
    uint32_t attempt = 0;
    Duration runs_for;
    bool operator==(const Job&) const = default;
  };

  std::string answered_by;
  std::string leader;  // empty: nobody is known to lead
  uint64_t epoch = 0;
  uint64_t terms = 0;
  std::string duty;
  std::string why;
  std::string manager;  // of the node that answers; empty: none is registered
  uint64_t queued = 0;
  uint64_t active = 0;
  uint64_t completed = 0;
  uint64_t failed = 0;
  Duration oldest_waiting;
  Duration leads_for;
  double health = 0;  // of the cluster, 0 to 1; counts when `checked`
  bool checked = false;
  std::vector<Node> nodes;
  std::vector<Job> jobs;
  uint64_t failovers = 0;  // that this node took part in, since its start
  std::optional<Failover> failover;
  std::optional<ContextFitness> fitness;  // of the node that answers
  bool operator==(const ContextView&) const = default;
};

}  // namespace bellwether::cluster
