#include "sim/leadership/leadership_world.h"

#include <algorithm>

#include "base/units.h"
#include "sim/leadership/leadership_run.h"

namespace bellwether::sim {
namespace {

constexpr int kFaultsMin = 4;
constexpr int kFaultsMax = 24;

election::LeaseTiming timing_for(Prng& prng, LeadershipMistake mistake, double drift) {
  static constexpr int kSeconds[] = {1, 3, 15};
  auto timing = election::LeaseTiming::of(Duration::seconds(kSeconds[prng.below(3)]));
  timing.drift = drift;
  const double usable = timing.lease.seconds_f() * (1 - drift);
  timing.stop_grace = Duration::from_seconds_f(usable) - timing.renew_deadline - timing.margin;
  if (mistake == LeadershipMistake::kNoMarginForDrift) {
    timing.drift = 0;
    timing.margin = Duration::zero();
    timing.stop_grace = timing.lease - timing.renew_deadline;
  }
  if (mistake == LeadershipMistake::kDeadlineIsTheLease) timing.renew_deadline = timing.lease;
  if (mistake == LeadershipMistake::kCountsFromAnswer) {
    timing.store_timeout = timing.renew_deadline - timing.renew_every;
  }
  return timing;
}

}  // namespace

LeadershipWorld::LeadershipWorld(Mechanism mechanism, uint64_t seed, LeadershipMistake mistake, bool trace)
    : mechanism_(mechanism),
      mistake_(mistake),
      tracing_(trace),
      timeline_(seed * 8 + static_cast<uint64_t>(mechanism)),
      store_(mechanism, mistake),
      worst_drift_(timeline_.prng().chance(0.3) ? 0.1 : 0.01),
      timing_(timing_for(timeline_.prng(), mistake, worst_drift_)),
      contenders_(2 + prng().below(3)),
      checker_(contenders_.size()),
      cut_off_(contenders_.size()),
      late_(contenders_.size()),
      deaf_(contenders_.size()) {
  work_checks_guard_ = prng().chance(0.5);
  stubborn_work_ = prng().chance(0.3);
  cross_region_ = prng().chance(0.2);
  backing_off_ = prng().chance(0.1);
  damping_flaps_ = prng().chance(0.1);
  slowest_ = timing_.store_timeout / 4;
  for (std::size_t i = 0; i < contenders_.size(); ++i) {
    Contender& c = contenders_[i];
    c.index = static_cast<uint32_t>(i);
    c.base_local = Instant::from_ns(prng().between(0, Duration::hours(1).ns()));
    c.rate = 1 + (prng().unit() * 2 - 1) * worst_drift_ * 0.99;
  }
}

// False when a rule was broken.
bool LeadershipWorld::run_until(Instant end) {
  while (timeline_.next() <= end && checker_.violation().empty()) {
    timeline_.advance(timeline_.next());
    timeline_.run_one();
  }
  if (checker_.violation().empty()) timeline_.advance(end);
  return checker_.violation().empty();
}

Contender* LeadershipWorld::leader() {
  for (Contender& c : contenders_) {
    if (c.up && c.working && !c.hung && c.elector->state() == election::Elector::State::kLeading) return &c;
  }
  return nullptr;
}

// From the moment the last holder's process is gone. What a contender adds itself (regions, back-off) is added.
Duration LeadershipWorld::takeover_budget() const {
  const Duration poll = timing_.retry + timing_.store_timeout;
  Duration budget = poll * 2;
  if (mechanism_ != Mechanism::kHostLock) budget += timing_.takeable_after(timing_.lease);
  if (cross_region_) budget += timing_.lease / 2;
  if (backing_off_) budget += Duration::seconds(30);
  if (damping_flaps_) budget += election::FlapSettings{}.cooldown;           // I16: it delays, and never for ever
  return Duration::from_seconds_f(budget.seconds_f() / (1 - worst_drift_));  // as the slowest clock shows it
}

void LeadershipWorld::expect_leader_that_stays() {
  // The worst: work winds up for two leases, the lease of a holder that is gone runs out, those who have just given the
  // key up stay back for one, and a store that forgot is not believed for another.
  const Duration at_most = takeover_budget() + timing_.lease * 8 + Duration::seconds(1);
  const Instant end = now() + at_most;
  while (leader() == nullptr && now() < end) {
    if (!run_until(now() + timing_.retry)) return;
  }
  if (leader() == nullptr) {
    checker_.fail("I13: nothing is broken any more, and nobody leads after " + format_duration(at_most), now());
    return;
  }
  // What was on its way when things were made whole may still end this term; after that none does.
  if (!run_until(now() + timing_.lease * 3)) return;
  const uint32_t terms = checker_.terms();
  if (!run_until(now() + timing_.lease * 4)) return;
  if (leader() == nullptr) checker_.fail("I13: nothing is broken any more, and nobody leads", now());
  if (checker_.terms() != terms) checker_.fail("I13: the leader changed although nothing was broken", now());
}

void LeadershipWorld::expect_takeover_in_budget() {
  Contender* holder = leader();
  crash(*holder, true);
  const Instant end = now() + takeover_budget();
  while (leader() == nullptr && now() < end) {
    if (!run_until(std::min(end, now() + timing_.retry / 8))) return;
  }
  if (leader() == nullptr) {
    checker_.fail("I13: no takeover within the budget of " + format_duration(takeover_budget()), now());
  }
}

LeadershipRun LeadershipWorld::live() {
  for (Contender& c : contenders_) {
    timeline_.after(draw(Duration::zero(), timing_.lease), [this, &c] { start(c); });
  }
  const auto faults = static_cast<int>(prng().between(kFaultsMin, kFaultsMax));
  Duration after = timing_.lease;
  for (int i = 0; i < faults; ++i) {
    after += draw(Duration::zero(), timing_.lease * 2);
    timeline_.after(after, [this] { something_goes_wrong(); });
  }
  if (run_until(now() + after + timing_.lease)) {
    make_whole();
    // What is still scheduled to break or mend has happened after three leases.
    if (run_until(now() + timing_.lease * 4)) {
      make_whole();
      expect_leader_that_stays();
      if (checker_.violation().empty()) expect_takeover_in_budget();
    }
  }
  LeadershipRun run;
  run.violation = checker_.violation();
  run.fingerprint = timeline_.fingerprint();
  run.terms = checker_.terms();
  run.events = events_;
  run.refused_acts = refused_acts_;
  run.trace = std::move(trace_);
  return run;
}

LeadershipRun live_leadership(Mechanism mechanism, uint64_t seed, LeadershipMistake mistake, bool trace) {
  return LeadershipWorld(mechanism, seed, mistake, trace).live();
}

}  // namespace bellwether::sim
