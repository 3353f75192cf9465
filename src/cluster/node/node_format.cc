#include "cluster/node/node_format.h"

#include <algorithm>

#include "cluster/wire/identity.h"
#include "core/base/encoding.h"
#include "core/message/describe.h"

namespace bellwether::message {
namespace {

constexpr std::size_t kMaxSoftware = 256;
constexpr std::size_t kMaxWords = 4'096;

// Text for people must be valid, or is left out.
std::string name_or_nothing(std::string_view text) { return wire::is_name(text) ? std::string(text) : std::string(); }
std::string plain_or_nothing(std::string_view text) {
  std::string out(text);
  return text.size() <= kMaxSoftware && printable(out) == out ? out : std::string();
}
constexpr Rule kPeerName = fitted(wire::kMaxName, &name_or_nothing);

}  // namespace

template <>
constexpr auto kDescription<node::PeerMeta> =
    describe<node::PeerMeta>("a node's report of itself", field<&node::PeerMeta::datacenter>(1, kPeerName),
                             field<&node::PeerMeta::region>(2, kPeerName),
                             field<&node::PeerMeta::software>(3, fitted(kMaxSoftware, &plain_or_nothing)),
                             field<&node::PeerMeta::priority>(4, clamped(at_most(8U))),
                             field<&node::PeerMeta::decided_by>(5, kPeerName))
        .within(kMaxWords);

template <>
constexpr auto kDescription<node::PeerState> =
    describe<node::PeerState>("the state of a node", field<&node::PeerState::leads>(1),
                              field<&node::PeerState::term>(2), field<&node::PeerState::ready>(3),
                              field<&node::PeerState::health_score>(4, clamped(between(0, 8))),
                              field<&node::PeerState::degradation>(5), field<&node::PeerState::cpu_percent>(6),
                              field<&node::PeerState::memory_percent>(7), field<&node::PeerState::electable>(8),
                              field<&node::PeerState::stuck>(9), field<&node::PeerState::leader>(10, kPeerName))
        .within(kMaxWords);

template const Message& message_of<node::PeerMeta>();
template const Message& message_of<node::PeerState>();

}  // namespace bellwether::message

namespace bellwether::node {

std::string write_meta(const PeerMeta& meta) { return message::encode(meta); }
PeerMeta read_meta(std::string_view bytes) { return message::decode<PeerMeta>(bytes).value_or(PeerMeta()); }

std::string write_state(const PeerState& state) { return message::encode(state); }
std::optional<PeerState> read_state(std::string_view bytes) {
  auto state = message::decode<PeerState>(bytes);
  return state ? std::optional(std::move(*state)) : std::nullopt;
}

quorum::LocalHealth health_of(membership::Degradation level, int score, bool ready) {
  quorum::LocalHealth health;
  health.score = static_cast<uint8_t>(std::min(std::max(score, 0), 8));
  static_assert(static_cast<int>(quorum::Load::kCritical) == static_cast<int>(membership::Degradation::kCritical));
  health.load = static_cast<quorum::Load>(level);
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
