// As a voter and a follower.
#include <algorithm>

#include "base/probe.h"
#include "election/quorum/quorum_elector.h"

namespace bellwether::quorum {

const char* to_string(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone: return "granted";
    case Refusal::kQuiet: return "has just started, and may have promised something before";
    case Refusal::kPromised: return "has promised its vote to the leader for a while";
    case Refusal::kLeading: return "leads, or still stops";
    case Refusal::kOlderTerm: return "knows a later term";
    case Refusal::kVoted: return "has voted for another one in this term";
    case Refusal::kOlderMembers: return "knows newer members of the group";
    case Refusal::kActiveFirst: return "has the state of the group, which the candidate is still syncing";
    case Refusal::kOlderState: return "has newer state than the candidate";
    case Refusal::kDisk: return "cannot write its record";
  }
  return "?";
}

// The one rule for pre-votes and votes: who passes the first cannot fail the second for a reason known before.
Refusal QuorumElector::refusal(Instant now, const Candidacy& candidate, Duration& again_after) const {
  if (now < quiet_until_) {
    again_after = quiet_until_ - now;
    return Refusal::kQuiet;
  }
  if (role_ == Role::kLeader || (work_runs_ && now < hard_end_)) {
    again_after = hard_end_ - now;
    return Refusal::kLeading;
  }
  if (candidate.term < record_.term) return Refusal::kOlderTerm;
  if (candidate.term == record_.term && record_.vote != kNobody && record_.vote != candidate.id) return Refusal::kVoted;
  const bool permitted = candidate.permission && candidate.permission->leader == promised_to_ &&
                         candidate.permission->term == promised_term_;
  if (now < promised_until_ && !permitted) {
    again_after = promised_until_ - now;
    return Refusal::kPromised;
  }
  if (candidate.members < record_.members.stamp) return Refusal::kOlderMembers;
  // Who knows older members than the candidate cannot be elected, and so need not be waited for.
  if (!candidate.standing.active && standing_.electable && candidate.members == record_.members.stamp) {
    if (standing_.active) return Refusal::kActiveFirst;
    if (standing_.state > candidate.standing.state) return Refusal::kOlderState;
  }
  return health_.disk && !disk_failed_ ? Refusal::kNone : Refusal::kDisk;
}

// Changes nothing, also not when somebody was last heard of.
void QuorumElector::on_pre_vote(Instant now, Peer& from, const Message& message, const PreVote& ask, Effects& out) {
  if (ask.proposed <= message.term) return;
  from.standing = ask.standing;
  PreVoteAnswer answer{ask.number, Refusal::kNone, {}};
  if (ask.proposed <= record_.term) {
    answer.refusal = Refusal::kOlderTerm;
  } else {
    answer.refusal = refusal(now, {from.id, ask.proposed, ask.members, ask.standing, std::nullopt}, answer.again_after);
  }
  send(from.id, answer, out);
}

void QuorumElector::on_vote(Instant now, Peer& from, const Message& message, const Vote& ask, Effects& out) {
  if (!verified_) return;
  from.standing = ask.standing;
  VoteAnswer answer{ask.number, Refusal::kNone, {}};
  const Candidacy candidate{from.id, message.term, ask.members, ask.standing, ask.permission};
  answer.refusal = refusal(now, candidate, answer.again_after);
  const bool bound =
      answer.refusal == Refusal::kPromised || answer.refusal == Refusal::kLeading || answer.refusal == Refusal::kQuiet;
  if (bound) BW_PROBE("quorum: a vote is refused under a promise");
  const bool granted = answer.refusal == Refusal::kNone;
  if (granted && ask.permission && now < promised_until_) {
    withdraw_promise(now, "the leader has permitted member " + std::to_string(from.id.value()) + " to stand", out);
  }
  // A healthy leader is not deposed by a vote that nobody may give.
  if (message.term > record_.term && !bound) {
    adopt_term(now, message.term, granted ? from.id : kNobody,
               "member " + std::to_string(from.id.value()) + " stands in a later term", out);
    vote_version_ = record_.version;
  }
  if (!granted) return send(from.id, answer, out);
  if (record_.vote != from.id || (durable_ < vote_version_ && disk_failed_)) {
    record_.vote = from.id;
    vote_version_ = persist(out);
  }
  if (role_ == Role::kFollower) stand_at_ = std::max(stand_at_, now + config_.timing.vote_timeout + turn());
  send_when_durable(vote_version_, from.id, answer, out);
}

