#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/base/encoding.h"
#include "core/base/units.h"
#include "lead/metrics/lease_figures.h"
#include "lead/policy/policy.h"

namespace bellwether::lead {
namespace {

struct Alert {
  std::string name;
  std::string expression;
  Duration pending;  // how long the expression must hold
  std::string severity;
  std::string summary;
  std::string runbook;
};

// In quotes, as YAML and PromQL both understand it.
std::string as_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// For annotations, which Prometheus reads as templates.
std::string plain(std::string text) {
  for (std::size_t at = text.find("{{"); at != std::string::npos; at = text.find("{{", at)) text.insert(at + 1, " ");
  return text;
}

// In whole seconds, rounded up.
std::string prometheus_span(Duration span) {
  const Duration second = Duration::seconds(1);
  return fmt::format("{}s", (span + second - Duration::nanos(1)) / second);
}

std::string number(Duration span) {
  std::string text = std::to_string(static_cast<double>(span.ns()) / 1e9);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// The parts of one loop's expressions.
class LoopAlerts {
 public:
  LoopAlerts(const Policy& policy, const LoopPolicy& loop, const AlertSettings& settings)
      : policy_(policy),
        loop_(loop),
        settings_(settings),
        worst_(budget_of_loop(loop, settings.operation).budget.crash_worst.total),
        promised_(loop.takeover_slo.value_or(worst_)) {}

  std::vector<Alert> all() const {
    std::vector<Alert> alerts{no_leader(), two_leaders(), takeover_over_budget(), renewals_failing(),
                              fall_open(), lock_wait(),   stale_debt(),           replay_pressure()};
    if (loop_.release_mode == ReleaseMode::kTtlHold) {
      alerts.push_back(churn("LeaderChangesOften", 5, "warning"));
      alerts.push_back(churn("LeaderFlaps", 10, "critical"));
    }
    return alerts;
  }

 private:
  std::string by_key(std::string_view metric) const {
    return fmt::format("{}{{key={}}}", metric, as_string(label_text(loop_.lock_key)));
  }
  std::string by_loop(std::string_view metric) const {
    return fmt::format("{}{{loop={}}}", metric, as_string(label_text(loop_.name)));
  }
  std::string doctor() const { return "bellwether doctor --policy " + policy_.file; }
  std::string loop() const { return "loop " + loop_.name; }

  // An absent series counts as no holder. A loop that gives its key back after each tick has a holder only now and
  // then, so its epoch must move instead.
  Alert no_leader() const {
    const Duration looks = settings_.scrape * 4;
    Alert alert{
        .name = "NoLeader", .expression = {}, .pending = {}, .severity = "critical", .summary = {}, .runbook = {}};
    if (loop_.release_mode == ReleaseMode::kTtlHold) {
      alert.expression = fmt::format("(sum({}) or vector(0)) < 1", by_key(metric::kLeader));
      alert.pending = std::max(promised_, settings_.scrape * 2);
      alert.summary = loop() + " has had no holder for longer than a takeover may take";
    } else {
      const Duration window = std::max(promised_ + loop_.poll_interval, looks);
      alert.expression =
          fmt::format("(max(delta({}[{}])) or vector(0)) <= 0", by_key(metric::kEpoch), prometheus_span(window));
      alert.pending = settings_.scrape * 2;
      alert.summary = loop() + " has not run for longer than a takeover may take";
    }
    alert.runbook = fmt::format(
        "Check that its processes are alive and that the store answers: {} shows both. Work accumulates until one of "
        "them holds the key.",
        doctor());
    return alert;
  }

  Alert two_leaders() const {
    return {.name = "TwoLeaders",
            .expression = fmt::format("sum({}) > 1", by_key(metric::kLeader)),
            .pending = settings_.scrape * 3,
            .severity = "critical",
            .summary = loop() + " has more than one process that claims to hold its key",
            .runbook = fmt::format("Stop all but the one with the highest {}, then check for two stores under one URL "
                                   "and for unfenced work. {} compares clocks and epochs.",
                                   metric::kEpoch, doctor())};
  }

  Alert takeover_over_budget() const {
    return {.name = "TakeoverOverBudget",
            .expression = fmt::format("max({}) > {} and max(increase({}[15m])) > 0", by_key(metric::kFailover),
                                      number(promised_), by_key(metric::kTransitions)),
            .pending = {},
            .severity = "warning",
            .summary = fmt::format("the last takeover of {} took longer than {}", loop(), format_duration(promised_)),
            .runbook = fmt::format("Compare with bellwether budget {}: the store is slower than assumed, there are too "
                                   "few standbys, or the objective was never achievable.",
                                   policy_.file)};
  }

  Alert renewals_failing() const {
    const std::string failures = fmt::format("sum(rate({}[5m]))", by_key(metric::kRenewalFailures));
    const std::string renewals = fmt::format("sum(rate({}[5m]))", by_key(metric::kRenewals));
    return {.name = "RenewalsFailing",
            .expression = fmt::format("{} / ({} + {}) > 0.1", failures, failures, renewals),
            .pending = Duration::minutes(2),
            .severity = "warning",
            .summary = fmt::format("more than one in ten renewals of {} fails", loop()),
            .runbook =
                "The store is slow or unreachable, or the holder lacks CPU. After a few more in a row the holder "
                "changes. " +
                doctor()};
  }

  Alert fall_open() const {
    return {.name = "FallOpen",
            .expression = fmt::format("sum(increase({}[10m])) > 0", by_key(metric::kFailOpen)),
            .pending = {},
            .severity = "warning",
            .summary = loop() + " was permitted to work without proof of leadership",
            .runbook =
                "Its fail policy is open, and no holder could be proven: the store did not answer or showed no holder. "
                "Check the work of that time for duplicates."};
  }

  Alert lock_wait() const {
    return {.name = "LockWaitHigh",
            .expression = fmt::format("histogram_quantile(0.99, sum by (le) (rate({}[5m]))) > {}",
                                      by_loop(std::string(metric::kLockWait) + "_bucket"), number(settings_.operation)),
            .pending = Duration::minutes(5),
            .severity = "warning",
            .summary = fmt::format("{} waits longer for its lock than its takeover budget assumes (p99 over {})",
                                   loop(), format_duration(settings_.operation)),
            .runbook = fmt::format("The store is slower than assumed. bellwether budget {} --store-p99 TIME computes "
                                   "the objectives at its present speed.",
                                   policy_.file)};
  }

  Alert stale_debt() const {
    const std::string jobs = by_loop(metric::kStaleJobs);
    return {.name = "StaleDebtGrows",
            .expression = fmt::format("sum(deriv({}[15m])) > 0 and sum(min_over_time({}[15m])) > 0", jobs, jobs),
            .pending = Duration::minutes(5),
            .severity = "warning",
            .summary = loop() + " leaves more stale work behind than it clears",
            .runbook =
                "The holder may be alive without doing its work: check the errors and the duration of its tick. If the "
                "key has no holder, NoLeader fires too."};
  }

  Alert replay_pressure() const {
    return {.name = "ReplayPressure",
            .expression = fmt::format("sum(rate({}[5m])) * {} > 1", by_loop(metric::kOrphanReplayed),
                                      number(loop_.poll_interval)),
            .pending = Duration::minutes(10),
            .severity = "warning",
            .summary = loop() + " replays orphaned work at each poll",
            .runbook =
                "Workers die or are declared dead while they have work: check for restarts and for leases that are "
                "shorter than the work."};
  }

  Alert churn(const char* name, int changes, const char* severity) const {
    return {.name = name,
            .expression = fmt::format("max(increase({}[1h])) >= {}", by_key(metric::kTransitions), changes),
            .pending = {},
            .severity = severity,
            .summary = fmt::format("the holder of {} changed {} times or more in an hour", loop(), changes),
            .runbook = fmt::format("Renewals come late: lengthen lock_ttl or renew more often, and check bellwether "
                                   "budget {} afterwards. {} shows the causes.",
                                   policy_.file, doctor())};
  }

  const Policy& policy_;
  const LoopPolicy& loop_;
  const AlertSettings& settings_;
  Duration worst_;
  Duration promised_;
};

void print(const Alert& alert, const LoopPolicy& loop, const AlertSettings& settings, std::string& out) {
  const std::string name = "Bellwether" + alert.name;
  out += fmt::format("      - alert: {}\n", name);
  out += fmt::format("        expr: {}\n", as_string(alert.expression));
  if (alert.pending > Duration::zero()) out += fmt::format("        for: {}\n", prometheus_span(alert.pending));
  out += fmt::format("        labels: {{severity: {}, loop: {}}}\n", alert.severity, as_string(loop.name));
  out += "        annotations:\n";
  out += fmt::format("          summary: {}\n", as_string(plain(alert.summary)));
  out += fmt::format("          runbook: {}\n", as_string(plain(alert.runbook)));
  if (!settings.runbook_url.empty()) {
    out += fmt::format("          runbook_url: {}\n", as_string(fmt::format("{}#{}", settings.runbook_url, name)));
  }
}

}  // namespace

std::string prometheus_rules(const Policy& policy, const AlertSettings& settings) {
  std::string out = "groups:\n";
  for (const LoopPolicy& loop : policy.loops) {
    out += fmt::format("  - name: {}\n    rules:\n", as_string("bellwether " + loop.name));
    for (const Alert& alert : LoopAlerts(policy, loop, settings).all()) print(alert, loop, settings, out);
  }
  return out;
}

}  // namespace bellwether::lead
