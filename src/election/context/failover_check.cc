// What is expected of each field of a FailoverState, in words.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/units.h"
#include "election/context/failover_fields.h"

namespace bellwether::context_lead::judge {
namespace {

constexpr int64_t kMostClockLead = 60'000'000'000;

bool is_ratio(double value) { return value >= 0 && value <= 1; }
bool is_span(Duration span) { return span >= Duration::zero() && span <= Duration::hours(24); }
bool is_text(const std::string& text) { return !text.empty() && text.size() <= kMostTextBytes; }
bool is_ahead(WallTime time, WallTime now) { return time.unix_ns > now.unix_ns + kMostClockLead; }

// Of live requests in a list of their own: those that are active, or those that are not.
std::string live(const std::vector<LiveRequest>& list, bool active, WallTime now) {
  if (list.size() > kMostRequests) {
    return format_count(list.size(), "request") + "; at most " + format_count(kMostRequests);
  }
  std::set<RequestId> ids;
  for (const LiveRequest& one : list) {
    const std::string who = "request " + to_string(one.id);
    if (one.id == RequestId{}) return "a request without an id";
    if (!ids.insert(one.id).second) return who + " is there twice";
    if (one.is_active() != active) return who + (active ? " has no attempt that runs" : " is active already");
    if (active && one.attempts == 0) return who + " runs in an attempt 0; attempts count from 1";
    if (one.failures > one.attempts) return who + " has failed more often than it was tried";
    if (is_ahead(one.submitted_at, now)) return who + " was submitted in the future; look at the clocks";
  }
  return {};
}

}  // namespace

std::string leader(const FailoverState& state, WallTime) {
  return state.leader == NodeId() ? "missing; expected the node that hands over" : "";
}

std::string term(const FailoverState& state, WallTime) {
  return state.term == Epoch() ? "0; expected the epoch of a leader, 1 or more" : "";
}

std::string transfer_time(const FailoverState& state, WallTime now) {
  if (state.transfer_time.unix_ns <= 0) return "missing; expected the time of the transfer";
  return is_ahead(state.transfer_time, now) ? "more than 1m in the future; look at the clocks of both nodes" : "";
}

std::string queued(const FailoverState& state, WallTime now) { return live(state.queued_requests, false, now); }

std::string active(const FailoverState& state, WallTime now) {
  if (std::string wrong = live(state.active_jobs, true, now); !wrong.empty()) return wrong;
  for (const LiveRequest& one : state.active_jobs) {
    if (state.term != Epoch() && one.active_under > state.term) {
      return "request " + to_string(one.id) + " runs under an epoch after that of its leader";
    }
    for (const LiveRequest& other : state.queued_requests) {
      if (one.id == other.id) return "request " + to_string(one.id) + " is queued too";
    }
  }
  return {};
}

std::string completed(const FailoverState& state, WallTime) {
  std::set<RequestId> ids;
  for (const auto* list : {&state.queued_requests, &state.active_jobs}) {
    for (const LiveRequest& one : *list) ids.insert(one.id);
  }
  for (const FinishedRequest& one : state.completed_jobs) {
    const std::string who = "request " + to_string(one.id);
    if (one.id == RequestId{}) return "a request without an id";
    if (!ids.insert(one.id).second) return who + " is finished, and there once more";
    if (one.fence.epoch == Epoch() || one.fence.attempt == 0) return who + " was finished by no attempt";
  }
  return {};
}

std::string cluster(const FailoverState& state, WallTime now) {
  const std::vector<NodeId>& members = state.cluster_state.members;
  if (members.empty()) return "no members; expected all that are declared";
  const std::set<NodeId> ids(members.begin(), members.end());
  if (ids.size() != members.size()) return "a member is there twice";
  if (ids.contains(NodeId())) return "a member has the number 0; nodes count from 1";
  if (state.leader != NodeId() && !ids.contains(state.leader)) return "the leader is no member";
  return is_ahead(state.cluster_state.last_election, now) ? "the last election was in the future" : "";
}

std::string resources(const FailoverState& state, WallTime) {
  for (const auto& [name, one] : state.resource_allocations) {
    if (!is_text(name)) return "a resource without a name of 1 to 200 bytes";
    if (!(one.cores >= 0 && one.cores <= 1e6)) return "the cores of '" + name + "' are not within 0 to 1,000,000";
  }
  return {};
}

std::string assignments(const FailoverState& state, WallTime) {
  for (const auto& [node, tasks] : state.node_assignments) {
    if (!is_text(node)) return "a node without a name of 1 to 200 bytes";
    if (!std::all_of(tasks.begin(), tasks.end(), is_text)) return "'" + node + "' has an assignment without a name";
  }
  return {};
}

std::string manager(const FailoverState& state, WallTime) {
  if (!is_text(state.manager_config.name)) return "no name of the context manager; expected 1 to 200 bytes";
  const uint32_t slots = state.manager_config.slots;
  return slots == 0 || slots > kMostRequests ? std::to_string(slots) + " jobs at once; expected 1 to 1,000" : "";
}

std::string generation(const FailoverState& state, WallTime) {
  const GenerationPolicy& policy = state.generation_policy;
  if (!is_span(policy.start_delay) || !is_span(policy.stop_timeout)) return "a time that is not within 0 to 24h";
  return is_ratio(policy.cluster_threshold) && is_ratio(policy.leader_threshold)
             ? ""
             : "a threshold of health that is not within 0 to 1";
}

std::string queue(const FailoverState& state, WallTime) {
  const QueuePolicy& policy = state.queue_policy;
  if (policy.most_requests == 0 || policy.most_requests > kMostRequests) return "a queue that is not of 1 to 1,000";
  if (!is_span(policy.drain_timeout)) return "a drain timeout that is not within 0 to 24h";
  return policy.tries == 0 ? "0 tries; expected 1 or more" : "";
}

std::string version(const FailoverState& state, WallTime) {
  return state.state_version == 0 ? "0; expected 1 or more" : "";
}

std::string health(const FailoverState& state, WallTime) {
  const ContextClusterHealth& health = state.health_snapshot;
  if (!is_ratio(health.overall)) return "an overall health that is not within 0 to 1";
  if (health.healthy_nodes > health.total_nodes) return "more healthy nodes than nodes";
  if (health.unhealthy_nodes.size() > health.total_nodes) return "more unhealthy nodes than nodes";
  if (health.queue.oldest_waiting < Duration::zero()) return "a request that waits for less than nothing";
  for (const auto& [node, score] : health.node_healths) {
    if (!is_ratio(score)) return "the health of node " + std::to_string(node.value()) + " is not within 0 to 1";
  }
  return {};
}

std::string reason(const FailoverState& state, WallTime) {
  return is_text(state.transfer_reason) ? "" : "missing; expected why, in 1 to 200 bytes";
}

std::string source(const FailoverState& state, WallTime) {
  return is_text(state.transfer_source) ? "" : "missing; expected who wanted it, in 1 to 200 bytes";
}

std::string duration(const FailoverState& state, WallTime) {
  return is_span(state.transfer_duration) ? "" : "not within 0 to 24h";
}

std::string validation(const FailoverState& state, WallTime now) {
  return is_ahead(state.validation_results.validated_at, now) ? "done in the future; look at the clocks" : "";
}

}  // namespace bellwether::context_lead::judge
