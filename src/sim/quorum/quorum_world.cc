#include "sim/quorum/quorum_world.h"

#include <algorithm>

#include "base/check.h"
#include "base/units.h"
#include "sim/quorum/quorum_run.h"

namespace bellwether::sim {
namespace {

constexpr int kFaultsMin = 4;
constexpr int kFaultsMax = 32;
constexpr std::size_t kSpareAndTwin = 2;

quorum::QuorumTiming timing_for(Prng& prng, QuorumMistake mistake, double drift, bool calm) {
  if (calm) return quorum::QuorumTiming::lan();
  auto timing = prng.chance(0.7) ? quorum::QuorumTiming::lan() : quorum::QuorumTiming::wan();
  timing.drift = drift;
  if (mistake == QuorumMistake::kNoMarginForDrift) timing.stop_grace = Duration::zero();
  if (prng.chance(0.3)) timing.flap.changes = 2;
  return timing;
}

}  // namespace

QuorumWorld::QuorumWorld(uint64_t seed, QuorumMistake mistake, bool trace, Setting setting)
    : GroupWorld(seed, trace),
      mistake_(mistake),
      calm_(setting.calm),
      worst_drift_(!calm_ && timeline_.prng().chance(0.3) ? 0.1 : 0.01),
      timing_(timing_for(timeline_.prng(), mistake, worst_drift_, calm_)) {
  const std::size_t count = setting.members != 0 ? setting.members : 3 + prng().below(prng().chance(0.3) ? 7 : 3);
  members_.reserve(count + kSpareAndTwin);
  keeps_old_ = !calm_;
  const bool wide = timing_.heartbeat > Duration::millis(100);
  network_.emplace(timeline_, members_.capacity(), wide ? Duration::millis(5) : Duration::micros(50),
                   wide ? Duration::millis(60) : Duration::millis(1));
  const WorkMistakes mistakes{.counts_from_answer = is(QuorumMistake::kCountsFromAnswer),
                              .keeps_leading_unrenewed = is(QuorumMistake::kKeepsLeadingUnrenewed),
                              .outlives_term = is(QuorumMistake::kWorkOutlivesTerm),
                              .permits_while_acting = is(QuorumMistake::kPermitsWhileActing),
                              .forgets_fence = is(QuorumMistake::kResourceForgetsFence)};
  Host& host = *this;
  work_.emplace(timeline_, checker_, host, mistakes, timing_.lease, timing_.longest_act(), !calm_);
  for (std::size_t i = 0; i < count + (calm_ ? 0 : 1); ++i) {
    QuorumMember& m = members_.emplace_back();
    m.index = static_cast<uint32_t>(i);
    m.id = quorum::MemberId(i + 1);
    m.removed = i == count;
    m.clock.base_local = Instant::from_ns(prng().between(0, Duration::hours(1).ns()));
    m.clock.rate = calm_ ? 1 : 1 + (prng().unit() * 2 - 1) * worst_drift_ * 0.99;
    if (i < count) declared_.push_back(m.id);
    work_->add(m);
  }
}

// What an election may take beyond its budget: a round or two that fail because two stand at once, the cool-down, and
// clocks that run slow.
Duration QuorumWorld::slack() const {
  const auto members = static_cast<int64_t>(members_.size());
  const Duration rounds = (timing_.vote_timeout + timing_.step * members * 2) * 3;
  const Duration order = timing_.step * members;  // of those with a lower priority
  return Duration::from_seconds_f((rounds + order + timing_.lease * 2).seconds_f() / (1 - worst_drift_));
}

bool QuorumWorld::run_until_other_leads(quorum::Term after, Instant end) {
  return run_until(end, [&] {
    const QuorumMember* now_leads = leader();
    return now_leads != nullptr && now_leads->elector->term() > after;
  });
}

void QuorumWorld::expect_leader_that_stays() {
  // A member that has just started is quiet for a lease, a leader that has lost its quorum yields for another, and
  // stale terms are got over in a round each.
  const Duration at_most = timing_.promise(timing_.lease) * 8 + slack() * 3;
  const Instant end = now() + at_most;
  while (leader() == nullptr && now() < end) {
    if (!run_until(now() + timing_.heartbeat)) return;
  }
  if (leader() == nullptr) {
    return checker_.fail("I13: nothing is broken any more, and nobody leads after " + format_duration(at_most), now());
  }
  if (!run_until(now() + timing_.lease * 6)) return;
  const uint32_t terms = checker_.terms();
  if (!run_until(now() + timing_.lease * 10)) return;
  if (leader() == nullptr) return checker_.fail("I13: nothing is broken any more, and nobody leads", now());
  if (checker_.terms() != terms) checker_.fail("I13: the leader changed although nothing was broken", now());
}

void QuorumWorld::expect_hand_over(QuorumRun& run) {
  QuorumMember* chief = leader();
  const quorum::Term term = chief->elector->term();
  work_->forget_last_end();
  deliver(*chief, quorum::StepDown{"asked to", quorum::kNobody, false, true});
  const Duration at_most = timing_.lease * 4 + slack();
  if (!run_until_other_leads(term, now() + at_most)) {
    return checker_.fail("I13: nobody has taken over after " + format_duration(at_most), now());
  }
  run.hand_over = work_->last_elected_world() - work_->last_end_world();
  run_until(now() + timing_.lease * 3);
}

void QuorumWorld::expect_takeover(QuorumRun& run) {
  QuorumMember* chief = leader();
  if (chief == nullptr) return checker_.fail("I13: the leader is gone although nothing was broken", now());
  const quorum::Configuration voters = chief->elector->members();
  const auto enough_are_left = [&] {
    const auto left = std::count_if(members_.begin(), members_.end(), [&](const QuorumMember& m) {
      return &m != chief && m.up && m.elector->takes_part() && voters.has(m.id);
    });
    return static_cast<std::size_t>(left) >= quorum::majority_of(voters.voters.size());
  };
  // Who has lost its record is as good as gone already.
  if (!enough_are_left()) return;
  const quorum::Term term = chief->elector->term();
  const auto sum = quorum::budget_of(timing_, {declared_.size() + 1, network_->usually_slowest() * 2, timing_.step});
  const Duration budget = Duration::from_seconds_f(sum.crash_worst.total.seconds_f() / (1 - worst_drift_));
  const Instant crashed = now();
  crash(*chief, true);
  if (!run_until_other_leads(term, now() + budget + slack())) {
    // What is left of two processes under one id may be the one that others take for the past one: it is silenced once
    // it meets them.
    if (clones_ > 0 && !enough_are_left()) return;
    return checker_.fail("I13: no takeover within " + format_duration(budget + slack()), now());
  }
  run.takeover = now() - crashed;
}

QuorumRun QuorumWorld::live() {
  kills_voters_ = prng().chance(0.2);
  if (prng().chance(0.2)) {
    for (QuorumMember& m : members_) {
      m.disk.set_slow(timing_.step * 4);
      m.disk.set_failing(0.2);
    }
  }
  for (std::size_t i = 0; i < declared_.size(); ++i) {
    timeline_.after(draw(Duration::zero(), timing_.lease), [this, i] { start(members_[i]); });
  }
  const auto faults = static_cast<int>(prng().between(kFaultsMin, kFaultsMax));
  Duration after = timing_.lease;
  for (int i = 0; i < faults; ++i) {
    after += draw(Duration::zero(), timing_.lease * 3);
    timeline_.after(after, [this] { something_goes_wrong(); });
  }
  QuorumRun run;
  if (run_until(now() + after + timing_.lease)) {
    make_whole();
    // What is still scheduled to break or mend has happened after seven leases.
    if (run_until(now() + timing_.lease * 7)) {
      make_whole();
      expect_leader_that_stays();
      if (checker_.violation().empty()) expect_hand_over(run);
      if (checker_.violation().empty()) expect_takeover(run);
    }
  }
  if (!checker_.violation().empty()) tell_states();
  run.violation = checker_.violation();
  run.fingerprint = timeline_.fingerprint();
  run.members = static_cast<uint32_t>(declared_.size());
  run.terms = checker_.terms();
  run.events = events_;
  run.refused_acts = work_->refused_acts();
  run.lived = now() - Instant();
  run.trace = std::move(trace_);
  return run;
}

// --- what is measured ------------------------------------------------------------------------------------------------

QuorumTakeover QuorumWorld::take_over() {
  for (QuorumMember& m : members_) {
    start(m);
    deliver(m, quorum::Synced{});
  }
  QuorumRun run;
  expect_leader_that_stays();
  // At any part of a heartbeat's interval.
  run_until(now() + draw(Duration::zero(), timing_.heartbeat * 10));
  expect_hand_over(run);
  run_until(now() + draw(Duration::zero(), timing_.heartbeat * 10));
  expect_takeover(run);
  check(checker_.violation().empty(), "in a healthy group everything holds");
  return {run.takeover, run.hand_over};
}

QuorumCalm QuorumWorld::stress(Duration time) {
  for (QuorumMember& m : members_) {
    start(m);
    deliver(m, quorum::Synced{});
  }
  expect_leader_that_stays();
  QuorumCalm calm;
  QuorumMember* chief = leader();
  const uint32_t terms = checker_.terms();
  const std::size_t stressed = (members_.size() - 1) / 2;
  std::vector<QuorumMember*> others;
  for (QuorumMember& m : members_) {
    if (&m != chief && others.size() < stressed) others.push_back(&m);
  }
  const Instant end = now() + time;
  while (now() < end && checker_.violation().empty()) {
    for (QuorumMember* m : others) {
      // As a machine does that gets no processor time: it stands still, reads what has piled up, and suspects others.
      const Duration still = draw(Duration::millis(16), Duration::seconds(16));
      timeline_.after(draw(Duration::zero(), Duration::seconds(4)), [this, m, still, &calm] {
        if (m->paused) return;
        ++calm.stalls;
        pause(*m, false);
        timeline_.after(still, [this, m, &calm] {
          resume(*m);
          quorum::LocalHealth health;
          health.score = static_cast<uint8_t>(prng().below(9));
          deliver(*m, health);
          for (QuorumMember& other : members_) {
            if (!prng().chance(0.5)) continue;
            ++calm.suspicions;
            deliver(other, quorum::LeaderSuspected{other.elector->leader()});
          }
        });
      });
    }
    run_until(now() + Duration::seconds(20));
  }
  check(checker_.violation().empty(), "in a healthy group everything holds");
  calm.changes = checker_.terms() - terms;
  return calm;
}

QuorumTakeover measure_takeover(uint64_t seed, std::size_t members) {
  return QuorumWorld(seed, QuorumMistake::kNone, false, {members, true}).take_over();
}

QuorumCalm live_under_stress(uint64_t seed, Duration time) {
  return QuorumWorld(seed, QuorumMistake::kNone, false, {5, true}).stress(time);
}

QuorumRun live_quorum(uint64_t seed, QuorumMistake mistake, bool trace) {
  return QuorumWorld(seed, mistake, trace, {}).live();
}

}  // namespace bellwether::sim
