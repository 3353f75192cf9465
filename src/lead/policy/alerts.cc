#include "lead/policy/alerts.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/base/units.h"
#include "core/web/labels.h"
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
  return std::to_string((span + second - Duration::nanos(1)) / second) + "s";
}

std::string number(Duration span) {
  std::string text = std::to_string(static_cast<double>(span.ns()) / 1e9);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// What the expressions of one loop are made of.
class LoopAlerts {
 public:
  LoopAlerts(const Policy& policy, const LoopPolicy& loop, const AlertSettings& settings)
      : policy_(policy),
        loop_(loop),
        settings_(settings),
        worst_(budget_of_loop(loop, settings.operation, settings.default_store).budget.crash_worst.total),
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
    return std::string(metric) + "{key=" + as_string(web::label_text(loop_.lock_key)) + "}";
  }
  std::string by_loop(std::string_view metric) const {
    return std::string(metric) + "{loop=" + as_string(web::label_text(loop_.name)) + "}";
  }
  std::string doctor() const { return "bellwether doctor --policy " + policy_.file; }
  std::string loop() const { return "loop " + loop_.name; }

  // Series that are not there count as nobody. A loop that gives its key back after each tick has a holder only now and
  // then, so it is its epoch that must move.
  Alert no_leader() const {
    const Duration looks = settings_.scrape * 4;
    Alert alert{
        .name = "NoLeader", .expression = {}, .pending = {}, .severity = "critical", .summary = {}, .runbook = {}};
    if (loop_.release_mode == ReleaseMode::kTtlHold) {
      alert.expression = "(sum(" + by_key(metric::kLeader) + ") or vector(0)) < 1";
      alert.pending = std::max(promised_, settings_.scrape * 2);
      alert.summary = loop() + " has had no holder for longer than its takeover may take";
    } else {
      const Duration window = std::max(promised_ + loop_.poll_interval, looks);
      alert.expression =
          "(max(delta(" + by_key(metric::kEpoch) + "[" + prometheus_span(window) + "])) or vector(0)) <= 0";
      alert.pending = settings_.scrape * 2;
      alert.summary = loop() + " has not run for longer than its takeover may take";
    }
    alert.runbook = "Is any of its processes alive, and does the store answer? " + doctor() +
                    " says which. Work piles up until one of them holds the key.";
    return alert;
  }

  Alert two_leaders() const {
    return {.name = "TwoLeaders",
            .expression = "sum(" + by_key(metric::kLeader) + ") > 1",
            .pending = settings_.scrape * 3,
            .severity = "critical",
            .summary = loop() + " has more than one process that believes to hold its key",
            .runbook = "Stop all but the one with the highest " + std::string(metric::kEpoch) +
                       ", then look for two stores under one URL and for work that is not fenced. " + doctor() +
                       " compares clocks and epochs."};
  }

  Alert takeover_over_budget() const {
    return {.name = "TakeoverOverBudget",
            .expression = "max(" + by_key(metric::kFailover) + ") > " + number(promised_) + " and max(increase(" +
                          by_key(metric::kTransitions) + "[15m])) > 0",
            .pending = {},
            .severity = "warning",
            .summary = "the last takeover of " + loop() + " took longer than " + format_duration(promised_),
            .runbook = "Compare with bellwether budget " + policy_.file +
                       ": a store slower than assumed, too few standbys, or a promise that never could hold."};
  }

  Alert renewals_failing() const {
    const std::string failures = "sum(rate(" + by_key(metric::kRenewalFailures) + "[5m]))";
    const std::string renewals = "sum(rate(" + by_key(metric::kRenewals) + "[5m]))";
    return {.name = "RenewalsFailing",
            .expression = failures + " / (" + failures + " + " + renewals + ") > 0.1",
            .pending = Duration::minutes(2),
            .severity = "warning",
            .summary = "more than one of ten renewals of " + loop() + " fails",
            .runbook =
                "The store is slow or away, or the holder is starved. A few more in a row and the key changes "
                "hands. " +
                doctor()};
  }

  Alert fall_open() const {
    return {.name = "FallOpen",
            .expression = "sum(increase(" + by_key(metric::kFailOpen) + "[10m])) > 0",
            .pending = {},
            .severity = "warning",
            .summary = loop() + " was permitted to act without proof of leadership",
            .runbook =
                "Its fail policy is open, and no holder could be proven: the store did not answer or showed "
                "nobody. Check the work of that time for doubles."};
  }

  Alert lock_wait() const {
    return {.name = "LockWaitHigh",
            .expression = "histogram_quantile(0.99, sum by (le) (rate(" +
                          by_loop(std::string(metric::kLockWait) + "_bucket") + "[5m]))) > " +
                          number(settings_.operation),
            .pending = Duration::minutes(5),
            .severity = "warning",
            .summary = loop() + " waits longer for its lock than its takeover budget counts on (p99 over " +
                       format_duration(settings_.operation) + ")",
            .runbook = "The store is slower than assumed. bellwether budget " + policy_.file +
                       " --store-p99 TIME shows what the promises are worth at its present speed."};
  }

  Alert stale_debt() const {
    const std::string jobs = by_loop(metric::kStaleJobs);
    return {.name = "StaleDebtGrows",
            .expression = "sum(deriv(" + jobs + "[15m])) > 0 and sum(min_over_time(" + jobs + "[15m])) > 0",
            .pending = Duration::minutes(5),
            .severity = "warning",
            .summary = loop() + " leaves more stale work behind than it clears",
            .runbook =
                "A holder that lives is not a holder that works: look at its tick's errors and duration. If "
                "nobody holds the key, NoLeader fires too."};
  }

  Alert replay_pressure() const {
    return {.name = "ReplayPressure",
            .expression =
                "sum(rate(" + by_loop(metric::kOrphanReplayed) + "[5m])) * " + number(loop_.poll_interval) + " > 1",
            .pending = Duration::minutes(10),
            .severity = "warning",
            .summary = loop() + " replays orphaned work at each of its polls",
            .runbook =
                "Workers die, or are taken for dead, with work in their hands: look for restarts and for leases "
                "shorter than the work takes."};
  }

  Alert churn(const char* name, int changes, const char* severity) const {
    return {.name = name,
            .expression = "max(increase(" + by_key(metric::kTransitions) + "[1h])) >= " + std::to_string(changes),
            .pending = {},
            .severity = severity,
            .summary = "the holder of " + loop() + " changed " + std::to_string(changes) + " times or more in an hour",
            .runbook = "Renewals come late: lengthen lock_ttl or renew more often, and check bellwether budget " +
                       policy_.file + " afterwards. " + doctor() + " shows the causes."};
  }

  const Policy& policy_;
  const LoopPolicy& loop_;
  const AlertSettings& settings_;
  Duration worst_;
  Duration promised_;
};

