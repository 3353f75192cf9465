#include "sim/clock.h"

#include "base/check.h"

namespace bellwether::sim {
namespace {

constexpr __int128 kMillion = 1'000'000;

}  // namespace

Clock::Clock(Instant world, Start start, int64_t drift_ppm)
    : world_base_(world),
      local_base_(start.monotonic),
      drift_ppm_(drift_ppm),
      boot_ahead_(start.boot_ahead),
      wall_ahead_(start.wall.unix_ns - start.monotonic.ns()) {
  check(drift_ppm > -kMillion, "clocks never stand still");
}

Instant Clock::monotonic(Instant world) const {
  const __int128 elapsed = (world - world_base_).ns();
  return local_base_ + Duration::nanos(static_cast<int64_t>(elapsed * (kMillion + drift_ppm_) / kMillion));
}

Instant Clock::world_at(Instant local) const {
  if (local == Instant::never()) return Instant::never();
  if (local <= local_base_) return world_base_;
  const __int128 rate = kMillion + drift_ppm_;
  const __int128 elapsed = (static_cast<__int128>((local - local_base_).ns()) * kMillion + rate - 1) / rate;
  if (elapsed >= Duration::max().ns()) return Instant::never();
  return world_base_ + Duration::nanos(static_cast<int64_t>(elapsed));
}

void Clock::set_drift(Instant world, int64_t ppm) {
  check(ppm > -kMillion, "clocks never stand still");
  local_base_ = monotonic(world);
  world_base_ = world;
  drift_ppm_ = ppm;
}

void Clock::step_boot(Duration by) {
  check(by >= Duration::zero(), "the boot clock never goes back");
  boot_ahead_ += by;
}

}  // namespace bellwether::sim
