// The state that a leader hands to the next one beside the office: the condition of the cluster, the assigned work, the
// settings, and the queue as the leader last saw it.
//
// Requests do not depend on it: the new leader takes them from the register. So a target can accept a faulty state in
// part, and it names the dropped parts.
//
// As bytes: a head (the letters BWCF, a version), then each field once and in order as number, length, bytes and the
// SHA-256 of the bytes, then the SHA-256 of everything before it. The digest of each field shows which one was damaged.
// A newer program may add fields, which an older one names and skips.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "election/context/request_queue.h"

namespace bellwether::context_lead {

inline constexpr std::size_t kMaxStateBytes = 1024 * 1024;
inline constexpr uint32_t kStateFormat = 1;

// SHA-256 (FIPS 180-4). A pure room has no implementation.
using Digest = std::array<std::byte, 32>;
using DigestOf = Digest (*)(Bytes);

// A context manager as it was registered.
struct ManagerConfig {
  std::string name;
  uint32_t slots = 1;  // jobs at once, 1 to 1,000
  // kInvalid, and why.
  Status validate() const;
  bool operator==(const ManagerConfig&) const = default;
};
struct ClusterState {
  std::vector<NodeId> members;
  WallTime last_election;
  bool operator==(const ClusterState&) const = default;
};
struct ResourceAllocation {
  double cores = 0;
  uint64_t memory_bytes = 0;
  bool operator==(const ResourceAllocation&) const = default;
};
struct GenerationPolicy {
  bool automatic_start = true;
  Duration start_delay;
  Duration stop_timeout;
  double cluster_threshold = 0;
  double leader_threshold = 0;
  bool operator==(const GenerationPolicy&) const = default;
};
struct QueuePolicy {
  uint32_t most_requests = kMaxRequests;
  Duration drain_timeout;
  uint8_t tries = 1;
  bool keep_completed = true;
  bool operator==(const QueuePolicy&) const = default;
};
struct QueueHealth {
  uint32_t queued = 0;
  uint32_t active = 0;
  Duration oldest_waiting;
  bool operator==(const QueueHealth&) const = default;
};
struct ContextClusterHealth {
  uint32_t total_nodes = 0;
  uint32_t healthy_nodes = 0;
  std::vector<NodeId> unhealthy_nodes;
  NodeId current_leader;
  bool leader_healthy = false;
  bool generation_active = false;
  QueueHealth queue;
  std::map<NodeId, double> node_healths;  // 0 to 1
  WallTime last_election;
  WallTime next_health_check;
  double overall = 0;  // 0 to 1
  bool operator==(const ContextClusterHealth&) const = default;
};

// The fields of a FailoverState, by their numbers in the bytes.
enum class StateField : uint8_t {
  kLeader = 1,
  kTerm,
  kTransferTime,
  kQueuedRequests,
  kActiveJobs,
  kCompletedJobs,
  kClusterState,
  kResourceAllocations,
  kNodeAssignments,
  kManagerConfig,
  kGenerationPolicy,
  kQueuePolicy,
  kStateVersion,
  kHealthSnapshot,
  kTransferReason,
  kTransferSource,
  kTransferDuration,
  kValidationResults,
  kChecksum,  // of all before it; no separate field
  kForm,      // the bytes as a whole
};
// "leader_id", "term", "queued_requests", … ; of a number that is none: "unknown".
std::string_view to_string(StateField field);

struct StateIssue {
  StateField field = StateField::kForm;
  std::string text;
  bool operator==(const StateIssue&) const = default;
};

struct StateValidation {
  WallTime validated_at;
  NodeId validated_by;
  bool checksum_valid = false;
  std::vector<StateIssue> issues;

  bool valid() const { return issues.empty(); }
  bool operator==(const StateValidation&) const = default;
};

struct FailoverState {
  NodeId leader;  // the node that hands over
  Epoch term;     // under which it leads
  WallTime transfer_time;

  std::vector<LiveRequest> queued_requests;
  std::vector<LiveRequest> active_jobs;  // none after a drain
  std::vector<FinishedRequest> completed_jobs;

  ClusterState cluster_state;
  std::map<std::string, ResourceAllocation> resource_allocations;
  std::map<std::string, std::vector<std::string>> node_assignments;

  ManagerConfig manager_config;
  GenerationPolicy generation_policy;
  QueuePolicy queue_policy;

  uint64_t state_version = 0;  // counts the states that this leader has handed out; 0: none
  ContextClusterHealth health_snapshot;

  std::string transfer_reason;
  std::string transfer_source;
  Duration transfer_duration;          // from the wish to the bytes
  StateValidation validation_results;  // of the node that handed the state over; of the first leader: empty
  bool operator==(const FailoverState&) const = default;
};

// With its checksum. kTooLarge: a list or text beyond its bounds, or all of it beyond kMaxStateBytes.
Result<std::string> encode(const FailoverState& state, DigestOf digest);

// The result of reading foreign bytes: `state` has the fields without an issue, all others are empty.
struct ReadState {
  FailoverState state;
  StateValidation validation;
};
// Never fails: each fault is an issue of its field, with the expected value. `now`: the wall clock here.
ReadState read_state(std::string_view bytes, DigestOf digest, WallTime now, NodeId self);

struct RecoveredState {
  FailoverState state;              // valid: the fields without an issue, and defaults for the rest
  std::vector<StateIssue> dropped;  // everything that is not in it
};
// The sound part of a state with issues. kInvalid: its sender is unknown, so nothing of it is accepted.
Result<RecoveredState> recover(ReadState read);

}  // namespace bellwether::context_lead
