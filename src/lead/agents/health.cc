#include "lead/agents/health.h"

#include <algorithm>

#include "core/base/enum_names.h"
#include "core/base/units.h"

namespace bellwether::lead {
namespace {

constexpr std::size_t kMaxNamed = 5;

using election::LeaseRecord;
using election::Observation;

std::string show(const LeaseLooks& looks) {
  return fmt::format("bellwether lease show --via {} --key {}", looks.via, looks.key);
}

std::string of_epoch(const LeaseRecord& record) {
  return fmt::format("{} under epoch {}", record.held() ? record.holder : std::string("nobody"), record.epoch.value());
}

// Two looks that cannot both be true of one key.
void judge_contradictions(const LeaseLooks& looks, Findings& out) {
  for (std::size_t i = 1; i < looks.seen.size(); ++i) {
    const LeaseRecord& before = looks.seen[i - 1].record;
    const LeaseRecord& after = looks.seen[i].record;
    const std::string evidence = fmt::format("first {}, then {}", of_epoch(before), of_epoch(after));
    if (before.held() && after.held() && before.epoch == after.epoch && before.token != after.token) {
      out.push_back({Severity::kCritical, fmt::format("two leaders of '{}' under one epoch", looks.key), evidence,
                     "two processes act at once, and fencing cannot distinguish them. Cause: two stores behind one "
                     "URL, or a program that overwrites the lease",
                     "stop one of them; then " + show(looks)});
      return;
    }
    if (after.epoch < before.epoch) {
      out.push_back({Severity::kCritical, fmt::format("the epoch of '{}' went back", looks.key), evidence,
                     "the store has lost data, or two stores answer in turn: resources that are fenced by the epoch "
                     "refuse the new holder or trust the old one",
                     show(looks) + "; check the store's persistence and failover"});
      return;
    }
  }
}

void judge_holder(const LeaseLooks& looks, const Observation& last, WallTime now, const HealthLimits& limits,
                  Findings& out) {
  const LeaseRecord& record = last.record;
  const Duration age = Duration::nanos(now.unix_ns) - Duration::nanos(record.renewed_at.unix_ns);
  const std::string evidence =
      fmt::format("held by {}, renewed {}, lease {}", of_epoch(record),
                  age < Duration::zero() ? format_duration(-age) + " in the future"
                                         : format_duration(Duration::millis(age.ms())) + " ago",
                  format_duration(record.lease));
  if (last.sight == election::HolderSight::kDead) {
    out.push_back({Severity::kWarning, fmt::format("the holder of '{}' is dead", looks.key), evidence,
                   "the work is not done until a standby checks the key", "start a standby; " + show(looks)});
    return;
  }
  if (record.renewed_at.unix_ns == 0 || record.lease <= Duration::zero()) return;
  if (age < -limits.clock_difference) {
    out.push_back({Severity::kWarning, fmt::format("clock skew: '{}' was renewed in the future", looks.key), evidence,
                   "the clocks of the holder and of this machine differ. Leases do not depend on them, but the ages of "
                   "agents, logs and this report do",
                   "chronyc tracking (or timedatectl) on both machines"});
  } else if (last.left ? *last.left <= Duration::zero() : age > record.lease) {
    out.push_back({Severity::kCritical,
                   fmt::format("the lease of '{}' has expired, and no candidate has taken the key", looks.key),
                   evidence, "no standby is alive, or none reaches the store: work accumulates",
                   "start a standby; then " + show(looks)});
  } else if (!last.left && age > record.lease * 4 / 9) {
    out.push_back({Severity::kWarning, fmt::format("the heartbeat of '{}' is late", looks.key), evidence,
                   "a healthy holder renews every third of its lease; after a little more time the leader changes. If "
                   "that happens often, raise the TTL or renew more often",
                   fmt::format("bellwether budget --via {} --ttl {}", looks.via, format_duration(record.lease))});
  }
}

}  // namespace

std::string_view to_string(Severity severity) {
  static constexpr EnumNames<Severity> kNames("note", "warning", "critical");
  return kNames[severity];
}

void judge_lease(const LeaseLooks& looks, WallTime now, const HealthLimits& limits, Findings& out) {
  if (looks.seen.empty()) return;
  judge_contradictions(looks, out);
  const Observation& last = looks.seen.back();
  if (last.may_have_lost_data) {
    out.push_back({Severity::kCritical, fmt::format("the store of '{}' may have lost data", looks.key),
                   last.evidence.empty() ? "it shows an older state than before" : last.evidence,
                   "candidates do not take the key for a whole lease, because another one may still hold it",
                   show(looks) + "; check the store's persistence"});
  } else if (!last.evidence.empty()) {
    // A record by another program is worth a note, and no fault.
    const Severity severity = last.foreign && last.record.held() ? Severity::kNote : Severity::kWarning;
    out.push_back({severity, fmt::format("the record of '{}' is unusual", looks.key), last.evidence,
                   "another program changed the file or key, or it is torn; Bellwether does not guess its contents",
                   show(looks)});
  }
  const bool held =
      std::any_of(looks.seen.begin(), looks.seen.end(), [](const Observation& seen) { return seen.record.held(); });
  if (held) {
    if (last.record.held()) judge_holder(looks, last, now, limits, out);
  } else if (looks.holder_expected) {
    out.push_back({Severity::kCritical, fmt::format("'{}' has no holder", looks.key),
                   last.present ? "last change: " + last.record.cause : std::string("there is no record of the key"),
                   "no process does the work of this key", "start a candidate; " + show(looks)});
  }
}

void judge_churn(const std::string& key, uint64_t epochs, const HealthLimits& limits, Findings& out) {
  if (epochs < limits.churn_warning) return;
  const bool critical = epochs >= limits.churn_critical;
  out.push_back({critical ? Severity::kCritical : Severity::kWarning,
                 fmt::format("the leader of '{}' changes too often", key),
                 format_count(epochs, "change") + " within the last hour; 0 or 1 is healthy",
                 "each change costs a takeover. Renewals come too late for the TTL: raise it, or renew more often",
                 "bellwether budget --profile lenient"});
}

void judge_registry(const std::string& path, const AgentRegistry& registry, const AgentAges& ages, WallTime now,
                    Findings& out) {
  std::string silent;
  std::string ahead;
  for (const Agent& agent : registry.agents()) {
    if (is_from_future(agent, now)) ahead += fmt::format("{}{} on {}", ahead.empty() ? "" : ", ", agent.id, agent.host);
    const AgentStatus status = status_of(agent, now, ages);
    if (status == AgentStatus::kActive) continue;
    silent += fmt::format("{}{} ({})", silent.empty() ? "" : ", ", agent.id, to_string(status));
  }
  if (!silent.empty()) {
    out.push_back({Severity::kWarning, "agents are silent", silent,
                   "their tasks wait until the leader's cleanup returns them to the queue; dead agents that stay in "
                   "the list show that no leader cleans up",
                   fmt::format("bellwether agents heartbeat --registry {} --id LEADER --clean", path)});
  }
  if (!ahead.empty()) {
    out.push_back({Severity::kWarning, "clock skew: heartbeats from the future", ahead,
                   "these agents count as alive long after they died", "chronyc tracking (or timedatectl) there"});
  }
}

void judge_queue(const std::string& path, const TaskQueue& queue, Findings& out) {
  if (!queue.halted().empty()) {
    out.push_back({Severity::kCritical, "the queue is halted", queue.halted(), "no tasks are added or started",
                   "bellwether agents tasks resume --queue " + path});
  }
  std::string failed;
  std::size_t count = 0;
  for (const QueuedTask& task : queue.tasks()) {
    if (task.state != QueuedTask::State::kFailed) continue;
    if (++count <= kMaxNamed) failed += fmt::format("{}{}: {}", failed.empty() ? "" : "; ", task.name, task.outcome);
  }
  if (count == 0) return;
  if (count > kMaxNamed) failed += fmt::format("; and {} more", count - kMaxNamed);
  out.push_back({Severity::kWarning, format_count(count, "task") + " failed", failed,
                 "they are not retried automatically", "bellwether agents tasks retry --all --queue " + path});
}

void judge_watchdog(const std::string& path, std::size_t restarts_last_hour, const std::string& last_cause,
                    const HealthLimits& limits, Findings& out) {
  if (restarts_last_hour < limits.restarts_most) return;
  out.push_back({Severity::kWarning, "the watchdog restarts its process too often",
                 fmt::format("{} within the last hour ({}); the last: {}", format_count(restarts_last_hour, "restart"),
                             path, last_cause),
                 "restarting does not repair it", "run its command by hand and read its output"});
}

void judge_budget(const Policy& policy, const LoopPolicy& loop, const LoopBudget& budget, Findings& out) {
  if (budget.holds()) return;
  const bool slo = budget.slo_holds == false;
  out.push_back({Severity::kWarning, fmt::format("loop '{}' cannot meet its objective", loop.name),
                 fmt::format("{}, but after a crash: {} = {}",
                             slo ? "takeover_slo " + format_duration(*loop.takeover_slo)
                                 : "stale_window " + format_duration(*loop.stale_window),
                             budget.budget.crash_worst.formula(), budget.budget.crash_worst.arithmetic()),
                 "the next crash will violate it: failover is too slow for the objective",
                 "bellwether budget " + policy.file});
}

Severity worst_of(const Findings& findings) {
  Severity worst = Severity::kNote;
  for (const Finding& finding : findings) worst = std::max(worst, finding.severity);
  return worst;
}

}  // namespace bellwether::lead
