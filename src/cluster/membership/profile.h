// All figures of the membership protocol in one table: a profile for each kind of network, and the figures that follow
// from it. The two ancestors of the protocol are settings of the same kernel, so that a comparison compares rules and
// not programs.
//
// Sources: SWIM (Das, Gupta, Motivala, DSN 2002), Lifeguard (Dadgar, Phillips, Currey, arXiv 1707.00788).
#pragma once

#include <optional>
#include <string_view>

#include "core/base/time.h"

namespace bellwether::membership {

// What each kind of evidence about oneself adds to the local health score (LocalHealth).
struct HealthSteps {
  int probe_ok = -1;
  int probe_failed = 1;
  int indirect_needed = 1;
  int nack_missing = 0;  // for each silent proxy
  int suspected = 1;     // a member thinks that we are gone
  int refuted = -1;      // the group has heard otherwise
  // A failed probe whose proxies all answered is the target's fault: its points are taken back.
  bool excused_by_nacks = true;
};

// As it is made: those of a LAN.
struct Figures {
  std::string_view name = "lan";

  // --- probing
  Duration probe_interval = Duration::millis(500);  // between two probes, jittered by a tenth
  // Bounds of the time that a direct answer gets, between which it follows the measured round trips of that member
  // (mean + 4 deviations). Without any answer, direct or through proxies, the probe fails after the third.
  Duration timeout_min = Duration::millis(150);
  Duration timeout_max = Duration::millis(300);
  Duration verdict_after = Duration::millis(700);
  int proxies = 3;              // that are asked to probe for us
  bool nacks = true;            // a proxy that gets no answer says so
  bool watch_successor = true;  // every other probe goes to the next member by id: no member waits long for a probe
  bool adaptive_timeout = true;

  // --- local health
  int health_max = 8;
  double health_step = 0.25;  // each point stretches our timeouts by this factor
  bool health_scales_suspicion = true;
  HealthSteps health;

  // --- suspicion
  // A suspicion lasts unit·max(1, log10 n) once enough members have confirmed it, and `suspicion_max_factor` times
  // longer while no member has.
  Duration suspicion_unit = Duration::millis(700);
  double suspicion_max_factor = 6;
  int confirmations = 3;       // that are enough, beside the first accuser
  bool nack_testifies = true;  // a proxy without answer is an accuser too
  bool tell_suspect = true;    // every packet to a suspect says so first (Lifeguard's buddy system)
  bool tell_at_once = true;    // and so does a separate packet, which it answers with one
  bool deaf_pause = true;      // time in which we receive nothing counts against no member

  // --- gossip
  Duration gossip_interval = Duration::millis(250);
  int gossip_fanout = 2;
  int lambda = 3;  // an update is sent λ·⌈log10(n + 1)⌉ times by each
  std::size_t gossip_limit = 4096;

  // --- anti-entropy, tombstones, islands
  Duration sync_settle = Duration::seconds(4);     // views that differ although no news came for this time are compared
  Duration sync_interval = Duration::seconds(10);  // but no oftener than this
  Duration dead_probe_interval = Duration::seconds(5);  // a dead member is asked whether it is really dead
  // Seeds and forgotten members are asked whether they form an island to join.
  Duration island_interval = Duration::seconds(60);
  Duration tombstone_ttl = Duration::minutes(15);
  bool guard = true;  // hold evictions while more than half look failing
  // How long a systemic failure holds evictions (suspicions.h), and deafness deaths.
  Duration guard_limit = Duration::seconds(30);

  std::size_t max_members = 20'000;
};

inline Figures lan() { return {}; }
Figures wan();
Figures local();
std::optional<Figures> figures_named(std::string_view name);

// The ancestors with the defaults of their best-known implementation for a LAN (interval 1 s, timeout 500 ms, three
// proxies, gossip to three each 200 ms, λ 4; suspicion 5·log10 n intervals for SWIM, α = 5, β = 6 for Lifeguard).
Figures plain_swim();
Figures lifeguard_as_published();

// Suspicion times for a group of n, before the local health stretches them.
Duration suspicion_min(const Figures& figures, std::size_t members);
Duration suspicion_max(const Figures& figures, std::size_t members);
// How long news takes to reach all of n by gossip alone: ⌈log_{fanout+1} n⌉ + 3 rounds.
Duration spread(const Figures& figures, std::size_t members);

// The time from a crash until the group knows, with healthy observers: its parts, for a budget that is printed.
struct DetectionBudget {
  Duration first_probe_mean;
  Duration first_probe_p99;
  Duration verdict;
  Duration suspicion;
  Duration spread;
  Duration first_p99() const { return first_probe_p99 + verdict + suspicion; }
  Duration all_p99() const { return first_p99() + spread; }
};
DetectionBudget detection_budget(const Figures& figures, std::size_t members);

}  // namespace bellwether::membership
