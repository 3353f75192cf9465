// The agents of a fleet as in its registry file: their names, roles and last heartbeats. Pure: text in, text out, times
// as values. Heartbeats are times of the wall clock, since agents live on several machines. So the ages that make an
// agent stale or dead must be long against the clocks' differences, and a heartbeat from the future does not count as a
// fresh one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"

namespace bellwether::lead {

struct AgentAges {
  Duration stale_after = Duration::seconds(120);
  Duration dead_after = Duration::seconds(600);  // then it is forgotten at the leader's next cleanup
};

enum class AgentStatus : unsigned char { kActive, kStale, kDead };
std::string_view to_string(AgentStatus status);

struct Agent {
  std::string id;
  std::string role;  // "orchestrator", "worker", …; free text of the fleet
  std::string host;
  int64_t pid = 0;
  WallTime registered_at;
  WallTime last_heartbeat;
  AgentStatus status = AgentStatus::kActive;  // as the leader's cleanup has marked it
  bool operator==(const Agent&) const = default;
};

// The status of an agent at `now`, regardless of the marks of the last cleanup.
AgentStatus status_of(const Agent& agent, WallTime now, const AgentAges& ages);
// A heartbeat further in the future than clocks may differ.
bool is_from_future(const Agent& agent, WallTime now);

class AgentRegistry {
 public:
  static constexpr std::size_t kMaxAgents = 1000;    // agents
  static constexpr std::size_t kMaxNameBytes = 200;  // of an id, a role, a host
  static constexpr Duration kMaxClockDifference = Duration::seconds(5);

  // Error: kProtocol when the text is no registry (torn, foreign, of a later version). Empty text is an empty registry.
  static Result<AgentRegistry> parse(std::string_view text);
  std::string to_json() const;

  // Registers an agent, or again under the same id: then role, host and process are taken over, and it is active.
  // Errors: kInvalid for names; kExhausted when the registry is full of agents that are not dead.
  Status add(const std::string& id, const std::string& role, const std::string& host, int64_t pid, WallTime now,
             const AgentAges& ages);
  // kNotFound when no agent has that id: it was reaped, and must register again.
  Status heartbeat(const std::string& id, WallTime now);
  Status remove(const std::string& id);

  struct Cleanup {
    std::vector<std::string> stale;   // turned stale now
    std::vector<std::string> reaped;  // dead, and forgotten
    bool changed() const { return !stale.empty() || !reaped.empty(); }
  };
  // The leader's, at each of its heartbeats. Never touches `leader` itself.
  Cleanup clean(const std::string& leader, WallTime now, const AgentAges& ages);

  const std::vector<Agent>& agents() const { return agents_; }  // by id

 private:
  Agent* find(const std::string& id);

  std::vector<Agent> agents_;
};

// The times of a fleet of agents with one orchestrator, as three named sets. The safety margin is lease / heartbeat.
struct AgentProfile {
  std::string_view name;
  Duration lease;
  Duration heartbeat;
  Duration stale_after;  // an agent silent for this time is stale; a leader's process that lives is frozen
  Duration watchdog;     // between two looks of the watchdog, or of a follower
  Duration dead_after;   // an agent silent for this time is dead, and forgotten
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
