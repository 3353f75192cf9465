// Leading: heartbeats and the promises they bring, and the ways in which a term ends.
#include <algorithm>

#include "base/probe.h"
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
    step_down(now, {"its health score is " + std::to_string(health_.score), better->id, false, false}, out);
  } else if (severe_ >= config_.severe_checks) {
    step_down(now, {"it was severely loaded at " + std::to_string(severe_) + " checks", better->id, false, false}, out);
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
    return note(false, "stays: leaders have changed too often of late (" + wish.cause + ")", out);
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
  note(false, "member " + std::to_string(hand_over_->heir.value()) + " has not taken over: anybody may", out);
  hand_over_.reset();
  resign(out);
}

void QuorumElector::resign(Effects& out) {
  send_all(Resigned{}, out);
  if (leaving_) out.push_back(Left{});
}

}  // namespace bellwether::quorum
