#include "election/elector.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/enum_names.h"
#include "core/base/overloaded.h"
#include "core/base/probe.h"
#include "core/base/units.h"

namespace bellwether::election {

Verdict ClaimRule::assess(Instant now, const Observation& seen, const std::string& token, Epoch floor) {
  if (!seen_any_ || version_ != seen.version) {
    seen_any_ = true;
    version_ = seen.version;
    since_ = now;
    dead_since_.reset();
  }
  const LeaseRecord& record = seen.record;
  longest_lease_ = std::max(longest_lease_, record.lease);
  const bool doubtful = seen.may_have_lost_data && !settings_.trust_empty;
  if (record.held() && record.token == token && !doubtful) {
    return {Verdict::Kind::kOurs, now, "the record carries our token"};
  }
  if (seen.place.joined) return {Verdict::Kind::kInQueue, Instant::never(), "our claim waits in the queue"};
  if (!seen.present || record.epoch < floor || doubtful) return assess_doubtful(now, seen, floor);
  if (!record.held()) return assess_free(now, record);
  const bool elsewhere = !settings_.region.empty() && !record.region.empty() && settings_.region != record.region;
  const Duration after_others = elsewhere ? settings_.cross_region_wait : Duration::zero();
  if (seen.sight == HolderSight::kDead) {
    dead_since_ = dead_since_.value_or(now);
    const std::string what = "the holder is dead: " + seen.evidence;
    if (now < *dead_since_ + after_others) return {Verdict::Kind::kHeld, *dead_since_ + after_others, what};
    return {Verdict::Kind::kFree, now, what};
  }
  dead_since_.reset();
  const Duration wait = timing_.takeable_after(record.lease > Duration::zero() ? record.lease : unknown_lease());
  const Instant free_at = since_ + wait + after_others;
  if (now < free_at) return {Verdict::Kind::kHeld, free_at, "held by " + record.holder};
  return {Verdict::Kind::kFree, now,
          fmt::format("the lease of {} was not renewed for {}", record.holder, format_duration(now - since_))};
}

// An absent record, one older than before, or a store that may have lost its data.
Verdict ClaimRule::assess_doubtful(Instant now, const Observation& seen, Epoch floor) const {
  const Epoch known = std::max(floor, Epoch(seen.floor.value() > 0 ? seen.floor.value() - 1 : 0));
  // A store that assigns epochs removes released records, and has forgotten one only if it would repeat an epoch.
  // Elsewhere the record of a key stays after its first holder. The floor of a store that doubts itself is a guess, not
  // a memory.
  const Epoch remembered = seen.may_have_lost_data ? floor : known;
  const bool removed = chooses_epoch_ ? seen.floor <= floor && floor.value() > 0 : remembered.value() > 0;
  const bool forgotten = seen.present ? seen.record.epoch < floor : removed;
  if (!forgotten && (!seen.may_have_lost_data || settings_.trust_empty)) {
    return {Verdict::Kind::kFree, now, "no candidate has held the key yet"};
  }
  std::string what = fmt::format("{}, so another candidate may hold the key",
                                 seen.evidence.empty() ? "the store may have lost data" : seen.evidence);
  if (forgotten) {
    what = fmt::format("the store has lost data: it had epoch {} before, now it shows {}", remembered.value(),
                       seen.present ? fmt::format("epoch {}", seen.record.epoch.value()) : std::string("nothing"));
  }
  const Instant free_at = since_ + timing_.takeable_after(unknown_lease());
  if (now < free_at) return {Verdict::Kind::kLostData, free_at, what};
  return {Verdict::Kind::kFree, now,
          fmt::format("{}; any lease of the key has expired after {}", what, format_duration(now - since_))};
}

Verdict ClaimRule::assess_free(Instant now, const LeaseRecord& record) const {
  const std::string cause = record.cause.empty() ? "released" : record.cause;
  if (!record.heir.empty() && record.heir != settings_.holder) {
    const Instant free_at = since_ + unknown_lease();
    if (now < free_at) return {Verdict::Kind::kHeld, free_at, fmt::format("kept for {}: {}", record.heir, cause)};
  }
  const bool elsewhere = !settings_.region.empty() && !record.region.empty() && settings_.region != record.region;
  if (elsewhere && record.heir != settings_.holder && now < since_ + settings_.cross_region_wait) {
    return {Verdict::Kind::kHeld, since_ + settings_.cross_region_wait, "kept for region " + record.region};
  }
  return {Verdict::Kind::kFree, now, cause};
}

// Of a holder that we cannot see: the longest lease it may have.
Duration ClaimRule::unknown_lease() const { return std::max(timing_.lease, longest_lease_); }

const char* to_string(EndReason reason) {
  static constexpr EnumNames<EndReason> kNames("resigned", "expired", "taken", "store lost data", "unhealthy");
  return kNames[reason];
}

Elector::Elector(ElectorConfig config, uint64_t seed)
    : config_(std::move(config)),
      prng_(seed),
      rule_(config_.claim, config_.timing, config_.traits.chooses_epoch),
      damping_(config_.backoff, config_.flap),
      floor_(config_.floor),
      token_(make_token(prng_)) {}

void Elector::step(Instant now, const Event& event, Effects& out) {
  // An expired term ends before any other decision.
  if (holds() && now >= ends_) {
    const std::string last = "the store confirmed no renewal within " + format_duration(term_timing_.renew_deadline);
    end_term(now, renewing_ ? EndReason::kExpired : EndReason::kUnhealthy, last, out);
  }
  std::visit(Overloaded{
                 [&](const Start&) {
                   check(state_ == State::kIdle && !in_flight_);
                   state_ = State::kFollowing;
                   wish_.reset();
                   look(out);
                 },
                 [&](const Tick&) { on_tick(now, out); },
                 [&](const Looked& looked) { on_looked(now, looked.seen, out); },
                 [&](const Acted& acted) { on_acted(now, acted.outcome, out); },
                 [&](const StoreChanged&) {
                   if (in_flight_) {
                     look_again_ = true;
                   } else if (state_ == State::kFollowing || holds()) {
                     look(out);
                   }
                 },
                 [&](const WorkStopped&) { work_stopped(now, out); },
                 [&](const GoodEvidence& good) {
                   const bool was_sick = config_.evidence.against(now, false).has_value();
                   config_.evidence.good(now, good.kind);
                   if (was_sick && state_ == State::kFollowing && !config_.evidence.against(now, false)) wake_ = now;
                 },
                 [&](const BadEvidence& bad) {
                   config_.evidence.bad(now, bad.kind, bad.why);
                   const std::string cause = fmt::format("unhealthy: {}: {}", to_string(bad.kind), bad.why);
                   if (state_ == State::kLeading) drain(now, {.cause = cause, .heir = {}}, false, out);
                   if (state_ == State::kFollowing && seen_.place.joined) wake_ = now;
                 },
                 [&](const Resign& resign) { on_resign(now, resign, out); },
                 [&](const Retime& retime) {
                   config_.timing = retime.timing;
                   rule_.set_timing(retime.timing);
                 },
                 [&](const Extend&) {
                   if (!holds() || !renewing_) return;
                   next_renewal_ = std::min(next_renewal_, now);
                   schedule_term();
                 },
             },
             event);
}

void Elector::on_tick(Instant now, Effects& out) {
  if (now < wake_ || in_flight_) return;
  wake_ = Instant::never();
  if (state_ == State::kFollowing) {
    if (seen_any_) verdict_ = rule_.assess(now, seen_, token_, floor_);
    const bool free = seen_any_ && !must_look_ && verdict_.kind == Verdict::Kind::kFree;
    const bool stands = config_.campaign && !config_.evidence.against(now, false);
    // A candidate that does not stand only watches while others take the key.
    if (free && stands && (!vacancy_from_ || *vacancy_from_ <= now)) {
      consider(now, out);
    } else {
      look(out);
    }
  } else if (holds()) {
    if (now >= next_renewal_ && renewing_) renew(now, out);
    schedule_term();
  } else if (state_ == State::kReleasing) {
    release(now, out);
  }
}

void Elector::on_looked(Instant now, const Result<Observation>& seen, Effects& out) {
  check(std::exchange(in_flight_, false), "an answer to a question that was asked");
  const bool again = std::exchange(look_again_, false);
  if (!seen) {
    if (last_trouble_ != seen.error().message) note(true, "the store did not answer: " + seen.error().message, out);
    last_trouble_ = seen.error().message;
    BW_PROBE("election: a look fails");
    if (config_.fail_open && !holds()) set_open(true, "the store did not answer: " + seen.error().message, out);
  } else {
    last_trouble_.clear();
  }
  if (std::exchange(release_waits_, false)) {
    release(now, out);
  } else if (state_ == State::kFollowing) {
    if (wish_ && wish_->stay_out) {
      follow(now, Duration::zero(), out);
    } else if (!seen) {
      wake_ = now + jittered(config_.timing.retry);
    } else {
      observe(now, *seen, out);
      if (again) {
        look(out);
      } else {
        consider(now, out);
      }
    }
  } else if (holds()) {
    if (seen) still_ours(now, *seen, out);
    if (holds()) schedule_term();
    // Something changed since the store answered: perhaps the key was taken away. A renewal that is due asks as well.
    if (holds() && again && now < next_renewal_) look(out);
  }
}

void Elector::on_acted(Instant now, const Result<WriteOutcome>& outcome, Effects& out) {
  check(std::exchange(in_flight_, false), "an answer to a question that was asked");
  const bool again = std::exchange(look_again_, false);
  if (!outcome) BW_PROBE("election: an act fails");
  switch (state_) {
    case State::kTaking: took(now, outcome, out); break;
    case State::kLeading:
    case State::kDraining: renewed(now, outcome, out); break;
    case State::kReleasing:
      if (std::exchange(release_waits_, false)) {
        if (outcome && outcome->applied) version_ = outcome->after.version;
        release(now, out);
      } else {
        released(now, outcome, out);
      }
      break;
    case State::kStopping:
      // The term ended while a renewal was on its way: a release must expect the renewed version.
      if (outcome && outcome->applied) version_ = outcome->after.version;
      break;
    case State::kIdle:
    case State::kFollowing: check(false, "nothing is acted in this state"); break;
  }
  if (again && !in_flight_ && (state_ == State::kFollowing || holds())) look(out);
}

void Elector::on_resign(Instant now, const Resign& wish, Effects& out) {
  if (holds()) {
    drain(now, wish, renewing_, out);
    return;
  }
  if (!wish.stay_out) return;
  wish_ = wish;
  if (in_flight_ || state_ != State::kFollowing) return;  // the answer, or the end of the work, brings it about
  if (seen_.place.joined) {
    release(now, out);
  } else {
    follow(now, Duration::zero(), out);
  }
}

void Elector::act(Instant now, WriteRequest::Kind kind, LeaseRecord record, Effects& out) {
  check(!in_flight_);
  in_flight_ = true;
  sent_ = now;
  sent_timing_ = config_.timing;
  Act effect;
  effect.request.kind = kind;
  effect.request.token = token_;
  effect.request.expected = kind == WriteRequest::Kind::kTake ? seen_.version : version_;
  effect.request.record = std::move(record);
  out.emplace_back(std::move(effect));
}

Duration Elector::jittered(Duration span) {
  const auto low = static_cast<int64_t>(static_cast<double>(span.ns()) * (1 - config_.timing.jitter));
  return Duration::nanos(prng_.between(low, span.ns()));
}

void Elector::note(bool warning, std::string text, Effects& out) { out.emplace_back(Note{warning, std::move(text)}); }

void Elector::hindered(std::string why, Effects& out) {
  if (hindrance_ != why) note(true, why, out);
  hindrance_ = std::move(why);
}

void Elector::look(Effects& out) {
  check(!in_flight_);
  in_flight_ = true;
  out.emplace_back(Look{});
}

// Records each observation of the store, from any request.
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
  if (verdict_.kind != Verdict::Kind::kFree) {
    vacancy_from_.reset();
    hindrance_.clear();
  }
  const bool other = verdict_.kind == Verdict::Kind::kHeld && seen.record.held();
  set_open(config_.fail_open && !holds() && !other, verdict_.why, out);
}

