#include "election/context/failover_state.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/units.h"
#include "election/context/canonical.h"
#include "election/context/context_settings.h"

namespace bellwether::context_lead {

// --- the members of each struct, in the order of their bytes ---------------------------------------------------------

static auto parts(Is<ManagerConfig> auto& one) { return std::tie(one.name, one.slots); }
static auto parts(Is<ClusterState> auto& one) { return std::tie(one.members, one.last_election); }
static auto parts(Is<ResourceAllocation> auto& one) { return std::tie(one.cores, one.memory_bytes); }
static auto parts(Is<GenerationPolicy> auto& one) {
  return std::tie(one.automatic_start, one.start_delay, one.stop_timeout, one.cluster_threshold, one.leader_threshold);
}
static auto parts(Is<QueuePolicy> auto& one) {
  return std::tie(one.most_requests, one.drain_timeout, one.tries, one.keep_completed);
}
static auto parts(Is<QueueHealth> auto& one) { return std::tie(one.queued, one.active, one.oldest_waiting); }
static auto parts(Is<ContextClusterHealth> auto& one) {
  return std::tie(one.total_nodes, one.healthy_nodes, one.unhealthy_nodes, one.current_leader, one.leader_healthy,
                  one.generation_active, one.queue, one.node_healths, one.last_election, one.next_health_check,
                  one.overall);
}
static auto parts(Is<StateIssue> auto& one) { return std::tie(one.field, one.text); }
static auto parts(Is<StateValidation> auto& one) {
  return std::tie(one.validated_at, one.validated_by, one.checksum_valid, one.issues);
}

Status ManagerConfig::validate() const {
  if (name.empty() || name.size() > kMaxTextBytes) {
    return fail(Errc::kInvalid, "the context manager has no name; expected 1 to 200 bytes");
  }
  if (slots == 0 || slots > kMaxRequests) {
    return fail(Errc::kInvalid, "{} jobs at once; expected 1 to 1,000", slots);
  }
  return {};
}

namespace {

// --- the expected value of each field, in words; nothing: it is valid ------------------------------------------------

namespace judge {

bool is_ratio(double value) { return value >= 0 && value <= 1; }
bool is_span(Duration span) { return span >= Duration::zero() && span <= Duration::hours(24); }
bool is_text(const std::string& text) { return !text.empty() && text.size() <= kMaxTextBytes; }
bool is_ahead(WallTime time, WallTime now) { return time.unix_ns > now.unix_ns + kMaxClockLead.ns(); }

// Of live requests in a list of their own: those that are active, or those that are not.
std::string live(const std::vector<LiveRequest>& list, bool active, WallTime now) {
  if (list.size() > kMaxRequests) {
    return fmt::format("{}; the limit is {}", format_count(list.size(), "request"), format_count(kMaxRequests));
  }
  std::set<RequestId> ids;
  for (const LiveRequest& one : list) {
    const std::string who = "request " + to_string(one.id);
    if (one.id == RequestId{}) return "a request without an id";
    if (!ids.insert(one.id).second) return who + " is listed twice";
    if (one.is_active() != active) return who + (active ? " has no running attempt" : " is active already");
    if (active && one.attempts == 0) return who + " runs in attempt 0; expected 1 or more";
    if (one.failures > one.attempts) return who + " has more failures than attempts";
    if (is_ahead(one.submitted_at, now)) return who + " was submitted in the future; check the clocks";
  }
  return {};
}

std::string leader(const FailoverState& state, WallTime) {
  return state.leader == NodeId() ? "missing; expected the node that hands over" : "";
}

std::string term(const FailoverState& state, WallTime) {
  return state.term == Epoch() ? "0; expected the epoch of a leader, 1 or more" : "";
}

std::string transfer_time(const FailoverState& state, WallTime now) {
  if (state.transfer_time.unix_ns <= 0) return "missing; expected the time of the transfer";
  return is_ahead(state.transfer_time, now) ? "more than 1m in the future; check the clocks of both nodes" : "";
}

std::string queued(const FailoverState& state, WallTime now) { return live(state.queued_requests, false, now); }

std::string active(const FailoverState& state, WallTime now) {
  if (std::string wrong = live(state.active_jobs, true, now); !wrong.empty()) return wrong;
  for (const LiveRequest& one : state.active_jobs) {
    if (state.term != Epoch() && one.active_under > state.term) {
      return fmt::format("request {} runs under a later epoch than its leader", to_string(one.id));
    }
    for (const LiveRequest& other : state.queued_requests) {
      if (one.id == other.id) return fmt::format("request {} is also queued", to_string(one.id));
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
    if (!ids.insert(one.id).second) return who + " is listed twice as finished";
    if (one.fence.epoch == Epoch() || one.fence.attempt == 0) return who + " was finished without an attempt";
  }
  return {};
}

std::string cluster(const FailoverState& state, WallTime now) {
  const std::vector<NodeId>& members = state.cluster_state.members;
  if (members.empty()) return "no members; expected all declared members";
  const std::set<NodeId> ids(members.begin(), members.end());
  if (ids.size() != members.size()) return "a member is listed twice";
  if (ids.contains(NodeId())) return "a member has the number 0; expected 1 or more";
  if (state.leader != NodeId() && !ids.contains(state.leader)) return "the leader is not a member";
  return is_ahead(state.cluster_state.last_election, now) ? "the last election was in the future" : "";
}

std::string resources(const FailoverState& state, WallTime) {
  for (const auto& [name, one] : state.resource_allocations) {
    if (!is_text(name)) return "a resource without a name of 1 to 200 bytes";
    if (!(one.cores >= 0 && one.cores <= 1e6))
      return fmt::format("the cores of '{}' are not within 0 to 1,000,000", name);
  }
  return {};
}

std::string assignments(const FailoverState& state, WallTime) {
  for (const auto& [node, tasks] : state.node_assignments) {
    if (!is_text(node)) return "a node without a name of 1 to 200 bytes";
    if (!std::ranges::all_of(tasks, is_text)) return fmt::format("'{}' has an assignment without a name", node);
  }
  return {};
}

std::string manager(const FailoverState& state, WallTime) {
  const Status valid = state.manager_config.validate();
  return valid ? "" : valid.error().message;
}

std::string generation(const FailoverState& state, WallTime) {
  const GenerationPolicy& policy = state.generation_policy;
  if (!is_span(policy.start_delay) || !is_span(policy.stop_timeout)) return "a time outside 0 to 24h";
  return is_ratio(policy.cluster_threshold) && is_ratio(policy.leader_threshold) ? ""
                                                                                 : "a health threshold outside 0 to 1";
}

std::string queue(const FailoverState& state, WallTime) {
  const QueuePolicy& policy = state.queue_policy;
  if (policy.most_requests == 0 || policy.most_requests > kMaxRequests) return "a queue limit outside 1 to 1,000";
  if (!is_span(policy.drain_timeout)) return "a drain timeout outside 0 to 24h";
  return policy.tries == 0 ? "0 tries; expected 1 or more" : "";
}

std::string version(const FailoverState& state, WallTime) {
  return state.state_version == 0 ? "0; expected 1 or more" : "";
}

std::string health(const FailoverState& state, WallTime) {
  const ContextClusterHealth& health = state.health_snapshot;
  if (!is_ratio(health.overall)) return "an overall health outside 0 to 1";
  if (health.healthy_nodes > health.total_nodes) return "more healthy nodes than nodes";
  if (health.unhealthy_nodes.size() > health.total_nodes) return "more unhealthy nodes than nodes";
  if (health.queue.oldest_waiting < Duration::zero()) return "a negative waiting time";
  for (const auto& [node, score] : health.node_healths) {
    if (!is_ratio(score)) return fmt::format("the health of node {} is not within 0 to 1", node.value());
  }
  return {};
}

std::string reason(const FailoverState& state, WallTime) {
  return is_text(state.transfer_reason) ? "" : "missing; expected the reason, 1 to 200 bytes";
}

std::string source(const FailoverState& state, WallTime) {
  return is_text(state.transfer_source) ? "" : "missing; expected the source, 1 to 200 bytes";
}

std::string duration(const FailoverState& state, WallTime) {
  return is_span(state.transfer_duration) ? "" : "not within 0 to 24h";
}

std::string validation(const FailoverState& state, WallTime now) {
  return is_ahead(state.validation_results.validated_at, now) ? "dated in the future; check the clocks" : "";
}

}  // namespace judge

// --- the fields, one by one ------------------------------------------------------------------------------------------

struct FieldRow {
  StateField field;
  std::string_view name;
  void (*put)(CanonicalWriter& out, const FailoverState& state);
  void (*get)(CanonicalReader& in, FailoverState& state);
  std::string (*judge)(const FailoverState& state, WallTime now);
  void (*copy)(const FailoverState& from, FailoverState& to);
};

template <auto member>
constexpr FieldRow row(StateField field, std::string_view name, std::string (*judge)(const FailoverState&, WallTime)) {
  return {field,
          name,
          [](CanonicalWriter& out, const FailoverState& state) { out.put(state.*member); },
          [](CanonicalReader& in, FailoverState& state) { in.get(state.*member); },
          judge,
          [](const FailoverState& from, FailoverState& to) { to.*member = from.*member; }};
}

using F = StateField;
using State = FailoverState;
// In the order of the bytes.
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

// --- the bytes -------------------------------------------------------------------------------------------------------

constexpr std::string_view kStateMagic = "BWCF";

std::string text_of(const Digest& digest) { return std::string(as_text(digest)); }

// Reads one field, without judging it. On a wrong format, `state` stays unchanged, and the answer says so.
std::string read_field(const FieldRow& row, std::string_view bytes, FailoverState& state) {
  FailoverState scratch;
  CanonicalReader in(bytes);
  row.get(in, scratch);
  if (!in.ok() || !in.at_end()) return "malformed: truncated, too long, or with a value out of bounds";
  row.copy(scratch, state);
  return {};
}

// Those of `fields` that are judged to be wrong get an issue and are emptied.
void judge_fields(ReadState& read, const std::vector<StateField>& fields, WallTime now) {
  const FailoverState as_read = read.state;
  for (const FieldRow& row : kRows) {
    if (std::find(fields.begin(), fields.end(), row.field) == fields.end()) continue;
    std::string wrong = row.judge(as_read, now);
    if (wrong.empty()) continue;
    read.validation.issues.push_back({row.field, std::move(wrong)});
    row.copy(FailoverState{}, read.state);
  }
}

// One field of the bytes. False: the rest cannot be read.
bool read_next(CanonicalReader& in, DigestOf digest, ReadState& read, std::vector<StateField>& found) {
  const auto field = in.take<StateField>();
  const std::string_view bytes = in.raw(in.take<uint32_t>());
  const std::string_view mark = in.raw(Digest().size());
  if (!in.ok()) return false;
  const auto issue = [&](std::string text) { read.validation.issues.push_back({field, std::move(text)}); };
  const auto* const row = std::ranges::find(kRows, field, &FieldRow::field);
  if (row == std::end(kRows)) {
    const std::string number = std::to_string(static_cast<int>(field));
    read.validation.issues.push_back({StateField::kForm, fmt::format("field {} is not known to this program", number)});
    return true;
  }
  if (!found.empty() && found.back() >= field) {
    issue("listed twice or out of order");
    return true;
  }
  found.push_back(field);
  if (text_of(digest(as_bytes(bytes))) != mark) {
    issue("damaged: its bytes do not match its digest");
  } else if (std::string wrong = read_field(*row, bytes, read.state); !wrong.empty()) {
    issue(std::move(wrong));
  }
  return true;
}

}  // namespace

std::string_view to_string(StateField field) {
  if (field == StateField::kChecksum) return "checksum";
  if (field == StateField::kForm) return "form";
  for (const FieldRow& row : kRows) {
    if (row.field == field) return row.name;
  }
  return "unknown";
}

Result<std::string> encode(const FailoverState& state, DigestOf digest) {
  CanonicalWriter out;
  out.raw(kStateMagic);
  out.put(kStateFormat);
  for (const FieldRow& row : kRows) {
    CanonicalWriter field;
    row.put(field, state);
    FailoverState scratch;
    if (!read_field(row, field.bytes(), scratch).empty()) {
      return fail(Errc::kTooLarge,
                  "the field {} of the failover state exceeds a limit: lists may have 1,000 elements, texts 200 bytes",
                  row.name);
    }
    out.put(row.field, field.bytes());
    out.raw(text_of(digest(as_bytes(field.bytes()))));
  }
  out.raw(text_of(digest(as_bytes(out.bytes()))));
  if (out.bytes().size() > kMaxStateBytes) {
    return fail(
        Errc::kTooLarge,
        "the failover state has {} bytes; the limit is 1 MiB. Reduce the assignments of nodes or shorten their names",
        out.bytes().size());
  }
  return out.bytes();
}

ReadState read_state(std::string_view bytes, DigestOf digest, WallTime now, NodeId self) {
  ReadState read;
  read.validation = {now, self, false, {}};
  std::vector<StateIssue>& issues = read.validation.issues;
  constexpr std::size_t kMark = Digest().size();
  if (bytes.size() > kMaxStateBytes || bytes.size() < kStateMagic.size() + 4 + kMark ||
      !bytes.starts_with(kStateMagic)) {
    issues.push_back({StateField::kForm, "not a failover state: expected at most 1 MiB that starts with BWCF"});
    return read;
  }
  const std::string_view content = bytes.substr(0, bytes.size() - kMark);
  read.validation.checksum_valid = text_of(digest(as_bytes(content))) == bytes.substr(content.size());
  if (!read.validation.checksum_valid) {
    issues.push_back({StateField::kChecksum, "it does not match the state; each field is validated by its own digest"});
  }
  CanonicalReader in(content.substr(kStateMagic.size()));
  if (const uint32_t format = in.take<uint32_t>(); format != kStateFormat) {
    issues.push_back({StateField::kForm,
                      fmt::format("version {}; this program knows version {} and accepts the fields that it knows",
                                  format, kStateFormat)});
  }
  std::vector<StateField> found;
  while (!in.at_end() && in.ok()) {
    if (!read_next(in, digest, read, found)) issues.push_back({StateField::kForm, "truncated within a field"});
  }
  for (const FieldRow& row : kRows) {
    if (std::find(found.begin(), found.end(), row.field) == found.end()) issues.push_back({row.field, "missing"});
    const bool sound = std::ranges::none_of(issues, [&](const StateIssue& one) { return one.field == row.field; });
    if (sound) continue;
    std::erase(found, row.field);
    row.copy(FailoverState{}, read.state);
  }
  judge_fields(read, found, now);
  return read;
}

Result<RecoveredState> recover(ReadState read) {
  for (const StateIssue& issue : read.validation.issues) {
    if (issue.field != StateField::kLeader && issue.field != StateField::kTerm) continue;
    return fail(Errc::kInvalid, "the failover state is unusable: {} is {}. Repeat the transfer", to_string(issue.field),
                issue.text);
  }
  if (read.state.leader == NodeId() || read.state.term == Epoch()) {
    return fail(Errc::kInvalid,
                "not a failover state: " + (read.validation.issues.empty() ? std::string("it names no leader")
                                                                           : read.validation.issues.front().text));
  }
  return RecoveredState{std::move(read.state), std::move(read.validation.issues)};
}

}  // namespace bellwether::context_lead
