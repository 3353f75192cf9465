#include "cluster/health/probe.h"

#include <algorithm>

#include "core/base/check.h"

namespace bellwether::health {

Probe::Probe(ProbeSettings settings, bool passes, Instant now, Prng prng)
    : settings_(settings), period_(Period::about(settings.period), prng), passes_(passes), next_(now) {
  check(settings.failures > 0 && settings.successes > 0, "results change the verdict");
}

bool Probe::tick(Instant now) {
  if (looking_ && now >= look_until_) failed();
  if (looking_ || now < next_) return false;
  looking_ = true;
  next_ = now + period_.next();
  look_until_ = now + settings_.timeout;
  return true;
}

void Probe::passed() { count(true); }
void Probe::failed() { count(false); }

void Probe::count(bool passed) {
  if (!looking_) return;  // too late: it was counted as a failure
  looking_ = false;
  against_ = passed == passes_ ? 0 : against_ + 1;
  if (against_ < (passes_ ? settings_.failures : settings_.successes)) return;
  passes_ = !passes_;
  against_ = 0;
}

Probes::Probes(Settings settings, Instant now, Prng prng)
    : settings_(settings),
      prng_(prng),
      startup_(settings.startup, true, now, prng_.fork()),
      liveness_(settings.liveness, true, now, prng_.fork()),
      readiness_(settings.readiness, false, now, prng_.fork()) {}

Probes::Due Probes::tick(Instant now) {
  if (!started_) return {.startup = startup_.tick(now)};
  return {.liveness = liveness_.tick(now), .readiness = readiness_.tick(now)};
}

Instant Probes::next_deadline() const {
  return started_ ? std::min(liveness_.next_deadline(), readiness_.next_deadline()) : startup_.next_deadline();
}

void Probes::startup_result(Instant now, bool passed) {
  if (started_) return;
  passed ? startup_.passed() : startup_.failed();
  if (!passed) return;
  started_ = true;
  liveness_ = Probe(settings_.liveness, true, now, prng_.fork());
  readiness_ = Probe(settings_.readiness, false, now, prng_.fork());
}

void Probes::liveness_result(bool passed) { passed ? liveness_.passed() : liveness_.failed(); }
void Probes::readiness_result(bool passed) { passed ? readiness_.passed() : readiness_.failed(); }

}  // namespace bellwether::health