// Acts on the last observation. REQUIRES no request in flight.
void Elector::consider(Instant now, Effects& out) {
  const Duration wait = jittered(config_.timing.retry);
  wake_ = now + wait;
  if (!config_.campaign) return;
  if (const auto against = config_.evidence.against(now, false); against && seen_.place.joined) {
    BW_PROBE("election: an unfit candidate leaves the queue");
    note(true, "leaves the queue so that other candidates need not wait: " + *against, out);
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
      // Come back when the key may be free, a little apart from other waiting candidates.
      if (verdict_.free_at < wake_) wake_ = verdict_.free_at + (wait - wait * 3 / 4) / 4;
      break;
  }
}

void Elector::consider_vacancy(Instant now, Effects& out) {
  if (const auto against = config_.evidence.against(now, false)) {
    return hindered("the key is free, but this candidate does not claim it: " + *against, out);
  }
  const bool named = !seen_.record.heir.empty() && seen_.record.heir == config_.claim.holder;
  if (!vacancy_from_) {
    vacancy_from_ = named ? now : std::max(damping_.may_stand_from(now, prng_), stay_back_until_);
    if (*vacancy_from_ > now)
      note(false, "the key is free; claiming it in " + format_duration(*vacancy_from_ - now), out);
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
  if (hindrance_.empty()) note(false, "claiming the key: " + verdict_.why, out);
  state_ = State::kTaking;
  act(now, WriteRequest::Kind::kTake, std::move(record), out);
  wake_ = Instant::never();
}

void Elector::took(Instant now, const Result<WriteOutcome>& outcome, Effects& out) {
  state_ = State::kFollowing;
  const bool leaving = wish_ && wish_->stay_out;
  if (!outcome) {
    hindered("the store did not answer the claim: " + outcome.error().message, out);
    // It may have happened, and only a look can show it. A release without the version would look like a theft.
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
    hindered("the store answered the claim too late", out);
    wake_ = now;
  } else if (kept_shorter(term_)) {
    BW_PROBE("election: the store keeps a shorter lease");
    note(false, "the store recorded another lease than requested", out);
    wake_ = now + jittered(config_.timing.retry) /
                      16;  // then as a claim of ours that is found, with the lease as it is to be
  } else {
    elected(now, out);
  }
}

// Renewals are invisible in a queue: there the server ends the lease of a holder that does not renew.
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
