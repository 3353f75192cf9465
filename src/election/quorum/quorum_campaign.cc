// Standing for election.

#include <algorithm>

#include "core/base/probe.h"
#include "election/quorum/quorum_elector.h"

namespace bellwether::quorum {

bool QuorumElector::may_stand() const {
  return electable() && verified_ && !work_runs_ && !disk_failed_ && !record_.members.voters.empty();
}

// Who was removed stands when nobody else does: it may be the only one that knows the newest members.
bool QuorumElector::fit() const {
  return health_.score < config_.fit_below && health_.load != Load::kCritical && health_.ready &&
         record_.members.has(config_.self);
}

// How long after the end of a promise this member stands: an order in which each waits for those before it, made of
// fitness first, then of priority, and of the ids, beginning after the leader that was.
Duration QuorumElector::turn() const {
  const auto members = static_cast<int64_t>(std::max<std::size_t>(record_.members.voters.size(), 1));
  int64_t steps = static_cast<int64_t>(own_place());
  steps += int64_t{health_.score} * 2;
  steps += int64_t{std::min<uint8_t>(config_.priority, 8)} * members;
  if (!health_.ready) steps += members;
  return config_.timing.step * steps;
}

void QuorumElector::wait_for_turn(Instant from) {
  stand_at_ = from + turn();
  // Suspicion does away with what only keeps candidates from colliding by chance.
  if (!suspected_) stand_at_ += prng_.between(Duration::zero(), config_.timing.step);
  // Damping is for a leader that comes and goes; one that others miss as well is gone.
  if (damping_.cooling_down(from) && !suspected_) stand_at_ += config_.timing.lease * 2;
}

void QuorumElector::stand(Instant now, Effects& out) {
  set_leader(now, kNobody, "its promise has run out without a heartbeat", out);
  if (!may_stand()) {
    stand_at_ = now + config_.timing.lease;
    return;
  }
  if (!fit() && failed_rounds_ < config_.patience) {
    ++failed_rounds_;
    stand_at_ = now + config_.timing.lease / 2 + turn();
    return;
  }
  Duration again_after;
  const Candidacy own{config_.self, Term(record_.term.value() + 1), record_.members.stamp, standing_, std::nullopt};
  if (refusal(now, own, again_after) != Refusal::kNone) {
    stand_at_ = now + std::max(again_after, config_.timing.step) + turn();
    return;
  }
  role_ = Role::kPreCandidate;
  ++number_;
  again_after_ = Duration::zero();
  for (Peer& peer : peers_) {
    peer.granted = peer.id == config_.self;
    peer.refused = false;
  }
  round_ends_ = now + config_.timing.pre_vote_timeout;
  send_all(PreVote{number_, own.term, record_.members.stamp, standing_}, out);
  if (quorum_granted()) campaign(now, std::nullopt, out);
}

void QuorumElector::on_pre_vote_answer(Instant now, Peer& from, const PreVoteAnswer& answer, Effects& out) {
  if (role_ != Role::kPreCandidate || answer.number != number_) return;
  from.granted = answer.refusal == Refusal::kNone;
  from.refused = !from.granted;
  if (answer.refusal == Refusal::kQuiet || answer.refusal == Refusal::kPromised ||
      answer.refusal == Refusal::kLeading) {
    const bool first = again_after_ == Duration::zero();
    again_after_ = first ? answer.again_after : std::min(again_after_, answer.again_after);
  }
  if (answer.refusal == Refusal::kActiveFirst || answer.refusal == Refusal::kOlderState) {
    BW_PROBE("quorum: who is still syncing lets others go first");
    return round_failed(now, to_string(answer.refusal), out);
  }
  if (cannot_win()) return round_failed(now, to_string(answer.refusal), out);
  if (!quorum_granted()) return;
  // Who is still syncing hears everybody out: one of them may have the state of the group, or a leader.
  const bool all = std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) {
    return (!peer.voter && !peer.next) || peer.granted || peer.refused;
  });
  if (standing_.active || all) campaign(now, std::nullopt, out);
}

void QuorumElector::campaign(Instant now, std::optional<Permission> permission, Effects& out) {
  role_ = Role::kCandidate;
  ++number_;
  hand_over_.reset();  // it spoke of the term before
  permission_ = permission;
  record_.term = Term(record_.term.value() + 1);
  record_.vote = config_.self;
  vote_version_ = persist(out);
  campaign_began_ = now;
  round_ends_ = now + kLongestCampaign;
  repeat_at_ = Instant::never();
  again_after_ = Duration::zero();
  for (Peer& peer : peers_) peer.granted = peer.refused = false;
}

