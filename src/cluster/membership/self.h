// A member's knowledge of itself: who it is, and how far it may trust its own watch over others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "cluster/membership/member_table.h"
#include "cluster/membership/membership_events.h"
#include "cluster/membership/profile.h"
#include "core/base/prng.h"
#include "core/base/time.h"

namespace bellwether::membership {

struct MembershipConfig {
  std::string name;  // unique in the group, 1 to kMaxName bytes
  Profile profile;
  // Grows with each start of a process under this name: the wall clock's seconds will do. Of two living processes with
  // one name the older keeps it.
  uint32_t life = 0;
  uint32_t incarnation = 0;  // of the earlier life, if it is remembered
  Figures figures;
};

enum class MembershipState : uint8_t { kIdle, kJoining, kMember, kLeaving, kGone };

// The common state of all parts of a membership.
struct Self {
  Self(MembershipConfig with, uint64_t seed);
  Self(const Self&) = delete;
  Self& operator=(const Self&) = delete;

  Duration jittered(Duration span) { return prng.between(span - span / 10, span + span / 10); }

  MembershipConfig config;
  NodeId id;
  Prng prng;
  MembershipState state = MembershipState::kIdle;
  Instant now;             // of the step
  uint64_t malformed = 0;  // packets so far
};

// How much a node may trust its own watch over others: a score from 0 (all is well) to 8 that grows with signs that the
// node itself is slow or badly connected, and stretches its timeouts (Lifeguard's local health multiplier).
class LocalHealth {
 public:
  LocalHealth(int max, double step) : max_(max), step_(step) {}

  void add(int points) { score_ = std::clamp(score_ + points, 0, max_); }
  int score() const { return score_; }
  // 1 + score · step: 1 to 3 with steps of a quarter.
  double stretch() const { return 1.0 + score_ * step_; }

 private:
  int max_;
  double step_;
  int score_ = 0;
};

// All signs by which a node doubts itself before others: its local health, the lag of its event loop, the level of
// degradation that follows from both, and the time since it last received anything.
class SelfTrust {
 public:
  // Both must outlive it.
  SelfTrust(const Self& self, const MemberTable& table) : self_(self), table_(table) {}
  void begin() { last_heard_ = self_.now; }

  // --- health
  void add(int points) { health_.add(points); }
  void probe_answered();
  void suspected();
  void on_lag(double ratio, Effects& out);
  void update_level(Effects& out);
  int score() const { return health_.score(); }
  Degradation level() const { return level_; }
  double stretch() const { return std::max(health_.stretch(), conduct(level_).stretch); }
  Duration stretched(Duration span) const { return Duration::from_seconds_f(span.seconds_f() * stretch()); }

  // --- hearing
  // True when it ends a long silence.
  bool heard();
  // This process did not run for this time: its packets still wait to be read.
  void postpone(Duration lateness);
  // Time without a packet although some member should have sent one; zero in a group that is too small to decide.
  Duration silence() const { return can_be_deaf() ? self_.now - last_heard_ : Duration(); }
  bool silent_since(Instant when) const { return can_be_deaf() && last_heard_ <= when; }
  bool is_deaf() const { return silence() > deaf_after(); }
  // All the time so far in which it was deaf.
  Duration deaf_time() const { return deaf_total_ + std::max(Duration(), silence() - deaf_after()); }

 private:
  bool can_be_deaf() const { return figures_.deaf_pause && table_.present() >= 4; }
  Duration deaf_after() const { return figures_.probe_interval * 2; }

  const Self& self_;
  const MemberTable& table_;
  const Figures& figures_ = self_.config.figures;
  LocalHealth health_{figures_.health_max, figures_.health_step};
  double lag_ratio_ = 0;
  Degradation level_ = Degradation::kNormal;
  Instant refuted_at_ = Instant::never();
  Instant last_heard_;
  Duration deaf_total_;
};

}  // namespace bellwether::membership
