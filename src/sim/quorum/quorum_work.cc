// The work that a simulated leader guards, and the resource it acts upon.
#include <algorithm>

#include "base/probe.h"
#include "base/units.h"
#include "sim/quorum/quorum_run.h"

namespace bellwether::sim {

void QuorumWorld::elected(QuorumMember& m, const quorum::Elected& elected) {
  const quorum::Term term(elected.epoch.value());
  say(m, "elected, term " + std::to_string(term.value()));
  timeline_.record(term.value() * 64 + m.index);
  checker_.elected(m.id, term, m.elector->members(), now());
  if (m.working) checker_.fail("I10: a term begins before the work of the last one has stopped", now());
  if (elected.ends <= m.clock.local(now())) checker_.fail("I9: a term that is over before it begins", now());
  m.working = true;
  m.work_term = term;
  m.stop_by = m.elector->stopped_by();
  last_elected_world_ = now();
  expect_nobody_beside(m);
  const uint64_t work = ++m.work_number;
  guardian(m, work);
  work_acts(m, work);
  if (m.elector->active()) return;
  // It has the state once it has asked everybody who may have some of it.
  timeline_.after(draw(slowest_, timing_.lease), [this, &m, life = m.life] {
    if (m.up && m.life == life) deliver(m, quorum::Synced{});
  });
}

// I2 and I8: while this one may act, nobody else may.
void QuorumWorld::expect_nobody_beside(const QuorumMember& m) {
  for (const QuorumMember& other : members_) {
    if (&other == &m || !other.working || other.suspended) continue;
    const Instant until = other.clock.world_at(other.stop_by);
    if (until <= now()) continue;
    checker_.fail("I2: members " + std::to_string(m.id.value()) + " and " + std::to_string(other.id.value()) +
                      " may act at once for another " + format_duration(until - now()),
                  now());
  }
}

// Ends the work when its time has come, whatever the elector's process is doing.
void QuorumWorld::guardian(QuorumMember& m, uint64_t work) {
  const Instant at = std::max(m.clock.world_at(m.stop_by), now());
  timeline_.after(at - now(), [this, &m, work] {
    if (!m.working || m.work_number != work || m.suspended) return;
    if (m.clock.local(now()) < m.stop_by) {
      guardian(m, work);  // renewed, or the clock runs slower by now
    } else {
      work_ended(m, work);
    }
  });
}

void QuorumWorld::work_ended(QuorumMember& m, uint64_t work) {
  if (!m.working || m.work_number != work) return;
  m.working = false;
  say(m, "work has stopped");
  deliver(m, quorum::WorkStopped{});
}

void QuorumWorld::stop_work_within(QuorumMember& m, Duration at_most) {
  if (!m.working) return;
  timeline_.after(draw(Duration::zero(), at_most), [this, &m, work = m.work_number] { work_ended(m, work); });
}

void QuorumWorld::drain(QuorumMember& m) {
  if (is(QuorumMistake::kPermitsWhileActing)) {
    timeline_.after(Duration::micros(1), [this, &m] { deliver(m, quorum::WorkStopped{}); });
    return;
  }
  stop_work_within(m, calm_ ? Duration::zero() : timing_.lease * 2);
}

void QuorumWorld::term_ended(QuorumMember& m, const quorum::TermEnded& ended) {
  say(m, std::string("term ends: ") + to_string(ended.reason) + ": " + ended.why);
  last_end_world_ = now();
  if (!ended.work_runs || !m.working) return;
  if (is(QuorumMistake::kKeepsLeadingUnrenewed) && ended.reason == election::EndReason::kExpired) {
    m.stop_by = m.clock.local(now()) + Duration::hours(24);
    return;
  }
  if (is(QuorumMistake::kCountsFromAnswer) && ended.reason == election::EndReason::kExpired) return;
  if (is(QuorumMistake::kWorkOutlivesTerm)) {
    m.stop_by = m.clock.local(now()) + timing_.lease * 3;
    return guardian(m, m.work_number);
  }
  m.stop_by = std::min(m.stop_by, ended.stop_by);
  guardian(m, m.work_number);
  const Instant last = m.clock.world_at(m.stop_by);
  if (last > now()) stop_work_within(m, last - now());
}

void QuorumWorld::work_acts(QuorumMember& m, uint64_t work) {
  if (calm_ || !m.working || m.work_number != work) return;
  if (!m.suspended && m.elector && m.elector->leads(m.clock.local(now()))) {
    timeline_.after(draw(Duration::zero(), timing_.lease * 2), [this, term = m.work_term] { arrives(term); });
    if (prng().below(4) == 0) deliver(m, quorum::StateWritten{++m.state});
  }
  timeline_.after(draw(timing_.lease / 8, timing_.lease / 2), [this, &m, work] { work_acts(m, work); });
}

void QuorumWorld::arrives(quorum::Term term) {
  if (is(QuorumMistake::kResourceForgetsFence)) resource_ = {};
  if (resource_.admit(term) == decltype(resource_)::Answer::kRefused) {
    BW_PROBE("quorum world: the resource refuses a late act");
    ++refused_acts_;
    return;
  }
  checker_.accepted(term, now());
}

}  // namespace bellwether::sim
