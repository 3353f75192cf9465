#include "node/cluster/node_words.h"

#include "base/printable.h"
#include "proto/node.pb.h"
#include "wire/identity.h"

namespace bellwether::node {
namespace {

constexpr unsigned kPriorityMost = 8;

}  // namespace

std::string write_meta(const PeerMeta& meta) {
  wire::NodeMeta out;
  out.set_datacenter(meta.datacenter);
  out.set_region(meta.region);
  out.set_software(meta.software);
  if (meta.priority) out.set_priority(*meta.priority);
  out.set_decided_by(meta.decided_by);
  return out.SerializeAsString();
}

PeerMeta read_meta(std::string_view bytes) {
  wire::NodeMeta in;
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return {};
  // What is shown to people is as it should be, or left out.
  const auto name = [](const std::string& text) { return wire::is_name(text) ? text : std::string(); };
  const std::string& software = in.software();
  PeerMeta meta{name(in.datacenter()), name(in.region()), printable(software) == software ? software : std::string(),
                std::nullopt, name(in.decided_by())};
  if (in.has_priority()) meta.priority = std::min(in.priority(), kPriorityMost);
  return meta;
}

std::string write_state(const PeerState& state) {
  wire::NodeState out;
  out.set_leads(state.leads);
  out.set_term(state.term);
  out.set_ready(state.ready);
  out.set_electable(state.electable);
  out.set_health_score(static_cast<uint32_t>(state.health_score));
  out.set_degradation(state.degradation);
  out.set_cpu_percent(state.cpu_percent);
  out.set_memory_percent(state.memory_percent);
  out.set_stuck(state.stuck);
  return out.SerializeAsString();
}

std::optional<PeerState> read_state(std::string_view bytes) {
  wire::NodeState in;
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return std::nullopt;
  return PeerState{.leads = in.leads(),
                   .term = in.term(),
                   .ready = in.ready(),
                   .electable = in.electable(),
                   .health_score = static_cast<int>(std::min(in.health_score(), 8U)),
                   .degradation = in.degradation(),
                   .cpu_percent = in.cpu_percent(),
                   .memory_percent = in.memory_percent(),
                   .stuck = in.stuck()};
}

quorum::LocalHealth health_of(membership::Degradation level, int score, bool ready) {
  quorum::LocalHealth health;
  health.score = static_cast<uint8_t>(std::min(std::max(score, 0), 8));
  switch (level) {
    case membership::Degradation::kNormal: health.load = quorum::Load::kNormal; break;
    case membership::Degradation::kElevated: health.load = quorum::Load::kElevated; break;
    case membership::Degradation::kHigh: health.load = quorum::Load::kHigh; break;
    case membership::Degradation::kSevere: health.load = quorum::Load::kSevere; break;
    case membership::Degradation::kCritical: health.load = quorum::Load::kCritical; break;
  }
  health.ready = ready;
  return health;
}

std::string kind_of_decision(const std::string& leadership) {
  std::string kind = leadership.substr(0, leadership.find(':'));
  if (kind == "etcds" || kind == "rediss") kind.pop_back();
  return kind;
}

quorum::QuorumTiming timing_named(std::string_view profile) {
  return profile == "wan" ? quorum::QuorumTiming::wan() : quorum::QuorumTiming::lan();
}

}  // namespace bellwether::node
