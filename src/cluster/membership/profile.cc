#include "cluster/membership/profile.h"

#include <algorithm>
#include <cmath>

namespace bellwether::membership {

Figures wan() {
  Figures f;
  f.name = "wan";
  f.probe_interval = Duration::millis(2000);
  f.timeout_min = Duration::millis(500);
  f.timeout_max = Duration::millis(1500);
  f.verdict_after = Duration::millis(3000);
  f.suspicion_unit = Duration::millis(2500);
  f.gossip_interval = Duration::millis(500);
  f.gossip_fanout = 3;
  f.sync_settle = Duration::seconds(10);
  f.sync_interval = Duration::seconds(30);
  f.dead_probe_interval = Duration::seconds(15);
  return f;
}

Figures local() {
  Figures f;
  f.name = "local";
  f.probe_interval = Duration::millis(250);
  f.timeout_min = Duration::millis(50);
  f.timeout_max = Duration::millis(100);
  f.verdict_after = Duration::millis(250);
  f.suspicion_unit = Duration::millis(300);
  f.gossip_interval = Duration::millis(100);
  f.sync_settle = Duration::seconds(2);
  f.sync_interval = Duration::seconds(5);
  f.dead_probe_interval = Duration::seconds(2);
  return f;
}

std::optional<Figures> figures_named(std::string_view name) {
  for (const Figures& f : {lan(), wan(), local()}) {
    if (f.name == name) return f;
  }
  return std::nullopt;
}

Figures plain_swim() {
  Figures f;
  f.name = "swim";
  f.probe_interval = Duration::seconds(1);
  f.timeout_min = f.timeout_max = Duration::millis(500);
  f.verdict_after = Duration::seconds(1);
  f.nacks = false;
  f.watch_successor = false;
  f.adaptive_timeout = false;
  f.health_max = 0;
  f.health_scales_suspicion = false;
  f.gossip_interval = Duration::millis(200);
  f.gossip_fanout = 3;
  f.lambda = 4;
  f.suspicion_unit = Duration::seconds(5);
  f.suspicion_max_factor = 1;
  f.confirmations = 0;
  f.nack_testifies = false;
  f.tell_suspect = false;
  f.tell_at_once = false;
  f.deaf_pause = false;
  f.guard = false;
  return f;
}

Figures lifeguard_as_published() {
  Figures f = plain_swim();
  f.name = "lifeguard";
  f.nacks = true;
  f.health_max = 8;
  f.health_step = 1;
  f.health = {.probe_ok = -1,
              .probe_failed = 1,
              .indirect_needed = 0,
              .nack_missing = 1,
              .suspected = 1,
              .refuted = 0,
              .excused_by_nacks = false};
  f.suspicion_max_factor = 6;
  f.confirmations = 3;
  f.tell_suspect = true;
  return f;
}

Duration suspicion_min(const Figures& figures, std::size_t members) {
  const double scale = std::max(1.0, std::log10(static_cast<double>(std::max<std::size_t>(members, 1))));
  return Duration::from_seconds_f(figures.suspicion_unit.seconds_f() * scale);
}

Duration suspicion_max(const Figures& figures, std::size_t members) {
  return Duration::from_seconds_f(suspicion_min(figures, members).seconds_f() * figures.suspicion_max_factor);
}

Duration spread(const Figures& figures, std::size_t members) {
  const double n = static_cast<double>(std::max<std::size_t>(members, 2));
  const double rounds = std::ceil(std::log(n) / std::log(figures.gossip_fanout + 1.0)) + 3;
  return figures.gossip_interval * static_cast<int64_t>(rounds);
}

DetectionBudget detection_budget(const Figures& figures, std::size_t members) {
  // Probes of independent observers arrive like a Poisson process of one an interval; with watching, half of them do
  // and the successor's watcher comes every other interval at the latest.
  const double interval = figures.probe_interval.seconds_f();
  DetectionBudget budget;
  if (figures.watch_successor) {
    const double bound = 2 * interval;
    budget.first_probe_mean = Duration::from_seconds_f(bound * std::exp(-1.0));
    budget.first_probe_p99 = Duration::from_seconds_f(bound);
  } else {
    budget.first_probe_mean = figures.probe_interval;
    budget.first_probe_p99 = Duration::from_seconds_f(interval * std::log(100.0));
  }
  budget.verdict = figures.verdict_after;
  budget.suspicion = suspicion_min(figures, members);
  budget.spread = spread(figures, members);
  return budget;
}

}  // namespace bellwether::membership
