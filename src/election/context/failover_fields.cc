#include "election/context/failover_fields.h"

#include <utility>

namespace bellwether::context_lead {
namespace {

using Out = CanonicalWriter;
using In = CanonicalReader;

void put(Out& out, NodeId node) { out.u64(node.value()); }
void put(Out& out, Epoch epoch) { out.u64(epoch.value()); }
void put(Out& out, WallTime time) { out.wall(time); }
void put(Out& out, Duration span) { out.span(span); }
void put(Out& out, uint64_t number) { out.u64(number); }
void put(Out& out, double number) { out.real(number); }
void put(Out& out, const std::string& text) { out.text(text); }
void get(In& in, NodeId& node) { node = NodeId(in.u64()); }
void get(In& in, Epoch& epoch) { epoch = Epoch(in.u64()); }
void get(In& in, WallTime& time) { time = in.wall(); }
void get(In& in, Duration& span) { span = in.span(); }
void get(In& in, uint64_t& number) { number = in.u64(); }
void get(In& in, double& number) { number = in.real(); }
void get(In& in, std::string& text) { text = in.text(kMostTextBytes); }

void put(Out& out, RequestId id) { out.u64(id.high), out.u64(id.low); }
void get(In& in, RequestId& id) { id.high = in.u64(), id.low = in.u64(); }
void put(Out& out, const LiveRequest& one) {
  put(out, one.id);
  out.u8(one.priority);
  out.u8(one.failures);
  out.u32(one.attempts);
  put(out, one.active_under);
  out.wall(one.submitted_at);
}
void get(In& in, LiveRequest& one) {
  get(in, one.id);
  one.priority = in.u8();
  one.failures = in.u8();
  one.attempts = in.u32();
  get(in, one.active_under);
  one.submitted_at = in.wall();
}
void put(Out& out, const FinishedRequest& one) {
  put(out, one.id);
  out.u8(static_cast<uint8_t>(one.outcome));
  out.flag(one.settled);
  put(out, one.fence.epoch);
  out.u32(one.fence.attempt);
  out.wall(one.submitted_at);
  out.text(one.reason);
}
void get(In& in, FinishedRequest& one) {
  get(in, one.id);
  const uint8_t outcome = in.u8();
  if (outcome > static_cast<uint8_t>(Outcome::kFailed)) in.fail();
  one.outcome = static_cast<Outcome>(outcome);
  one.settled = in.flag();
  get(in, one.fence.epoch);
  one.fence.attempt = in.u32();
  one.submitted_at = in.wall();
  one.reason = in.text(kMostReasonBytes);
}
void put(Out& out, const ResourceAllocation& one) { out.real(one.cores), out.u64(one.memory_bytes); }
void get(In& in, ResourceAllocation& one) { one.cores = in.real(), one.memory_bytes = in.u64(); }
void put(Out& out, const StateIssue& one) { out.u8(static_cast<uint8_t>(one.field)), out.text(one.text); }
void get(In& in, StateIssue& one) {
  one.field = static_cast<StateField>(in.u8());
  one.text = in.text(kMostTextBytes);
}

template <class T>
void put(Out& out, const std::vector<T>& list) {
  out.u32(static_cast<uint32_t>(list.size()));
  for (const T& one : list) put(out, one);
}
template <class T>
void get(In& in, std::vector<T>& list) {
  for (std::size_t left = in.count(kMostListed); left > 0 && in.ok(); --left) get(in, list.emplace_back());
}
template <class K, class V>
void put(Out& out, const std::map<K, V>& map) {
  out.u32(static_cast<uint32_t>(map.size()));
  for (const auto& [key, value] : map) {
    put(out, key);
    put(out, value);
  }
}
// In ascending order of keys, as it was written: there is one way to write a map.
template <class K, class V>
void get(In& in, std::map<K, V>& map) {
  for (std::size_t left = in.count(kMostListed); left > 0 && in.ok(); --left) {
    K key{};
    get(in, key);
    if (!map.empty() && key <= map.rbegin()->first) in.fail();
    get(in, map[std::move(key)]);
  }
}

void put(Out& out, const ClusterState& one) { put(out, one.members), out.wall(one.last_election); }
void get(In& in, ClusterState& one) { get(in, one.members), get(in, one.last_election); }
void put(Out& out, const ManagerConfig& one) { out.text(one.name), out.u32(one.slots); }
void get(In& in, ManagerConfig& one) { get(in, one.name), one.slots = in.u32(); }
void put(Out& out, const GenerationPolicy& one) {
  out.flag(one.automatic_start);
  out.span(one.start_delay);
  out.span(one.stop_timeout);
  out.real(one.cluster_threshold);
  out.real(one.leader_threshold);
}
void get(In& in, GenerationPolicy& one) {
  one.automatic_start = in.flag();
  one.start_delay = in.span();
  one.stop_timeout = in.span();
  one.cluster_threshold = in.real();
  one.leader_threshold = in.real();
}
void put(Out& out, const QueuePolicy& one) {
  out.u32(one.most_requests);
  out.span(one.drain_timeout);
  out.u8(one.tries);
  out.flag(one.keep_completed);
}
void get(In& in, QueuePolicy& one) {
  one.most_requests = in.u32();
  one.drain_timeout = in.span();
  one.tries = in.u8();
  one.keep_completed = in.flag();
}
void put(Out& out, const ContextClusterHealth& one) {
  out.u32(one.total_nodes);
  out.u32(one.healthy_nodes);
  put(out, one.unhealthy_nodes);
  put(out, one.current_leader);
  out.flag(one.leader_healthy);
  out.flag(one.generation_active);
  out.u32(one.queue.queued);
  out.u32(one.queue.active);
  out.span(one.queue.oldest_waiting);
  put(out, one.node_healths);
  out.wall(one.last_election);
  out.wall(one.next_health_check);
  out.real(one.overall);
}
void get(In& in, ContextClusterHealth& one) {
  one.total_nodes = in.u32();
  one.healthy_nodes = in.u32();
  get(in, one.unhealthy_nodes);
  get(in, one.current_leader);
  one.leader_healthy = in.flag();
  one.generation_active = in.flag();
  one.queue.queued = in.u32();
  one.queue.active = in.u32();
  one.queue.oldest_waiting = in.span();
  get(in, one.node_healths);
  one.last_election = in.wall();
  one.next_health_check = in.wall();
  one.overall = in.real();
}
void put(Out& out, const StateValidation& one) {
  out.wall(one.validated_at);
  put(out, one.validated_by);
  out.flag(one.checksum_valid);
  put(out, one.issues);
}
void get(In& in, StateValidation& one) {
  one.validated_at = in.wall();
  get(in, one.validated_by);
  one.checksum_valid = in.flag();
  get(in, one.issues);
}

template <auto member>
constexpr FieldRow row(StateField field, std::string_view name, std::string (*judge)(const FailoverState&, WallTime)) {
  return {field,
          name,
          [](Out& out, const FailoverState& state) { put(out, state.*member); },
          [](In& in, FailoverState& state) { get(in, state.*member); },
          judge,
          [](const FailoverState& from, FailoverState& to) { to.*member = from.*member; }};
}

using F = StateField;
using State = FailoverState;
constexpr FieldRow kRows[] = {
    row<&State::leader>(F::kLeader, "leader_id", judge::leader),
    row<&State::term>(F::kTerm, "term", judge::term),
    row<&State::transfer_time>(F::kTransferTime, "transfer_time", judge::transfer_time),
    row<&State::queued_requests>(F::kQueuedRequests, "queued_requests", judge::queued),
    row<&State::active_jobs>(F::kActiveJobs, "active_jobs", judge::active),
    row<&State::completed_jobs>(F::kCompletedJobs, "completed_jobs", judge::completed),
    row<&State::cluster_state>(F::kClusterState, "cluster_state", judge::cluster),
    row<&State::resource_allocations>(F::kResourceAllocations, "resource_allocations", judge::resources),
    row<&State::node_assignments>(F::kNodeAssignments, "node_assignments", judge::assignments),
    row<&State::manager_config>(F::kManagerConfig, "manager_config", judge::manager),
    row<&State::generation_policy>(F::kGenerationPolicy, "generation_policy", judge::generation),
    row<&State::queue_policy>(F::kQueuePolicy, "queue_policy", judge::queue),
    row<&State::state_version>(F::kStateVersion, "state_version", judge::version),
    row<&State::health_snapshot>(F::kHealthSnapshot, "health_snapshot", judge::health),
    row<&State::transfer_reason>(F::kTransferReason, "transfer_reason", judge::reason),
    row<&State::transfer_source>(F::kTransferSource, "transfer_source", judge::source),
    row<&State::transfer_duration>(F::kTransferDuration, "transfer_duration", judge::duration),
    row<&State::validation_results>(F::kValidationResults, "validation_results", judge::validation),
};

}  // namespace

std::span<const FieldRow> field_rows() { return kRows; }

}  // namespace bellwether::context_lead