void QuorumElector::on_heartbeat(Instant now, Peer& from, const Message& message, const Heartbeat& beat, Effects& out) {
  // What was promised before the start is not known, so nothing else is promised yet.
  if (!verified_) return;
  HeartbeatAnswer answer{beat.round, message.life, false, record_.members.stamp, standing_};
  if (message.term < record_.term) return send(from.id, answer, out);
  if (message.term <= over_ || beat.lease > kLongestLease) return;
  if (message.term > record_.term) {
    adopt_term(now, message.term, kNobody, "member " + std::to_string(from.id.value()) + " leads in a later term", out);
  }
  if (beats() || (leader_ != kNobody && leader_ != from.id)) {
    note(true,
         "members " + std::to_string(leader_.value()) + " and " + std::to_string(from.id.value()) +
             " both say that they lead in term " + std::to_string(record_.term.value()),
         out);
    return;
  }
  if (is_candidate()) role_ = Role::kFollower;
  if (beat.lease > record_.longest_lease) {
    record_.longest_lease = beat.lease;
    persist(out);
  }
  promised_until_ = std::max(promised_until_, now + config_.timing.promise(beat.lease));
  promised_to_ = from.id;
  promised_term_ = message.term;
  leader_life_ = message.life;
  set_leader(now, from.id, "its heartbeat in term " + std::to_string(message.term.value()), out);
  suspected_ = false;
  failed_rounds_ = failed_campaigns_ = 0;
  wait_for_turn(promised_until_);
  answer.promised = true;
  answer.members = record_.members.stamp;
  send_when_durable(record_.version, from.id, answer, out);
}

// Of a member that has lost its record: it learns who leads, and answers nothing.
void QuorumElector::on_word_of_leader(Instant now, Peer& from, const Message& message, Effects& out) {
  if (!std::holds_alternative<Heartbeat>(message.body) || message.term < record_.term) return;
  record_.term = message.term;
  set_leader(now, from.id, "its heartbeat in term " + std::to_string(message.term.value()), out);
  stand_at_ = now + config_.timing.promise(config_.timing.lease);
}

// --- the end of a promise before its time ----------------------------------------------------------------------------

void QuorumElector::withdraw_promise(Instant now, std::string why, Effects& out) {
  over_ = std::max(over_, promised_term_);
  promised_until_ = std::min(promised_until_, now);
  // Somebody else may lead by now: whom the promise was made to has gone on talking in its old term.
  if (leader_ != promised_to_) return;
  set_leader(now, kNobody, std::move(why), out);
  if (role_ == Role::kFollower) wait_for_turn(now);
}

void QuorumElector::on_resigned(Instant now, Peer& from, const Message& message, Effects& out) {
  if (from.id != promised_to_ || message.term != promised_term_) return;
  withdraw_promise(now, "member " + std::to_string(from.id.value()) + " has resigned", out);
}

// The life that is over was the only one that could act on the promise.
void QuorumElector::on_leader_dead(Instant now, const LeaderDead& dead, Effects& out) {
  if (dead.leader != promised_to_ || dead.life != leader_life_ || now >= promised_until_) return;
  BW_PROBE("quorum: a promise to the dead is withdrawn");
  withdraw_promise(now, "member " + std::to_string(dead.leader.value()) + " is proven dead", out);
}

}  // namespace bellwether::quorum