// To those who have not given theirs; the own vote is durable by now. Who has refused is asked again, because most
// reasons pass: a disk that fails for a moment, a promise, the quiet time after a start.
void QuorumElector::request_votes(Instant now, Effects& out) {
  repeat_at_ = now + beats_.next();
  for (const Peer& peer : peers_) {
    if (peer.id == config_.self || !(peer.voter || peer.next) || peer.granted) continue;
    send(peer.id, Vote{number_, record_.members.stamp, standing_, permission_}, out);
  }
  if (quorum_granted()) won(now, out);
}

void QuorumElector::on_vote_answer(Instant now, Peer& from, const Message& message, const VoteAnswer& answer,
                                   Effects& out) {
  if (role_ != Role::kCandidate || answer.number != number_ || message.term != record_.term) return;
  from.granted = answer.refusal == Refusal::kNone;
  from.refused = !from.granted;
  again_after_ = std::max(again_after_, answer.again_after);
  if (quorum_granted()) return won(now, out);
  if (cannot_win()) return round_failed(now, to_string(answer.refusal), out);
  // Another one stands in the same term, and only who is silent could decide between them, and may be gone.
  if (answer.refusal == Refusal::kVoted) round_ends_ = std::min(round_ends_, now + config_.timing.vote_timeout);
}

// The leader acts no more, and wants this member to follow it: no promise stands against that, and nobody need be
// asked before.
void QuorumElector::on_stand_now(Instant now, Peer& from, const Message& message, Effects& out) {
  if (message.term != record_.term || from.id != promised_to_ || message.term != promised_term_) return;
  if (role_ != Role::kFollower || !may_stand() || now < quiet_until_) return;
  BW_PROBE("quorum: a member stands by permission");
  withdraw_promise(now, fmt::format("member {} hands over to this one", from.id.value()), out);
  campaign(now, Permission{from.id, message.term}, out);
}

void QuorumElector::round_failed(Instant now, const char* why, Effects& out) {
  note(false, std::string("does not win: ") + why, out);
  role_ = Role::kFollower;
  ++failed_rounds_;
  const auto members = static_cast<int64_t>(std::max<std::size_t>(record_.members.voters.size(), 1));
  const Duration spread = prng_.between(Duration::zero(), config_.timing.step * members);
  stand_at_ = now + std::min(again_after_, config_.timing.promise(config_.timing.lease)) + turn() + spread;
}

void QuorumElector::won(Instant now, Effects& out) {
  role_ = Role::kWinning;
  round_ends_ =
      std::min(campaign_began_ + kLongestCampaign, now + std::max(config_.timing.vote_timeout, config_.timing.lease));
  for (Peer& peer : peers_) peer.acked = false;
  ends_ = hard_end_ = Instant();
  beat(now, out);
}

bool QuorumElector::quorum_granted() const {
  return quorum_of([](const Peer& peer) { return peer.granted; });
}

bool QuorumElector::cannot_win() const {
  return !quorum_of([](const Peer& peer) { return !peer.refused; });
}

// As a voter and a follower.

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
    withdraw_promise(now, fmt::format("the leader has permitted member {} to stand", from.id.value()), out);
  }
  // A healthy leader is not deposed by a vote that nobody may give.
  if (message.term > record_.term && !bound) {
    adopt_term(now, message.term, granted ? from.id : kNobody,
               fmt::format("member {} stands in a later term", from.id.value()), out);
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
    adopt_term(now, message.term, kNobody, fmt::format("member {} leads in a later term", from.id.value()), out);
  }
  if (beats() || (leader_ != kNobody && leader_ != from.id)) {
    note(true,
         fmt::format("members {} and {} both say that they lead in term {}", leader_.value(), from.id.value(),
                     record_.term.value()),
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
  set_leader(now, from.id, fmt::format("its heartbeat in term {}", message.term.value()), out);
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
  set_leader(now, from.id, fmt::format("its heartbeat in term {}", message.term.value()), out);
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
  withdraw_promise(now, fmt::format("member {} has resigned", from.id.value()), out);
}

// The life that is over was the only one that could act on the promise.
void QuorumElector::on_leader_dead(Instant now, const LeaderDead& dead, Effects& out) {
  if (dead.leader != promised_to_ || dead.life != leader_life_ || now >= promised_until_) return;
  BW_PROBE("quorum: a promise to the dead is withdrawn");
  withdraw_promise(now, fmt::format("member {} is proven dead", dead.leader.value()), out);
}

}  // namespace bellwether::quorum
