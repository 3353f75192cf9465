#include "cluster/membership/self.h"

#include <utility>

#include "core/base/check.h"

namespace bellwether::membership {

Self::Self(MembershipConfig with, uint64_t seed) : config(std::move(with)), id(node_id(config.name)), prng(seed) {
  check(!config.name.empty() && config.name.size() <= kMaxName, "a member's name has 1 to 64 bytes");
  check(config.profile.meta.size() <= kMaxMeta, "meta has at most 255 bytes");
}

void SelfTrust::probe_answered() {
  health_.add(figures_.health.probe_ok);
  if (refuted_at_ != Instant::never() && self_.now - refuted_at_ > spread(figures_, table_.present())) {
    refuted_at_ = Instant::never();
    health_.add(figures_.health.refuted);
  }
}

void SelfTrust::suspected() {
  health_.add(figures_.health.suspected);
  refuted_at_ = self_.now;
}

void SelfTrust::on_lag(double ratio, Effects& out) {
  if (ratio >= 0.5) {
    health_.add(ratio >= 2 ? 2 : 1);
  } else if (lag_ratio_ >= 0.5) {
    health_.add(-1);
  }
  lag_ratio_ = ratio;
  update_level(out);
}

void SelfTrust::update_level(Effects& out) {
  const Degradation level = degradation_of(health_.score(), lag_ratio_);
  if (level == level_) return;
  level_ = level;
  out.emplace_back(DegradationChanged{level, health_.score(), lag_ratio_});
}

bool SelfTrust::heard() {
  const bool was_deaf = is_deaf();
  deaf_total_ = deaf_time();
  last_heard_ = self_.now;
  return was_deaf;
}

void SelfTrust::postpone(Duration lateness) {
  deaf_total_ += lateness;
  last_heard_ = std::min(self_.now, last_heard_ + lateness);
  health_.add(lateness > figures_.probe_interval ? 2 : 1);
}

}  // namespace bellwether::membership
