// The policy sheet: every loop of a control plane that must run exactly once, with its key, its times and the promised
// takeover, in one YAML file. People review it, `bellwether budget` checks it, and the loops run by it.
//
//   store: redis://127.0.0.1:6379                  # for the loops that name none
//   leader_election:
//     scheduler_reconciler:
//       poll_interval: 30s
//       lock_key: cordum:reconciler:default
//       lock_ttl: 60s
//       renew_every: 20s                           # 0s: never; default: lock_ttl / 3
//       release_mode: ttl_hold                     # or explicit: give the key back after each tick
//       longest_tick: 10s
//       takeover_slo: 95s
//       stale_window: 2m
//       guards: sys:jobs                           # or a list: what only the holder may change
//       command: ./reconcile --once                # one tick, for `bellwether loops run`
//
// Below: the sheet, the takeover budget of a loop, the times of its candidate, and alerts. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/yaml/diagnostic.h"
#include "election/budget.h"
#include "election/lease_timing.h"

namespace bellwether::lead {

enum class ReleaseMode : unsigned char {
  kTtlHold,   // the key is kept between ticks: its holder ticks at each of its polls
  kExplicit,  // the holder gives the key back after each tick
};
std::string_view to_string(ReleaseMode mode);

struct LoopPolicy {
  std::string name;
  yaml::Mark place;  // of the name, in the file
  Duration poll_interval;
  std::string lock_key;
  Duration lock_ttl;
  Duration renew_every;  // while a tick runs; zero: never
  ReleaseMode release_mode = ReleaseMode::kTtlHold;
  Duration longest_tick;                 // zero: not said
  std::optional<Duration> takeover_slo;  // the longest time without a holder after a crash
  std::optional<Duration> stale_window;  // the longest time between two ticks, over a crash
  std::vector<std::string> guards;
  std::string command;  // the tick, for a shell; empty: not said in the sheet
  std::string store;    // a URL; empty: not said in the sheet
};

struct Policy {
  std::string file;
  std::vector<LoopPolicy> loops;  // in the order of the file
};

struct PolicyReading {
  std::optional<Policy> policy;            // nothing when there are errors
  std::vector<yaml::Diagnostic> errors;    // in the order of the file
  std::vector<yaml::Diagnostic> warnings;  // valid settings that will cause trouble
};

// Limits: 1 MiB of text (core/yaml/node.h), this many loops, this many bytes of a lock key.
inline constexpr std::size_t kMaxLoops = 10'000;
inline constexpr std::size_t kMaxLockKeyBytes = 1024;

// All loops use this store in place of those in the sheet. Empty: the sheet decides.
void use_store(const std::string& url, std::vector<LoopPolicy>& loops);

// `file` is only for messages.
PolicyReading parse_policy(std::string_view text, const std::string& file);

// The promises of a policy sheet, compared with its values. Pure.
struct LoopBudget {
  election::BudgetInput input;
  election::FailoverBudget budget;
  Duration stale_worst;           // between two ticks, over a crash
  std::optional<bool> slo_holds;  // nothing: the sheet promises nothing
  std::optional<bool> stale_holds;
  std::optional<election::Suggestion> suggestion;  // when a promise does not hold, and other values could

  bool holds() const { return slo_holds.value_or(true) && stale_holds.value_or(true); }
};

// `operation`: of the store, 99 of 100 times.
LoopBudget budget_of_loop(const LoopPolicy& loop, Duration operation);

// From the times of a policy sheet to those of a candidate. A sheet has three: the poll interval of a process, the life
// of the lock, and the renewal interval during a tick. The rest follows. Pure.
struct LoopTiming {
  election::LeaseTiming waiting;  // on another process's turn: one look a poll
  election::LeaseTiming leading;  // failed renewals are repeated soon
  // A holder between two ticks extends its lease at each poll, and at the latest this long after the last time.
  Duration extend_within;
  bool renews_in_ticks = true;
  std::vector<std::string> warnings;
};

// kInvalid when no times follow that are safe, or when the store cannot keep leases this short.
Result<LoopTiming> timing_of(const LoopPolicy& loop, Duration lease_min);

// Prometheus alerts for the loops of a policy sheet, with limits from its own figures: the budget, not a guess, is the
// limit of a time without a holder.

struct AlertSettings {
  Duration operation = Duration::millis(50);  // of the store, p99, that the budget counts on
  Duration scrape = Duration::seconds(15);    // how often Prometheus looks
  std::string runbook_url;                    // empty: none; else the alert's name is appended as a fragment
};

// A rules file: one group a loop, one alert a trouble.
std::string prometheus_rules(const Policy& policy, const AlertSettings& settings);

}  // namespace bellwether::lead
