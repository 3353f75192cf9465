#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/probe.h"
#include "base/units.h"
#include "election/elector.h"

namespace bellwether::election {

void Elector::look(Effects& out) {
  check(!in_flight_);
  in_flight_ = true;
  out.emplace_back(Look{});
}

// Takes note of what the store shows, whoever asked and why.
void Elector::observe(Instant now, const Observation& seen, Effects& out) {
  const bool first = !std::exchange(seen_any_, true);
  const bool changed = first || seen.present != seen_.present || seen.record.holder != seen_.record.holder ||
                       seen.record.epoch != seen_.record.epoch;
  const bool elected = !first && seen.record.held() && seen.record.token != seen_.record.token;
  const Instant quiet_since = rule_.unchanged_since();
  verdict_ = rule_.assess(now, seen, token_, floor_);
  if (elected) last_failover_ = now - quiet_since;
  seen_ = seen;
  seen_at_ = now;
  must_look_ = false;
  if (changed) out.emplace_back(LeaderChanged{seen.record, verdict_.why});
  if (elected) {
    const bool flapped = damping_.cooling_down(now);
    damping_.leader_changed(now);
    if (!flapped && damping_.cooling_down(now)) {
      BW_PROBE("election: leaders flap");
      note(true, "the leader changes too often: this candidate waits for the cool-down", out);
    }
  }
  if (verdict_.kind == Verdict::Kind::kLostData && changed) {
    BW_PROBE("election: a store has lost data");
    note(true, verdict_.why, out);
  }
  raise_floor(seen.record.epoch, out);
  if (verdict_.kind != Verdict::Kind::kFree) vacancy_from_.reset();
  const bool other = verdict_.kind == Verdict::Kind::kHeld && seen.record.held();
  set_open(config_.fail_open && !holds() && !other, verdict_.why, out);
}

// Decides what to do about the last observation. Nothing is in flight.
void Elector::consider(Instant now, Effects& out) {
  const Duration wait = jittered(config_.timing.retry);
  wake_ = now + wait;
  if (!config_.campaign) return;
  if (const auto against = config_.evidence.against(now, false); against && seen_.place.joined) {
    BW_PROBE("election: an unfit candidate leaves the queue");
    note(true, "leaves the queue, where others would wait behind it: " + *against, out);
    release(now, out);
    return;
  }
  switch (verdict_.kind) {
    case Verdict::Kind::kOurs: adopt(now, out); break;
    case Verdict::Kind::kFree: consider_vacancy(now, out); break;
    case Verdict::Kind::kInQueue: break;
    case Verdict::Kind::kHeld:
    case Verdict::Kind::kLostData:
      if (config_.traits.claim == ClaimKind::kQueue && verdict_.kind == Verdict::Kind::kHeld) {
        if (!config_.evidence.against(now, false)) take(now, out);
        break;
      }
      // Come back when the key may be free, a little apart from the others who wait for it.
      if (verdict_.free_at < wake_) wake_ = verdict_.free_at + (wait - wait * 3 / 4) / 4;
      break;
  }
}

void Elector::consider_vacancy(Instant now, Effects& out) {
  if (const auto against = config_.evidence.against(now, false)) {
    if (last_trouble_ != *against) note(true, "the key is free, but this candidate does not stand: " + *against, out);
    last_trouble_ = *against;
    return;
  }
  const bool named = !seen_.record.heir.empty() && seen_.record.heir == config_.claim.holder;
  if (!vacancy_from_) {
    vacancy_from_ = named ? now : std::max(damping_.may_stand_from(now, prng_), stay_back_until_);
    if (*vacancy_from_ > now) note(false, "the key is free; standing in " + format_duration(*vacancy_from_ - now), out);
  }
  if (now >= *vacancy_from_) {
    take(now, out);
  } else {
    wake_ = std::min(wake_, *vacancy_from_);
  }
}

// The record is ours although we do not lead: an act whose answer was lost had happened after all. Its age is unknown,
// so it is renewed before anything is done under it.
void Elector::adopt(Instant now, Effects& out) {
  BW_PROBE("election: a claim whose answer was lost is found");
  if (const auto against = config_.evidence.against(now, false)) return;
  state_ = State::kTaking;
  term_ = seen_.record;
  version_ = seen_.version;
  LeaseRecord record = term_;
  ++record.renewal;
  record.lease = config_.timing.lease;
  act(now, WriteRequest::Kind::kRenew, std::move(record), out);
  wake_ = Instant::never();
}

void Elector::take(Instant now, Effects& out) {
  LeaseRecord record;
  record.holder = config_.claim.holder;
  record.region = config_.claim.region;
  record.token = token_;
  record.lease = config_.timing.lease;
  record.cause = seen_.present && seen_.record.held() ? "took over from " + seen_.record.holder : "elected";
  if (!config_.traits.chooses_epoch) record.epoch = std::max(next_epoch(floor_, seen_.record.epoch), seen_.floor);
  note(false, "standing for the key: " + verdict_.why, out);
  state_ = State::kTaking;
  act(now, WriteRequest::Kind::kTake, std::move(record), out);
  wake_ = Instant::never();
}

void Elector::took(Instant now, const Result<WriteOutcome>& outcome, Effects& out) {
  state_ = State::kFollowing;
  const bool leaving = wish_ && wish_->stay_out;
  if (!outcome) {
    note(true, "the claim was not answered: " + outcome.error().message, out);
    // Perhaps it happened. Only a look tells; a release without knowing the version could not be told from a theft.
    must_look_ = true;
    if (leaving) {
      follow(now, Duration::zero(), out);
    } else {
      wake_ = now + jittered(config_.timing.retry);
    }
    return;
  }
  observe(now, outcome->after, out);
  const bool ours = outcome->after.record.held() && outcome->after.record.token == token_;
  if (!outcome->applied || !ours) {
    if (!outcome->applied) BW_PROBE("election: a claim comes too late");
    if (leaving) {
      on_resign(now, Resign(*wish_), out);
    } else if (verdict_.kind == Verdict::Kind::kOurs) {
      adopt(now, out);
    } else {
      // Free again already: the claim was made on something old, and no holder has to be waited for.
      const bool free = verdict_.kind == Verdict::Kind::kFree;
      wake_ = now + jittered(free ? config_.timing.retry / 16 : config_.timing.retry);
    }
    return;
  }
  term_ = outcome->after.record;
  version_ = outcome->after.version;
  if (leaving) {
    release(now, out);
  } else if (now >= sent_ + sent_timing_.renew_deadline) {
    BW_PROBE("election: a claim is answered after its own end");
    note(true, "the claim was answered too late to be used", out);
    wake_ = now;
  } else if (kept_shorter(term_)) {
    BW_PROBE("election: the store keeps a shorter lease");
    note(false, "the claim has another lease than it is to have", out);
    wake_ = now + jittered(config_.timing.retry) /
                      16;  // then as a claim of ours that is found, with the lease as it is to be
  } else {
    elected(now, out);
  }
}

// Renewals are not seen in a queue: there the server ends the lease of whoever does not send them.
Instant Elector::holder_until() const {
  if (!seen_any_ || !seen_.record.held()) return {};
  if (holds()) return lease_ends_;
  const Instant since = config_.traits.claim == ClaimKind::kQueue ? seen_at_ : rule_.unchanged_since();
  const Duration lease = seen_.record.lease > Duration::zero() ? seen_.record.lease : config_.timing.lease;
  return since + config_.timing.takeable_after(lease);
}

void Elector::set_open(bool open, std::string why, Effects& out) {
  if (open == open_) return;
  open_ = open;
  out.emplace_back(FailOpen{open, std::move(why)});
}

void Elector::raise_floor(Epoch seen, Effects& out) {
  if (seen <= floor_) return;
  floor_ = seen;
  out.emplace_back(FloorRaised{floor_});
}

}  // namespace bellwether::election
