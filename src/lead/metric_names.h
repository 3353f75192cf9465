// The names under which leadership is measured, in the form of Prometheus. Whoever publishes them and whoever alerts on
// them takes them from here. Each has the label `key` (of the lock) and, where a loop of a policy sheet runs under it,
// `loop`. A counter is there with 0 from the start, for else its first count would be no increase.
#pragma once

#include <string_view>

namespace bellwether::lead::metric {

// 1 while this process holds the key, and else 0.
inline constexpr std::string_view kLeader = "bellwether_leader";
// The highest epoch that this process has seen, as holder or as observer.
inline constexpr std::string_view kEpoch = "bellwether_lease_epoch";
// Changes of holder that this process has seen: terms of a new epoch, its own among them.
inline constexpr std::string_view kTransitions = "bellwether_lease_transitions_total";
// Renewals of this process that the store has confirmed, and those that failed or were not answered in time.
inline constexpr std::string_view kRenewals = "bellwether_lease_renewals_total";
inline constexpr std::string_view kRenewalFailures = "bellwether_lease_renewal_failures_total";
// Histogram: from sending a renewal until it was confirmed.
inline constexpr std::string_view kRenewSeconds = "bellwether_lease_renew_seconds";
// How long ago the last confirmed renewal of this process was sent; only while it holds the key.
inline constexpr std::string_view kLastRenewal = "bellwether_lease_last_renewal_seconds";
// Of the last change of holder: the time without one, as this process saw it.
inline constexpr std::string_view kFailover = "bellwether_failover_seconds";
// How often this process was permitted to act without proof of leadership.
inline constexpr std::string_view kFailOpen = "bellwether_fail_open_total";
// Histogram, in seconds: from the moment at which a tick wanted its lock until the store had answered.
inline constexpr std::string_view kLockWait = "job_lock_wait";
// Ticks of a loop that have ended, and those among them that failed.
inline constexpr std::string_view kTicks = "bellwether_loop_ticks_total";
inline constexpr std::string_view kTickFailures = "bellwether_loop_tick_failures_total";
// Work that is overdue because nobody did it, as the loop's tick counted it last.
inline constexpr std::string_view kStaleJobs = "stale_jobs";
// Work that was found without an owner and begun again.
inline constexpr std::string_view kOrphanReplayed = "orphan_replayed_total";

}  // namespace bellwether::lead::metric
