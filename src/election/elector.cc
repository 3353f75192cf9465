#include "election/elector.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/overloaded.h"
#include "base/probe.h"
#include "base/units.h"
#include "election/token.h"

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
          "the lease of " + record.holder + " was not renewed for " + format_duration(now - since_)};
}

// Nothing there, something older than what was there before, or a store that may not know what it held.
Verdict ClaimRule::assess_doubtful(Instant now, const Observation& seen, Epoch floor) const {
  const Epoch known = std::max(floor, Epoch(seen.floor.value() > 0 ? seen.floor.value() - 1 : 0));
  // A store that gives out epochs removes what is released, and has forgotten only if it would repeat one. Elsewhere
  // the record of a key stays once it was held.
  // The floor of a store that is in doubt about itself is a guess, not a memory.
  const Epoch remembered = seen.may_have_lost_data ? floor : known;
  const bool removed = chooses_epoch_ ? seen.floor <= floor && floor.value() > 0 : remembered.value() > 0;
  const bool forgotten = seen.present ? seen.record.epoch < floor : removed;
  if (!forgotten && (!seen.may_have_lost_data || settings_.trust_empty)) {
    return {Verdict::Kind::kFree, now, "nobody has held the key"};
  }
  std::string what = "the store may have lost data, so that somebody may hold the key";
  if (forgotten) {
    what = "the store has lost data: epoch " + std::to_string(remembered.value()) + " was there before, now it shows " +
           (seen.present ? "epoch " + std::to_string(seen.record.epoch.value()) : std::string("nothing"));
  }
  const Instant free_at = since_ + timing_.takeable_after(unknown_lease());
  if (now < free_at) return {Verdict::Kind::kLostData, free_at, what};
  return {Verdict::Kind::kFree, now, what + "; nobody can hold it any more after " + format_duration(now - since_)};
}

Verdict ClaimRule::assess_free(Instant now, const LeaseRecord& record) const {
  const std::string cause = record.cause.empty() ? "released" : record.cause;
  if (!record.heir.empty() && record.heir != settings_.holder) {
    const Instant free_at = since_ + unknown_lease();
    if (now < free_at) return {Verdict::Kind::kHeld, free_at, "kept for " + record.heir + ": " + cause};
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
  switch (reason) {
    case EndReason::kResigned: return "resigned";
    case EndReason::kExpired: return "expired";
    case EndReason::kTaken: return "taken";
    case EndReason::kLostData: return "store lost data";
    case EndReason::kUnhealthy: return "unhealthy";
  }
  return "?";
}

Elector::Elector(ElectorConfig config, uint64_t seed)
    : config_(std::move(config)),
      prng_(seed),
      rule_(config_.claim, config_.timing, config_.traits.chooses_epoch),
      damping_(config_.backoff, config_.flap),
      floor_(config_.floor),
      token_(make_token(prng_)) {}

void Elector::step(Instant now, const Event& event, Effects& out) {
  // Whatever has happened, a term that is over is over before anything else is decided.
  if (holds() && now >= ends_) {
    const std::string last = "no renewal was confirmed within " + format_duration(term_timing_.renew_deadline);
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
                   const std::string cause = std::string("unhealthy: ") + to_string(bad.kind) + ": " + bad.why;
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
    // Who does not stand looks on: somebody else takes the key meanwhile.
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
      // The term ended while a renewal was on its way: what it left behind is what a release must expect.
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

}  // namespace bellwether::election
