// Leading: heartbeats and the promises they bring, and the ways in which a term ends.

#include <algorithm>

#include "core/base/check.h"
#include "core/base/probe.h"
#include "election/quorum/quorum_elector.h"

namespace bellwether::quorum {

using election::EndReason;

void QuorumElector::beat(Instant now, Effects& out) {
  next_beat_ = now + beats_.next();
  ++round_;
  sent_[round_ % kRounds] = now;
  send_all(Heartbeat{round_, config_.timing.lease, record_.members.stamp}, out);
  count_promises(now, out);
}

void QuorumElector::on_heartbeat_answer(Instant now, Peer& from, const Message& message, const HeartbeatAnswer& answer,
                                        Effects& out) {
  if (!beats() || message.term != record_.term || answer.leader_life != life_ || !answer.promised) return;
  if (answer.round > round_ || round_ - answer.round >= kRounds) return;
  const Instant sent = sent_[answer.round % kRounds];
  if (!from.acked || sent > from.acked_sent) from.acked_sent = sent;
  from.acked = true;
  from.standing = answer.standing;
  from.members = answer.members;
  if (answer.members < record_.members.stamp && durable_ >= record_.version) {
    send(from.id, Configure{record_.members}, out);
  }
  count_promises(now, out);
  if (role_ == Role::kLeader) advance_members(now, out);
}

// The latest instant such that a quorum has acknowledged what was sent then or later; 0: there is none. This member
// itself votes for nobody else while it leads.
Instant QuorumElector::quorum_sent(Instant now) const {
  const auto of = [&](bool next) {
    std::array<Instant, kMostMembers> sent;
    std::size_t count = 0;
    for (const Peer& peer : peers_) {
      if (next ? !peer.next : !peer.voter) continue;
      sent[count++] = peer.id == config_.self ? now : peer.acked ? peer.acked_sent : Instant();
    }
    if (count == 0) return Instant();
    const auto nth = sent.begin() + static_cast<std::ptrdiff_t>(majority_of(count) - 1);
    std::nth_element(sent.begin(), nth, sent.begin() + static_cast<std::ptrdiff_t>(count), std::greater<>());
    return *nth;
  };
  const Instant sent = of(false);
  return record_.members.joint() ? std::min(sent, of(true)) : sent;
}

void QuorumElector::count_promises(Instant now, Effects& out) {
  const Instant sent = quorum_sent(now);
  if (sent == Instant()) return;
  const Instant hard_end = sent + config_.timing.longest_act();
  const Instant ends = hard_end - config_.timing.stop_grace;
  if (role_ == Role::kLeader) {
    if (ends <= ends_) return;
    ends_ = ends;
    hard_end_ = hard_end;
    out.push_back(Renewed{ends, now - sent});
    return;
  }
  if (ends <= now) return;
  role_ = Role::kLeader;
  ends_ = ends;
  hard_end_ = hard_end;
  work_runs_ = true;
  failed_rounds_ = failed_campaigns_ = severe_ = 0;
  stepping_down_.reset();
  drain_until_ = Instant::never();
  set_leader(now, config_.self, "a quorum has voted, and has promised to vote for nobody else", out);
  out.push_back(Elected{election::Epoch(record_.term.value()), now, ends});
  // What the last leader began is finished under this one's name, or was never in force.
  configure(now, confirm(record_.members, record_.term), out);
}

// --- stepping down ---------------------------------------------------------------------------------------------------

void QuorumElector::on_health(Instant now, const LocalHealth& health, Effects& out) {
  health_ = health;
  standing_.health = health.score;
  standing_.electable = electable();
  severe_ = health.load >= Load::kSevere ? severe_ + 1 : 0;
  if (role_ == Role::kLeader) consider_stepping_down(now, out);
}

bool QuorumElector::electable() const {
  return !config_.witness && stands_ && !leaving_ && !follows_only_ && health_.disk;
}

// Who has asked for votes already takes them no more.
void QuorumElector::on_stand(Instant now, const Stand& wish) {
  if (std::exchange(stands_, wish.stands) == wish.stands) return;
  standing_.electable = electable();
  if (is_candidate()) {
    role_ = Role::kFollower;
    wait_for_turn(now + config_.timing.lease);
  }
}

void QuorumElector::consider_stepping_down(Instant now, Effects& out) {
  if (stepping_down_) return;
  const bool disk = !health_.disk || disk_failed_;
  const bool critical = health_.load == Load::kCritical;
  const Peer* better = heir(now, true);
  if (disk || critical) {
    // Not for the sake of nobody: who is in no worse state must be there.
    const Peer* other = heir(now, false);
    if (other == nullptr) return;
    return step_down(now, {disk ? "its disk does not answer" : "it is overloaded (critical)", other->id, false, true},
                     out);
  }
  if (better == nullptr || damping_.cooling_down(now)) return;
  if (health_.score >= config_.fit_below) {
    step_down(now, {fmt::format("its health score is {}", health_.score), better->id, false, false}, out);
  } else if (severe_ >= config_.severe_checks) {
    step_down(now, {fmt::format("it was severely loaded at {} checks", severe_), better->id, false, false}, out);
  }
}

void QuorumElector::step_down(Instant now, const StepDown& wish, Effects& out) {
  if (wish.leaving) {
    leaving_ = true;
    standing_.electable = false;
  }
  if (role_ != Role::kLeader) {
    if (wish.leaving && !hand_over_) {
      if (is_candidate() || role_ == Role::kWinning) role_ = Role::kFollower;
      out.push_back(Left{});
    }
    return;
  }
  if (!wish.forced && damping_.cooling_down(now)) {
    return note(false, fmt::format("stays: leaders have changed too often of late ({})", wish.cause), out);
  }
  const bool known = stepping_down_.has_value();
  stepping_down_ = wish;
  if (known) return;
  drain_until_ = now + config_.drain_limit;
  out.push_back(Drain{wish.cause, true});
}

// The fittest who may follow, and has been heard of lately.
const QuorumElector::Peer* QuorumElector::heir(Instant now, bool must_be_better) const {
  const Peer* best = nullptr;
  const auto rank = [](const Peer& peer) { return std::pair(peer.standing.health, peer.standing.priority); };
  for (const Peer& peer : peers_) {
    if (peer.id == config_.self || !(record_.members.joint() ? peer.next : peer.voter)) continue;
    if (!peer.acked || peer.acked_sent + config_.timing.lease < now || !peer.standing.electable) continue;
    if (peer.standing.health >= config_.fit_below || (standing_.active && !peer.standing.active)) continue;
    // With hysteresis, so that two who are alike do not pass it to and fro.
    if (must_be_better && peer.standing.health + 2 > standing_.health) continue;
    if (best == nullptr || rank(peer) < rank(*best)) best = &peer;
  }
  return best;
}

void QuorumElector::end_term(Instant now, EndReason reason, std::string why, Effects& out) {
  role_ = work_runs_ ? Role::kStopping : Role::kFollower;
  out.push_back(
      TermEnded{election::Epoch(record_.term.value()), reason, std::move(why), std::max(now, hard_end_), work_runs_});
  ends_ = std::min(ends_, now);
  set_leader(now, kNobody, "its own term has ended", out);
  follow(now);
}

void QuorumElector::follow(Instant now) {
  stepping_down_.reset();
  drain_until_ = Instant::never();
  suspected_ = false;
  wait_for_turn(std::max(now, promised_until_) + config_.timing.lease);
}

void QuorumElector::work_stopped(Instant now, Effects& out) {
  if (!work_runs_) return;
  work_runs_ = false;
  if (role_ == Role::kLeader) {
    if (!stepping_down_) {
      note(true, "the work has stopped by itself, so that this member leads no more", out);
      stepping_down_ = StepDown{"its work has stopped", kNobody, false, true};
    }
    return hand_over(now, out);
  }
  if (role_ == Role::kStopping) role_ = Role::kFollower;
}

// Its work has stopped: the others may know.
void QuorumElector::hand_over(Instant now, Effects& out) {
  MemberId to = stepping_down_->heir;
  const Peer* named = find(to);
  if (to == config_.self || named == nullptr || !named->acked) {
    const Peer* fittest = heir(now, false);
    to = fittest == nullptr ? kNobody : fittest->id;
  }
  const std::string cause = stepping_down_->cause;
  over_ = record_.term;
  end_term(now, EndReason::kResigned, cause, out);
  if (to == kNobody) return resign(out);
  BW_PROBE("quorum: a leader hands over");
  hand_over_ = HandOver{to, now + config_.timing.lease, now + beats_.next()};
  send(to, StandNow{}, out);
}

void QuorumElector::go_on_handing_over(Instant now, Effects& out) {
  if (now < hand_over_->until) {
    hand_over_->next = now + beats_.next();
    send(hand_over_->heir, StandNow{}, out);
    return;
  }
  note(false, fmt::format("member {} has not taken over: anybody may", hand_over_->heir.value()), out);
  hand_over_.reset();
  resign(out);
}

void QuorumElector::resign(Effects& out) {
  send_all(Resigned{}, out);
  if (leaving_) out.push_back(Left{});
}

// Starting, and telling the lives of a member apart. A disk that went back in time cannot be seen from inside; those
// who have heard from its member since can tell, because every message says how often the record had been written.

void QuorumElector::on_start(Instant now, const Start& start, Effects& out) {
  check(role_ == Role::kIdle, "a member starts once");
  role_ = Role::kFollower;
  standing_.priority = config_.priority;
  standing_.electable = !config_.witness;
  // What no member can have written is as bad as what cannot be read.
  const bool sound = start.found != Start::Found::kUnreadable && start.record.members.stamp.term <= start.record.term;
  if (sound) record_ = start.record;
  loaded_ = durable_ = record_.version;
  if (start.found == Start::Found::kNew) {
    check(record_ == Record{}, "a new member has no record");
    if (!config_.bootstrap.empty()) {
      const auto declared = declare(config_.bootstrap);
      check(declared.has_value(), "the declared members are validated before they are used");
      record_.members = *declared;
    }
    record_.longest_lease = config_.timing.lease;
    persist(out);
  }
  use(record_.members);
  quiet_until_ = now + config_.timing.promise(std::max(record_.longest_lease, config_.timing.lease));
  stand_at_ = quiet_until_ + turn();
  if (!sound) {
    if (!config_.bootstrap.empty()) {
      if (const auto declared = declare(config_.bootstrap)) use(*declared);
    }
    lose_record(now, "it cannot be read", out);
  } else if (record_.lost) {
    lose_record(now, "so this member had found before", out);
  }
  if (follows_only_) return;
  verify(now, out);
  if (!verified_) greet_all(now, out);
}

// Whatever it voted for and promised is unknown from now on, so it says nothing any more that others could count on.
void QuorumElector::lose_record(Instant now, std::string why, Effects& out) {
  if (follows_only_) return;
  BW_PROBE("quorum: a member finds its record lost");
  follows_only_ = true;
  if (!record_.lost) {
    record_.lost = true;
    persist(out);
  }
  standing_.electable = false;
  if (role_ == Role::kLeader) end_term(now, EndReason::kLostData, "its record was lost: " + why, out);
  if (role_ != Role::kStopping) role_ = Role::kFollower;
  note(true,
       fmt::format("the record of this member was lost ({}): it follows, and neither votes nor stands any more. Remove "
                   "it from the group, and add it under a new id",
                   why),
       out);
}

void QuorumElector::verify(Instant now, Effects& out) {
  if (verified_) return;
  bool everybody = true;
  for (const Peer& peer : peers_) {
    if ((peer.voter || peer.next) && peer.id != config_.self && !peer.greeted) everybody = false;
  }
  if (!everybody && now < quiet_until_) return;
  verified_ = true;
  if (everybody && loaded_ == 0 && record_.members.has(config_.self)) {
    // Nobody knows of an earlier life of this new member, so it has promised nothing to a leader that still acts: such
    // a leader is among those who have answered.
    quiet_until_ = now;
    stand_at_ = now + config_.timing.pre_vote_timeout + turn();  // so that the others are as far
  }
  if (!everybody) note(false, "begins to take part although not every member has answered", out);
}

// --- greetings -------------------------------------------------------------------------------------------------------

void QuorumElector::greet(MemberId to, uint64_t challenge, Effects& out) const {
  if (!follows_only_) send(to, Greeting{challenge}, out);
}

void QuorumElector::greet_all(Instant now, Effects& out) {
  next_greeting_ = now + beats_.next();
  for (const Peer& peer : peers_) {
    if (peer.id != config_.self && !peer.greeted) greet(peer.id, 0, out);
  }
}

void QuorumElector::on_greeting(Peer& from, const Message& message, const Greeting& greeting, Effects& out) {
  const auto past = std::find(from.past_lives.begin(), from.past_lives.end(), message.life);
  if (past != from.past_lives.end()) return send(from.id, Superseded{message.life}, out);
  const uint64_t newest = from.newest_record;
  if (from.life != message.life) {
    const bool answers =
        greeting.challenge != 0 && greeting.challenge == from.challenge && from.challenged_life == message.life;
    if (!answers) {
      if (from.challenged_life != message.life) from.challenge = prng_.next() | 1;
      from.challenged_life = message.life;
      return send(from.id, GreetingAnswer{message.life, from.challenge, newest}, out);
    }
    // A record that is older than what was seen is not that of the member: it learns so, and is not listened to.
    if (message.record < newest) {
      return send(from.id, GreetingAnswer{message.life, 0, newest}, out);
    }
    if (from.life != 0) {
      std::rotate(from.past_lives.begin(), from.past_lives.end() - 1, from.past_lives.end());
      from.past_lives.front() = from.life;
    }
    from.life = message.life;
    from.challenge = from.challenged_life = 0;
    from.acked = false;
    if (from.id == promised_to_ && leader_life_ != 0 && leader_life_ != from.life) {
      note(false, fmt::format("member {} has started anew", from.id.value()), out);
    }
  }
  send(from.id, GreetingAnswer{message.life, 0, newest}, out);
}

void QuorumElector::on_greeting_answer(Instant now, Peer& from, const GreetingAnswer& answer, Effects& out) {
  if (answer.life != life_) return;
  if (!verified_ && answer.newest_record > loaded_) {
    BW_PROBE("quorum: an older record is found out");
    return lose_record(now,
                       fmt::format("member {} has seen version {} of it, found was version {}", from.id.value(),
                                   answer.newest_record, loaded_),
                       out);
  }
  if (answer.challenge != 0) return greet(from.id, answer.challenge, out);
  from.greeted = true;
  verify(now, out);
}

void QuorumElector::on_superseded(Instant now, const Superseded& superseded, Effects& out) {
  if (superseded.life != life_) return;
  BW_PROBE("quorum: a second process under one id");
  if (role_ == Role::kLeader) end_term(now, EndReason::kLostData, "another process answers for this member", out);
  silent_ = true;
  if (role_ != Role::kStopping) role_ = Role::kFollower;
  set_leader(now, kNobody, "another process answers for this member", out);
  note(true, "another process answers for this member: this one takes no part any more. One id, one process", out);
}

// Only the life that greeted last is listened to.
bool QuorumElector::known_life(Peer& from, const Message& message, Effects& out) {
  if (from.life == message.life) return true;
  if (from.life == 0) {
    from.life = message.life;
    // What an earlier life may still say to its challenge must not end this one.
    from.challenge = from.challenged_life = 0;
    return true;
  }
  BW_PROBE("quorum: a message of another life");
  const auto past = std::find(from.past_lives.begin(), from.past_lives.end(), message.life);
  if (past != from.past_lives.end()) {
    send(from.id, Superseded{message.life}, out);
  } else {
    send(from.id, WhoAreYou{}, out);
  }
  return false;
}

}  // namespace bellwether::quorum
