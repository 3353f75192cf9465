// Judges from observations whether leadership is healthy: each finding states its grounds, why it matters and the
// command to run. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/time.h"
#include "election/lease_record.h"
#include "lead/agents/agent_registry.h"
#include "lead/agents/task_queue.h"
#include "lead/policy/policy.h"

namespace bellwether::lead {

enum class Severity : unsigned char { kNote, kWarning, kCritical };
std::string_view to_string(Severity severity);

struct Finding {
  Severity severity = Severity::kNote;
  std::string what;
  std::string evidence;
  std::string why;
  std::string command;  // to run next
};
using Findings = std::vector<Finding>;

// The figures at which health ends.
struct HealthLimits {
  std::size_t churn_warning = 5;  // changes of leader in an hour
  std::size_t churn_critical = 10;
  std::size_t restarts_most = 20;  // by the watchdog, in an hour
  Duration clock_difference = Duration::seconds(5);
};

// Several looks at one key, in the order in which they were made.
struct LeaseLooks {
  std::string via;
  std::string key;
  std::vector<election::Observation> seen;
  bool holder_expected = true;  // false: a loop that gives its key back after each tick
};
void judge_lease(const LeaseLooks& looks, WallTime now, const HealthLimits& limits, Findings& out);

// `epochs`: how much the epoch of the key grew within the last hour.
void judge_churn(const std::string& key, uint64_t epochs, const HealthLimits& limits, Findings& out);

void judge_registry(const std::string& path, const AgentRegistry& registry, const AgentAges& ages, WallTime now,
                    Findings& out);

void judge_queue(const std::string& path, const TaskQueue& queue, Findings& out);

void judge_watchdog(const std::string& path, std::size_t restarts_last_hour, const std::string& last_cause,
                    const HealthLimits& limits, Findings& out);

// Promises of a policy sheet that its values cannot keep.
void judge_budget(const Policy& policy, const LoopPolicy& loop, const LoopBudget& budget, Findings& out);

Severity worst_of(const Findings& findings);

}  // namespace bellwether::lead
