#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/probe.h"
#include "core/base/units.h"
#include "election/elector.h"
#include "election/lease_record.h"

namespace bellwether::election {
namespace {

constexpr int kReleaseTries = 3;
constexpr const char* kKeptShorter =
    "the store recorded a shorter lease than requested, and other candidates wait only for that";

}  // namespace

void Elector::elected(Instant now, Effects& out) {
  state_ = State::kLeading;
  since_ = now;
  count_from_sent();
  renewing_ = true;
  may_release_ = false;
  release_tries_ = 0;
  wish_.reset();
  next_renewal_ = sent_ + jittered(config_.timing.renew_every);
  config_.evidence.begin(now);
  set_open(false, "elected", out);
  out.emplace_back(Elected{term_.epoch, since_, ends_});
  schedule_term();
}

// The last request is confirmed: the term lasts by the times that were sent with it.
void Elector::count_from_sent() {
  term_timing_ = sent_timing_;
  ends_ = sent_ + term_timing_.renew_deadline;
  lease_ends_ = sent_ + term_timing_.lease;
}

// Whether the store has kept a shorter lease than was sent, as for a claim that stood in its queue already: others wait
// only for the shorter one. Stores may round to milliseconds; the margin covers that.
bool Elector::kept_shorter(const LeaseRecord& kept) const {
  return kept.lease + Duration::millis(1) < sent_timing_.lease;
}

void Elector::renew(Instant now, Effects& out) {
  if (const auto against = config_.evidence.against(now, true)) {
    BW_PROBE("election: a renewal is withheld");
    if (state_ == State::kLeading) {
      drain(now, {.cause = "unhealthy: " + *against, .heir = {}}, false, out);
    } else {
      renewing_ = false;
      note(true, "no renewal while the work winds up: " + *against, out);
    }
    return;
  }
  LeaseRecord record = term_;
  ++record.renewal;
  record.heir.clear();
  if (config_.timing.lease < term_timing_.lease) {
    // Others will wait for less than before, perhaps already when the answer to this is lost.
    term_timing_.lease = config_.timing.lease;
    term_timing_.stop_grace = std::min(term_timing_.stop_grace, config_.timing.stop_grace);
    ends_ = std::min(ends_, now + config_.timing.renew_deadline);
    lease_ends_ = std::min(lease_ends_, now + config_.timing.lease);
    out.emplace_back(Renewed{ends_, Duration::zero()});
  }
  record.lease = config_.timing.lease;
  next_renewal_ = Instant::never();
  act(now, WriteRequest::Kind::kRenew, std::move(record), out);
}

void Elector::renewed(Instant now, const Result<WriteOutcome>& outcome, Effects& out) {
  if (!outcome) {
    note(true, "the store did not confirm a renewal: " + outcome.error().message, out);
    next_renewal_ = now + jittered(std::min(config_.timing.retry, term_timing_.retry));
    schedule_term();
    return;
  }
  if (!outcome->applied) {
    still_ours(now, outcome->after, out);
    if (holds()) {
      next_renewal_ = now + jittered(config_.timing.retry) / 4;
      schedule_term();
    }
    return;
  }
  observe(now, outcome->after, out);
  term_ = outcome->after.record;
  version_ = outcome->after.version;
  if (kept_shorter(term_)) {
    BW_PROBE("election: the store keeps a shorter lease");
    note(true, kKeptShorter, out);
    if (term_.lease + Duration::millis(1) < term_timing_.lease) {
      end_term(now, EndReason::kExpired, kKeptShorter, out);
      return;
    }
    next_renewal_ = now + jittered(config_.timing.retry) / 4;
    schedule_term();
    return;
  }
  count_from_sent();
  next_renewal_ = sent_ + jittered(config_.timing.renew_every);
  if (now >= ends_) {
    end_term(now, EndReason::kExpired, "the store confirmed the renewal after the end of the term", out);
    return;
  }
  out.emplace_back(Renewed{ends_, now - sent_});
  schedule_term();
}

// The store shows another record than ours, or may do so.
void Elector::still_ours(Instant now, const Observation& after, Effects& out) {
  const Epoch ours = term_.epoch;
  observe(now, after, out);
  if (after.record.held() && after.record.token == token_ && after.record.epoch == ours) {
    // A renewal of ours whose answer was lost, or an operator's request in the record.
    term_ = after.record;
    version_ = after.version;
    if (after.record.heir.empty() || after.record.heir == config_.claim.holder) return;
    const std::string heir = after.record.heir == kAnybody ? std::string() : after.record.heir;
    drain(now, {.cause = after.record.cause, .heir = heir, .stay_out = false, .forced = false}, true, out);
    return;
  }
  const bool forgotten = !after.present || after.record.epoch < ours;
  if (forgotten) {
    end_term(now, EndReason::kLostData,
             fmt::format("the store shows {} instead of our epoch {}",
                         after.present ? fmt::format("epoch {}", after.record.epoch.value()) : std::string("nothing"),
                         ours.value()),
             out);
  } else {
    end_term(now, EndReason::kTaken,
             fmt::format("{}, epoch {}", after.record.held() ? "held by " + after.record.holder : after.record.cause,
                         after.record.epoch.value()),
             out);
  }
}

void Elector::drain(Instant now, const Resign& wish, bool renewing, Effects& out) {
  if (!wish.forced && now < since_ + config_.stable_for) {
    note(true,
         fmt::format("not handed over yet ({}): this term is younger than {}", wish.cause,
                     format_duration(config_.stable_for)),
         out);
    return;
  }
  const bool first = state_ == State::kLeading;
  if (!first && wish_ && wish_->stay_out && !wish.stay_out) return;
  wish_ = wish;
  if (!first) return;
  state_ = State::kDraining;
  renewing_ = renewing;
  out.emplace_back(Drain{wish.cause, renewing});
  schedule_term();
}

void Elector::end_term(Instant now, EndReason reason, std::string why, Effects& out) {
  check(holds());
  state_ = State::kStopping;
  may_release_ = reason == EndReason::kExpired || reason == EndReason::kUnhealthy;
  const Instant stop_by = std::min(now, ends_) + term_timing_.stop_grace;
  wake_ = Instant::never();
  out.emplace_back(TermEnded{term_.epoch, reason, std::move(why), stop_by, true});
}

void Elector::work_stopped(Instant now, Effects& out) {
  if (holds()) {
    if (!wish_ && config_.yields) wish_ = Resign{.cause = "released", .heir = {}};
    may_release_ = true;
    const EndReason reason = renewing_ ? EndReason::kResigned : EndReason::kUnhealthy;
    out.emplace_back(TermEnded{term_.epoch, reason, wish_ ? wish_->cause : "released", now, false});
    state_ = State::kStopping;
  }
  if (state_ != State::kStopping) return;
  state_ = State::kReleasing;
  if (in_flight_) {
    release_waits_ = true;
  } else {
    release(now, out);
  }
}

void Elector::release(Instant now, Effects& out) {
  if (state_ == State::kFollowing) {  // a claim that waits in a queue, or was won while leaving
    may_release_ = true;
    version_ = seen_.version;
    term_ = seen_.record;
  }
  state_ = State::kReleasing;
  if (!may_release_) {
    follow(now, jittered(config_.timing.retry), out);
    return;
  }
  LeaseRecord record = term_;
  record.holder.clear();
  record.token.clear();
  ++record.renewal;
  record.heir = wish_ ? wish_->heir : std::string();
  record.cause = wish_ && !wish_->cause.empty() ? wish_->cause : "released";
  act(now, WriteRequest::Kind::kRelease, std::move(record), out);
  wake_ = Instant::never();
}

void Elector::released(Instant now, const Result<WriteOutcome>& outcome, Effects& out) {
  if (outcome && outcome->applied) {
    observe(now, outcome->after, out);
  } else if (++release_tries_ < kReleaseTries) {
    if (!outcome) {
      // Perhaps it happened; then the next try finds that the version has changed, and that is the end of it.
      note(true, "the store did not answer the release: " + outcome.error().message, out);
      wake_ = now + jittered(config_.timing.retry);
      return;
    }
    if (outcome->after.record.held() && outcome->after.record.token == token_) {
      version_ = outcome->after.version;
      term_ = outcome->after.record;
      release(now, out);
      return;
    }
    observe(now, outcome->after, out);
  } else {
    note(true, "the key could not be released; another candidate can take it when its lease has expired", out);
  }
  follow(now, jittered(config_.timing.retry), out);
}

// The term, if there was one, is behind us.
void Elector::follow(Instant now, Duration wait, Effects& out) {
  const bool staying_out = wish_ && wish_->stay_out;
  const bool gave_up = wish_.has_value();
  wish_.reset();
  token_ = make_token(prng_);
  vacancy_from_.reset();
  release_tries_ = 0;
  seen_.place = {};
  if (staying_out) {
    state_ = State::kIdle;
    wake_ = Instant::never();
    seen_any_ = false;
    set_open(false, "is no longer a candidate", out);
    out.emplace_back(Stopped{});
    return;
  }
  if (gave_up) stay_back_until_ = now + config_.timing.lease;
  state_ = State::kFollowing;
  wake_ = now + wait;
}

void Elector::schedule_term() { wake_ = renewing_ ? std::min(next_renewal_, ends_) : ends_; }

}  // namespace bellwether::election