void print(const Alert& alert, const LoopPolicy& loop, const AlertSettings& settings, std::string& out) {
  const std::string name = "Bellwether" + alert.name;
  out += "      - alert: " + name + "\n";
  out += "        expr: " + as_string(alert.expression) + "\n";
  if (alert.pending > Duration::zero()) out += "        for: " + prometheus_span(alert.pending) + "\n";
  out += "        labels: {severity: " + alert.severity + ", loop: " + as_string(loop.name) + "}\n";
  out += "        annotations:\n";
  out += "          summary: " + as_string(plain(alert.summary)) + "\n";
  out += "          runbook: " + as_string(plain(alert.runbook)) + "\n";
  if (!settings.runbook_url.empty()) {
    out += "          runbook_url: " + as_string(settings.runbook_url + "#" + name) + "\n";
  }
}

}  // namespace

std::string prometheus_rules(const Policy& policy, const AlertSettings& settings) {
  std::string out = "groups:\n";
  for (const LoopPolicy& loop : policy.loops) {
    out += "  - name: " + as_string("bellwether " + loop.name) + "\n    rules:\n";
    for (const Alert& alert : LoopAlerts(policy, loop, settings).all()) print(alert, loop, settings, out);
  }
  return out;
}

}  // namespace bellwether::lead
