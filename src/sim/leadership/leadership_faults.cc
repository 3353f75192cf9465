#include <algorithm>

#include "base/probe.h"
#include "base/units.h"
#include "sim/leadership/leadership_run.h"

namespace bellwether::sim {

void LeadershipWorld::something_goes_wrong() {
  Prng& dice = prng();
  Contender& c = contenders_[dice.below(contenders_.size())];
  const Duration while_ = draw(timing_.lease / 4, timing_.lease * 3);
  switch (dice.below(8)) {
    case 0:
    case 1:
    case 2: break_contender(c); break;
    case 3: break_store(); break;
    case 4:
      BW_PROBE("leadership: a contender is cut off from the store");
      say(c, "is cut off");
      cut_off_[c.index] = true;
      timeline_.after(while_, [this, &c] { cut_off_[c.index] = false; });
      break;
    case 5:
      if (dice.chance(0.5)) {
        BW_PROBE("leadership: a contender hears the store late");
        say(c, "hears the store late");
        late_[c.index] = true;
        timeline_.after(while_, [this, &c] {
          // It often ends in not hearing it at all.
          late_[c.index] = false;
          cut_off_[c.index] = prng().chance(0.5);
          timeline_.after(timing_.lease * 2, [this, &c] { cut_off_[c.index] = false; });
        });
        break;
      }
      BW_PROBE("leadership: a contender does not hear the store");
      say(c, "does not hear the store");
      deaf_[c.index] = true;
      timeline_.after(while_, [this, &c] { deaf_[c.index] = false; });
      break;
    case 6:
      BW_PROBE("leadership: the network is slow and loses messages");
      loss_ = dice.unit() * 0.5;
      slowest_ = draw(timing_.store_timeout / 4, timing_.lease);
      timeline_.after(while_, [this] {
        loss_ = 0;
        slowest_ = timing_.store_timeout / 4;
      });
      break;
    default: c.set_rate(now(), 1 + (dice.unit() * 2 - 1) * worst_drift_ * 0.99); break;
  }
}

void LeadershipWorld::break_contender(Contender& c) {
  Prng& dice = prng();
  const Duration while_ = draw(timing_.lease / 2, timing_.lease * 3);
  switch (dice.below(8)) {
    case 0:
    case 1:
      crash(c, dice.chance(0.5));
      // With its disk, or without: then it knows no epoch any more.
      if (dice.chance(0.3)) c.kept_floor = election::Epoch();
      timeline_.after(draw(Duration::zero(), timing_.lease * 2), [this, &c] {
        if (!c.up && !c.working) start(c);
      });
      break;
    case 2:
    case 3:
      pause(c, dice.chance(0.3));
      if (c.suspended && is(LeadershipMistake::kClockStopsInSuspend)) {
        c.base_local = c.local(now());
        c.base_world = now() + while_;
      }
      timeline_.after(while_, [this, &c] { resume(c); });
      break;
    case 4:
      if (c.working && !c.hung) {
        BW_PROBE("leadership: the work hangs");
        say(c, "work hangs");
        c.hung = true;
      }
      break;
    case 5:
      if (c.up) {
        BW_PROBE("leadership: a holder is told to resign");
        const std::string heir = dice.chance(0.5) ? "c" + std::to_string(dice.below(contenders_.size())) : "";
        deliver(c, election::Resign{.cause = "asked to", .heir = heir});
      }
      break;
    case 6:
      if (!c.up) break;
      if (dice.chance(0.5)) {
        deliver(c, election::StoreChanged{});
      } else {
        change_lease(c);
      }
      break;
    default:
      if (is(LeadershipMistake::kTrustsWallClock)) c.base_local += draw(timing_.lease, timing_.lease * 4);
      break;
  }
}

// As a lease that follows the store does: shorter while the store is quick, and back again when it becomes slow, which
// often ends in a store that does not answer. Never longer than what the budgets of this world are made from.
void LeadershipWorld::change_lease(Contender& c) {
  if (timing_.lease < Duration::seconds(2)) return;
  BW_PROBE("leadership: a lease gets other times");
  set_lease(c, 0.5 + prng().unit() / 2);
  timeline_.after(draw(timing_.lease, timing_.lease * 3), [this, &c] {
    set_lease(c, 1);
    if (prng().chance(0.5)) return;
    cut_off_[c.index] = true;
    timeline_.after(timing_.lease * 2, [this, &c] { cut_off_[c.index] = false; });
  });
}

void LeadershipWorld::set_lease(Contender& c, double share) {
  election::LeaseTiming timing = timing_;
  for (Duration* span : {&timing.lease, &timing.renew_every, &timing.renew_deadline, &timing.stop_grace, &timing.margin,
                         &timing.retry}) {
    *span = Duration::from_seconds_f(span->seconds_f() * share);
  }
  say(c, "has a lease of " + format_duration(timing.lease) + " from now on");
  deliver(c, election::Retime{timing});
}

void LeadershipWorld::break_store() {
  Prng& dice = prng();
  if (dice.chance(0.2)) {
    store_.record_deleted();
    return;
  }
  BW_PROBE("leadership: the store is down");
  store_up_ = false;
  if (dice.chance(0.5)) store_.crash(dice, now());
  if (is(LeadershipMistake::kResourceForgetsFence)) resource_ = election::FenceGuard();
  timeline_.after(draw(timing_.lease / 4, timing_.lease * 2), [this] { store_up_ = true; });
}

void LeadershipWorld::make_whole() {
  store_up_ = true;
  loss_ = 0;
  slowest_ = timing_.store_timeout / 4;
  for (Contender& c : contenders_) {
    cut_off_[c.index] = deaf_[c.index] = late_[c.index] = false;
    resume(c);
    if (!c.up && !c.working) start(c);
  }
}

}  // namespace bellwether::sim
