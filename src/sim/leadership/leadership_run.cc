#include "sim/leadership/leadership_run.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/probe.h"
#include "base/units.h"

namespace bellwether::sim {

using election::EndReason;
using election::EvidenceKind;
using election::Observation;
using election::WriteOutcome;
using election::WriteRequest;

void LeadershipWorld::say(const Contender& c, const std::string& text) {
  if (!tracing_) return;
  trace_ += std::to_string(now().ns() / 1'000'000) + " ms  " + std::to_string(c.index) + "  " + text + "\n";
}

void LeadershipWorld::start(Contender& c) {
  ++c.life;
  c.up = true;
  c.paused = c.suspended = false;
  c.asking = false;
  c.missed.clear();
  election::ElectorConfig config;
  config.key = "key";
  config.claim.holder = "c" + std::to_string(c.index);
  if (cross_region_) {
    config.claim.region = c.index % 2 == 0 ? "east" : "west";
    config.claim.cross_region_wait = timing_.lease / 2;
  }
  config.timing = timing_;
  config.traits = store_.traits();
  if (backing_off_) config.backoff = election::BackoffSettings{};
  if (damping_flaps_) config.flap = election::FlapSettings{};
  if (!is(LeadershipMistake::kRenewsWhileWorkHangs)) config.evidence.require(EvidenceKind::kWork, timing_.lease);
  config.fail_open = is(LeadershipMistake::kFailOpenIsLeadership);
  config.claim.trust_empty = is(LeadershipMistake::kEpochInMemory);
  config.floor = c.kept_floor;
  c.elector.emplace(std::move(config), prng().next());
  say(c, "starts");
  step(c, election::Start{});
}

void LeadershipWorld::deliver(Contender& c, const election::Event& event) {
  if (!c.up) return;
  if (c.paused) {
    c.missed.push_back(event);
  } else {
    step(c, event);
  }
}

void LeadershipWorld::step(Contender& c, const election::Event& event) {
  ++events_;
  election::Effects effects;
  c.elector->step(c.local(now()), event, effects);
  for (const election::Effect& effect : effects) carry_out(c, effect);
  set_wake(c);
}

void LeadershipWorld::set_wake(Contender& c) {
  const Instant wake = c.elector->wake();
  const uint64_t number = ++c.wake_number;
  if (wake == Instant::never()) return;
  const Instant at = std::max(c.world_at(wake), now());
  timeline_.after(at - now(), [this, &c, number] {
    if (c.up && number == c.wake_number) deliver(c, election::Tick{});
  });
}

void LeadershipWorld::carry_out(Contender& c, const election::Effect& effect) {
  expect_evidence(effect);
  if (std::holds_alternative<election::Look>(effect) || std::holds_alternative<election::Act>(effect)) {
    ask(c, effect);
  } else if (const auto* got = std::get_if<election::Elected>(&effect)) {
    elected(c, *got);
  } else if (const auto* renewed = std::get_if<election::Renewed>(&effect)) {
    c.term_ends = renewed->ends;
    c.kill_at = renewed->ends + c.elector->stop_grace();
    if (is(LeadershipMistake::kCountsFromAnswer)) c.believed_longer = renewed->took;
  } else if (std::holds_alternative<election::Drain>(effect)) {
    say(c, "drains: " + std::get<election::Drain>(effect).cause);
    drain(c);
  } else if (const auto* ended = std::get_if<election::TermEnded>(&effect)) {
    term_ended(c, *ended);
  } else if (const auto* floor = std::get_if<election::FloorRaised>(&effect)) {
    if (!is(LeadershipMistake::kEpochInMemory)) c.kept_floor = floor->floor;
  } else if (const auto* open = std::get_if<election::FailOpen>(&effect)) {
    if (open->open && is(LeadershipMistake::kFailOpenIsLeadership)) checker_.elected_without_claim(c.index, now());
  } else if (const auto* note = std::get_if<election::Note>(&effect)) {
    say(c, note->text);
  }
}

// Whoever reads the log must learn why.
void LeadershipWorld::expect_evidence(const election::Effect& effect) {
  const auto* ended = std::get_if<election::TermEnded>(&effect);
  const auto* drain = std::get_if<election::Drain>(&effect);
  const auto* changed = std::get_if<election::LeaderChanged>(&effect);
  const auto* open = std::get_if<election::FailOpen>(&effect);
  const bool silent = (ended != nullptr && ended->why.empty()) || (drain != nullptr && drain->cause.empty()) ||
                      (changed != nullptr && changed->evidence.empty()) || (open != nullptr && open->why.empty());
  if (silent) checker_.fail("I17: a decision without evidence", now());
}

// --- questions to the store ------------------------------------------------------------------------------------------

void LeadershipWorld::ask(Contender& c, const election::Effect& question) {
  const uint64_t number = ++c.question;
  const uint32_t life = c.life;
  c.asking = true;
  c.asked_local = c.local(now());
  const bool acting = std::holds_alternative<election::Act>(question);
  const Instant give_up = c.world_at(c.asked_local + timing_.store_timeout);
  timeline_.after(give_up - now(), [this, &c, life, number, acting] {
    const auto late = election::Event(election::Looked{bellwether::fail(Errc::kTimeout, "no answer in time")});
    const auto unknown = election::Event(election::Acted{bellwether::fail(Errc::kTimeout, "no answer in time")});
    answer(c, life, number, acting ? unknown : late);
  });
  if (cut_off_[c.index] || prng().chance(loss_)) return;
  const int copies = prng().chance(loss_ / 2) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    timeline_.after(
        draw(Duration::micros(50), slowest_),
        [this, &c, life, number, question, token = c.elector->token()] { at_store(c, life, number, question, token); });
  }
}

