// The times of a fleet of agents with one orchestrator, as three named sets. The safety margin is lease / heartbeat.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "core/base/time.h"

namespace bellwether::lead {

struct AgentProfile {
  std::string_view name;
  Duration lease;
  Duration heartbeat;
  Duration stale_after;  // an agent silent for so long is stale; a leader's process that lives is frozen
  Duration watchdog;     // between two looks of the watchdog, or of a follower
  Duration dead_after;   // an agent silent for so long is dead, and forgotten
};

inline constexpr std::array<AgentProfile, 3> kAgentProfiles{
    AgentProfile{"production", Duration::seconds(180), Duration::seconds(60), Duration::seconds(120),
                 Duration::seconds(60), Duration::seconds(600)},
    AgentProfile{"high-availability", Duration::seconds(120), Duration::seconds(30), Duration::seconds(90),
                 Duration::seconds(30), Duration::seconds(450)},
    AgentProfile{"lenient", Duration::seconds(270), Duration::seconds(60), Duration::seconds(180),
                 Duration::seconds(60), Duration::seconds(900)},
};

constexpr std::optional<AgentProfile> find_profile(std::string_view name) {
  for (const AgentProfile& profile : kAgentProfiles) {
    if (profile.name == name) return profile;
  }
  return std::nullopt;
}

constexpr double safety_margin(const AgentProfile& profile) {
  return static_cast<double>(profile.lease.ns()) / static_cast<double>(profile.heartbeat.ns());
}

}  // namespace bellwether::lead
