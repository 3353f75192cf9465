#include "cluster/wire/version.h"

#include <algorithm>
#include <array>

namespace bellwether::wire {
namespace {

struct Brought {
  Capability capability;
  std::string_view name;
  ProtocolVersion by;
};
constexpr std::array<Brought, kCapabilities> kBrought = {{
    {Capability::kCancellation, "cancellation", {1, 0}},
    {Capability::kBatchedStats, "batched_stats", {1, 1}},
    {Capability::kClientReconnection, "client_reconnection", {1, 2}},
    {Capability::kFenceTokens, "fence_tokens", {1, 2}},
}};

}  // namespace

std::string to_string(ProtocolVersion version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

std::string_view to_string(Capability capability) { return kBrought[static_cast<std::size_t>(capability)].name; }

ProtocolVersion brought_by(Capability capability) { return kBrought[static_cast<std::size_t>(capability)].by; }

Capabilities Capabilities::of(ProtocolVersion version) {
  Capabilities some;
  for (const Brought& one : kBrought) {
    if (one.by.major == version.major && one.by <= version) some.add(one.name);
  }
  return some;
}

void Capabilities::add(std::string_view name) {
  for (const Brought& one : kBrought) {
    if (one.name == name) bits_ |= 1U << static_cast<unsigned>(one.capability);
  }
}

std::vector<std::string> Capabilities::names() const {
  std::vector<std::string> all;
  for (const Brought& one : kBrought) {
    if (has(one.capability)) all.emplace_back(one.name);
  }
  return all;
}

std::optional<Common> common(ProtocolVersion ours, Capabilities our_capabilities, ProtocolVersion theirs,
                             Capabilities their_capabilities) {
  if (ours.major != theirs.major) return std::nullopt;
  const ProtocolVersion lower = std::min(ours, theirs);
  return Common{lower, our_capabilities.both(their_capabilities).both(Capabilities::of(lower))};
}

}  // namespace bellwether::wire
