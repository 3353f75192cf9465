#include "lead/agents/agent_registry.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/encoding.h"
#include "core/base/enum_names.h"
#include "core/base/units.h"

namespace bellwether::lead {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "bellwether.agents/1";
constexpr EnumNames<AgentStatus> kStatuses("active", "stale", "dead");

Status check_name(std::string_view what, const std::string& name, bool may_be_empty) {
  const bool printable = std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (printable && is_utf8(name) && name.size() <= AgentRegistry::kMaxNameBytes && (may_be_empty || !name.empty()))
    return {};
  return fail(Errc::kInvalid, "the {} of an agent must have 1 to {} bytes of UTF-8 without control characters", what,
              AgentRegistry::kMaxNameBytes);
}

tl::unexpected<Error> not_a_registry(const std::string& why) {
  return fail(Errc::kProtocol, "this is not a registry of agents: " + utf8_line(why, AgentRegistry::kMaxNameBytes));
}

Duration age_of(const Agent& agent, WallTime now) {
  return Duration::nanos(now.unix_ns) - Duration::nanos(agent.last_heartbeat.unix_ns);
}

Result<Agent> read_agent(const json& entry) {
  Agent agent;
  const auto text = [&](const char* key) { return entry.at(key).get<std::string>(); };
  agent.id = text("id");
  agent.role = text("role");
  agent.host = text("host");
  agent.pid = entry.at("pid").get<int64_t>();
  const auto registered = parse_wall(text("registered_at"));
  const auto heartbeat = parse_wall(text("last_heartbeat"));
  const auto status = kStatuses.find(text("status"));
  if (!registered || !heartbeat || !status) return not_a_registry("a time or a status is invalid");
  for (const auto& [what, name] : {std::pair{"id", &agent.id}, {"role", &agent.role}, {"host", &agent.host}}) {
    if (const auto good = check_name(what, *name, name != &agent.id); !good)
      return not_a_registry(good.error().message);
  }
  agent.registered_at = *registered;
  agent.last_heartbeat = *heartbeat;
  agent.status = *status;
  return agent;
}

}  // namespace

std::string_view to_string(AgentStatus status) { return kStatuses[status]; }

AgentStatus status_of(const Agent& agent, WallTime now, const AgentAges& ages) {
  const Duration age = age_of(agent, now);
  if (age > ages.dead_after) return AgentStatus::kDead;
  return age > ages.stale_after ? AgentStatus::kStale : AgentStatus::kActive;
}

bool is_from_future(const Agent& agent, WallTime now) {
  return age_of(agent, now) < -AgentRegistry::kMaxClockDifference;
}

Result<AgentRegistry> AgentRegistry::parse(std::string_view text) {
  AgentRegistry registry;
  if (text.empty()) return not_a_registry("the file is empty");
  try {
    const json document = json::parse(text);
    if (document.at("format") != kFormat) return not_a_registry("its format is unknown");
    const json& agents = document.at("agents");
    if (!agents.is_array() || agents.size() > kMaxAgents) return not_a_registry("it lists no agents, or too many");
    for (const json& entry : agents) {
      BW_TRY(auto agent, read_agent(entry));
      if (registry.find(agent.id) != nullptr) return not_a_registry("it lists an agent twice");
      registry.agents_.push_back(std::move(agent));
    }
  } catch (const json::exception& error) {
    return not_a_registry(error.what());
  }
  std::sort(registry.agents_.begin(), registry.agents_.end(),
            [](const Agent& a, const Agent& b) { return a.id < b.id; });
  return registry;
}

std::string AgentRegistry::to_json() const {
  json agents = json::array();
  for (const Agent& agent : agents_) {
    agents.push_back({{"id", agent.id},
                      {"role", agent.role},
                      {"host", agent.host},
                      {"pid", agent.pid},
                      {"registered_at", format_wall(agent.registered_at)},
                      {"last_heartbeat", format_wall(agent.last_heartbeat)},
                      {"status", to_string(agent.status)}});
  }
  const json document{{"format", kFormat}, {"agents", std::move(agents)}};
  return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

Agent* AgentRegistry::find(const std::string& id) {
  const auto found = std::find_if(agents_.begin(), agents_.end(), [&](const Agent& agent) { return agent.id == id; });
  return found == agents_.end() ? nullptr : &*found;
}

Status AgentRegistry::add(const std::string& id, const std::string& role, const std::string& host, int64_t pid,
                          WallTime now, const AgentAges& ages) {
  for (const auto& [what, name] : {std::pair{"id", &id}, {"role", &role}, {"host", &host}}) {
    BW_RETURN_IF_ERROR(check_name(what, *name, name != &id));
  }
  Agent* agent = find(id);
  if (agent == nullptr) {
    if (agents_.size() >= kMaxAgents) {
      std::erase_if(agents_, [&](const Agent& other) { return status_of(other, now, ages) == AgentStatus::kDead; });
    }
    if (agents_.size() >= kMaxAgents) {
      return fail(Errc::kExhausted,
                  "the registry has {} agents, none of them dead: deregister some, or use another registry",
                  kMaxAgents);
    }
    const auto place =
        std::lower_bound(agents_.begin(), agents_.end(), id,
                         [](const Agent& other, const std::string& wanted) { return other.id < wanted; });
    agent = &*agents_.insert(place, Agent{.id = id, .registered_at = now});
  }
  agent->role = role;
  agent->host = host;
  agent->pid = pid;
  agent->last_heartbeat = now;
  agent->status = AgentStatus::kActive;
  return {};
}

Status AgentRegistry::heartbeat(const std::string& id, WallTime now) {
  Agent* agent = find(id);
  if (agent == nullptr) {
    return fail(Errc::kNotFound,
                "there is no agent '{}': it was never registered, or was removed as dead. Register it again", id);
  }
  agent->last_heartbeat = now;
  agent->status = AgentStatus::kActive;
  return {};
}

Status AgentRegistry::remove(const std::string& id) {
  if (find(id) == nullptr) return fail(Errc::kNotFound, "there is no agent '{}'", id);
  std::erase_if(agents_, [&](const Agent& agent) { return agent.id == id; });
  return {};
}

AgentRegistry::Cleanup AgentRegistry::clean(const std::string& leader, WallTime now, const AgentAges& ages) {
  Cleanup done;
  for (Agent& agent : agents_) {
    if (agent.id == leader) continue;
    const AgentStatus status = status_of(agent, now, ages);
    if (status == AgentStatus::kActive) continue;
    if (agent.status == AgentStatus::kActive) done.stale.push_back(agent.id);
    agent.status = status;
    if (status == AgentStatus::kDead) done.reaped.push_back(agent.id);
  }
  std::erase_if(agents_, [&](const Agent& agent) { return agent.id != leader && agent.status == AgentStatus::kDead; });
  return done;
}

}  // namespace bellwether::lead