void LeadershipWorld::at_store(Contender& c, uint32_t life, uint64_t question, const election::Effect& asked,
                               const std::string& token) {
  if (!store_up_) return;
  // A lock of the host is worked by the process itself: nothing of it arrives after its death.
  if (mechanism_ == Mechanism::kHostLock && (!c.up || life != c.life)) return;
  const uint32_t who = c.index * 1000 + life;
  election::Event event = election::Tick{};
  if (const auto* act = std::get_if<election::Act>(&asked)) {
    WriteRequest request = act->request;
    request.record.renewed_at = WallTime{c.local(now()).ns()};
    WriteOutcome outcome = store_.act(who, request, now());
    if (outcome.applied && request.kind == WriteRequest::Kind::kRelease && life == c.life) {
      checker_.released(c.index, c.working && c.local(now()) < c.kill_at, now());
    }
    event = election::Acted{std::move(outcome)};
  } else {
    Observation seen = store_.look(who, token, now());
    if (is(LeadershipMistake::kTrustsWallClock) && seen.record.held() &&
        c.local(now()).ns() - seen.record.renewed_at.unix_ns > seen.record.lease.ns()) {
      seen.sight = election::HolderSight::kDead;
    }
    event = election::Looked{std::move(seen)};
  }
  if (cut_off_[c.index] || deaf_[c.index] || prng().chance(loss_)) return;
  const Duration longest = std::max(slowest_, timing_.store_timeout - timing_.store_timeout / 8);
  const Duration way = late_[c.index] ? draw(timing_.store_timeout / 2, longest) : draw(Duration::micros(50), slowest_);
  timeline_.after(way, [this, &c, life, question, event = std::move(event)]() mutable {
    answer(c, life, question, std::move(event));
  });
}

void LeadershipWorld::answer(Contender& c, uint32_t life, uint64_t question, election::Event event) {
  if (!c.up || life != c.life || question != c.question || !c.asking) return;
  c.asking = false;
  deliver(c, event);
}

// --- terms and work --------------------------------------------------------------------------------------------------

void LeadershipWorld::elected(Contender& c, const election::Elected& elected) {
  say(c, "elected, epoch " + std::to_string(elected.epoch.value()));
  timeline_.record(elected.epoch.value() * 8 + c.index);
  for (Contender& other : contenders_) {
    if (&other == &c || !other.working) continue;
    const Instant until = other.world_at(other.kill_at);
    if (now() < until && !other.suspended) checker_.beside(c.index, other.index, now(), until);
  }
  checker_.elected(c.index, elected.epoch, now());
  c.working = true;
  c.hung = false;
  c.work_epoch = elected.epoch;
  c.term_ends = elected.ends;
  c.kill_at = elected.ends + c.elector->stop_grace();
  const uint64_t work = ++c.work_number;
  guardian(c, work);
  work_acts(c, work);
}

// Kills the work when its time has come, whatever the elector's process is doing.
void LeadershipWorld::guardian(Contender& c, uint64_t work) {
  const Instant at = std::max(c.world_at(c.kill_at), now());
  timeline_.after(at - now(), [this, &c, work] {
    if (!c.working || c.work_number != work || c.suspended) return;
    if (c.local(now()) < c.kill_at) {
      guardian(c, work);  // the term was renewed, or the clock runs slower by now
    } else {
      work_ended(c, work);
    }
  });
}

void LeadershipWorld::work_ended(Contender& c, uint64_t work) {
  if (!c.working || c.work_number != work) return;
  c.working = false;
  c.hung = false;
  say(c, "work has stopped");
  checker_.stopped(c.index, c.work_epoch);
  deliver(c, election::WorkStopped{});
}

void LeadershipWorld::stop_work_within(Contender& c, Duration at_most, bool only_elector_believes) {
  if (!c.working || c.hung) return;
  const uint64_t work = c.work_number;
  timeline_.after(draw(Duration::zero(), at_most), [this, &c, work] { work_ended(c, work); });
  if (only_elector_believes) deliver(c, election::WorkStopped{});
}

void LeadershipWorld::drain(Contender& c) {
  if (is(LeadershipMistake::kReleasesBeforeWorkStops)) {
    timeline_.after(Duration::micros(1), [this, &c] { deliver(c, election::WorkStopped{}); });
    return;
  }
  stop_work_within(c, timing_.lease * 2, false);
}

void LeadershipWorld::term_ended(Contender& c, const election::TermEnded& ended) {
  say(c, std::string("term ends: ") + to_string(ended.reason) + ": " + ended.why);
  if (!ended.work_runs || !c.working) return;
  c.term_ends = std::min(c.term_ends, c.local(now()));
  if (is(LeadershipMistake::kKeepsLeadingUnrenewed) && ended.reason == EndReason::kExpired) {
    c.kill_at = c.local(now()) + Duration::hours(24);
    return;
  }
  if (is(LeadershipMistake::kCountsFromAnswer) && ended.reason == EndReason::kExpired) {
    c.kill_at = c.kill_at + c.believed_longer;
  } else if (is(LeadershipMistake::kNewLeaseCountsAtOnce)) {
    c.kill_at = c.term_ends + c.elector->config().timing.stop_grace;
  } else if (is(LeadershipMistake::kWorkOutlivesTerm)) {
    c.kill_at = c.local(now()) + timing_.lease * 3;
  } else {
    c.kill_at = std::min(c.kill_at, ended.stop_by);
  }
  guardian(c, c.work_number);
  if (is(LeadershipMistake::kStartsBeforeStopped)) {
    timeline_.after(Duration::micros(1), [this, &c] { deliver(c, election::WorkStopped{}); });
    return;
  }
  const Instant last = c.world_at(c.kill_at);
  if (last > now() && !stubborn_work_) stop_work_within(c, last - now(), false);
}

void LeadershipWorld::work_acts(Contender& c, uint64_t work) {
  if (!c.working || c.work_number != work || c.local(now()) >= c.kill_at) return;
  if (!c.hung && !c.suspended) {
    const bool valid = c.local(now()) < c.term_ends;
    if (valid || !work_checks_guard_ || is(LeadershipMistake::kCachesLeadership)) {
      if (!valid && work_checks_guard_) checker_.fail("I9: an act after the end of the term", now());
      timeline_.after(draw(Duration::zero(), timing_.lease * 2), [this, epoch = c.work_epoch] { arrives(epoch); });
    }
    deliver(c, election::GoodEvidence{EvidenceKind::kWork});
  }
  timeline_.after(draw(timing_.lease / 20, timing_.lease / 5), [this, &c, work] { work_acts(c, work); });
}

void LeadershipWorld::arrives(election::Epoch epoch) {
  if (resource_.admit(epoch) == election::FenceGuard::Answer::kRefused) {
    BW_PROBE("leadership: the resource refuses a late act");
    ++refused_acts_;
    return;
  }
  checker_.accepted(epoch, now());
}

// --- processes -------------------------------------------------------------------------------------------------------

void LeadershipWorld::crash(Contender& c, bool machine) {
  if (!c.up) return;
  say(c, machine ? "machine crashes" : "process is killed");
  const election::Elector& elector = *c.elector;
  const std::string token = elector.seen().record.token;
  const bool pid_in_use = prng().chance(0.5);
  c.up = false;
  c.paused = c.suspended = false;
  c.asking = false;
  ++c.wake_number;
  c.missed.clear();
  if (c.working && !machine) {
    // The guardian ends the work of a dead elector; what holds the key is the life of both.
    const uint64_t work = c.work_number;
    const Instant last = std::max(c.world_at(c.kill_at), now());
    timeline_.after(draw(Duration::zero(), last - now()), [this, &c, work, token, pid_in_use] {
      work_ended(c, work);
      if (!token.empty()) store_.process_died(token, pid_in_use);
    });
    return;
  }
  c.working = false;
  checker_.crashed(c.index);
  if (!token.empty() && elector.seen().record.holder == "c" + std::to_string(c.index)) {
    store_.process_died(token, pid_in_use);
  }
}

void LeadershipWorld::pause(Contender& c, bool machine) {
  if (!c.up || c.paused) return;
  BW_PROBE("leadership: a contender is paused");
  say(c, machine ? "machine sleeps" : "process is paused");
  c.paused = true;
  c.suspended = machine;
}

void LeadershipWorld::resume(Contender& c) {
  if (!c.paused) return;
  say(c, "goes on");
  c.paused = false;
  const bool slept = std::exchange(c.suspended, false);
  if (slept && c.working) guardian(c, c.work_number);
  std::vector<election::Event> missed = std::move(c.missed);
  c.missed.clear();
  for (const election::Event& event : missed) {
    if (c.up) step(c, event);
  }
}

}  // namespace bellwether::sim
