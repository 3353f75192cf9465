#include "election/quorum/quorum_voter.h"

#include <algorithm>

#include "core/base/probe.h"

namespace bellwether::quorum {

const char* to_string(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone: return "granted";
    case Refusal::kQuiet: return "has just started and may have made a promise before";
    case Refusal::kPromised: return "has promised its vote to the leader for a while";
    case Refusal::kLeading: return "is the leader, or is still stopping";
    case Refusal::kOlderTerm: return "knows a later term";
    case Refusal::kVoted: return "has voted for another member in this term";
    case Refusal::kOlderMembers: return "knows newer members of the group";
    case Refusal::kActiveFirst: return "has the state of the group, which the candidate is still syncing";
    case Refusal::kOlderState: return "has newer state than the candidate";
    case Refusal::kDisk: return "cannot write its record";
  }
  return "?";
}

Refusal QuorumVoter::refusal(Instant now, const Candidacy& candidate, Duration& again_after) const {
  if (now < book_.quiet_until) {
    again_after = book_.quiet_until - now;
    return Refusal::kQuiet;
  }
  if (book_.role == Role::kLeader || (book_.work_runs && now < book_.hard_end)) {
    again_after = book_.hard_end - now;
    return Refusal::kLeading;
  }
  if (candidate.term < record_.term) return Refusal::kOlderTerm;
  if (candidate.term == record_.term && record_.vote != kNobody && record_.vote != candidate.id) return Refusal::kVoted;
  const bool permitted = candidate.permission && candidate.permission->leader == promised_to_ &&
                         candidate.permission->term == promised_term_;
  if (now < book_.promised_until && !permitted) {
    again_after = book_.promised_until - now;
    return Refusal::kPromised;
  }
  if (candidate.members < record_.members.stamp) return Refusal::kOlderMembers;
  // A member with an older configuration than the candidate's cannot be elected, so the candidate need not wait for it.
  if (!candidate.eligibility.active && book_.eligibility.electable && candidate.members == record_.members.stamp) {
    if (book_.eligibility.active) return Refusal::kActiveFirst;
    if (book_.eligibility.state > candidate.eligibility.state) return Refusal::kOlderState;
  }
  return book_.health.disk && !ledger_.disk_failed() ? Refusal::kNone : Refusal::kDisk;
}

// Changes nothing, not even the time of the last message.
void QuorumVoter::on_pre_vote(Instant now, QuorumPeer& from, const Message& message, const PreVote& ask, Effects& out) {
  if (ask.proposed <= message.term) return;
  from.eligibility = ask.eligibility;
  PreVoteAnswer answer{ask.number, Refusal::kNone, {}};
  if (ask.proposed <= record_.term) {
    answer.refusal = Refusal::kOlderTerm;
  } else {
    answer.refusal =
        refusal(now, {from.id, ask.proposed, ask.members, ask.eligibility, std::nullopt}, answer.again_after);
  }
  ledger_.send(from.id, answer, out);
}

void QuorumVoter::on_vote(Instant now, QuorumPeer& from, const Message& message, const Vote& ask, Effects& out) {
  if (!ledger_.verified) return;
  from.eligibility = ask.eligibility;
  VoteAnswer answer{ask.number, Refusal::kNone, {}};
  const Candidacy candidate{from.id, message.term, ask.members, ask.eligibility, ask.permission};
  answer.refusal = refusal(now, candidate, answer.again_after);
  const bool bound =
      answer.refusal == Refusal::kPromised || answer.refusal == Refusal::kLeading || answer.refusal == Refusal::kQuiet;
  if (bound) BW_PROBE("quorum: a vote is refused under a promise");
  const bool granted = answer.refusal == Refusal::kNone;
  if (granted && ask.permission && now < book_.promised_until) {
    withdraw_promise(now, fmt::format("the leader permits member {} to stand", from.id.value()), out);
  }
  // A refused vote does not depose a healthy leader.
  if (message.term > record_.term && !bound) {
    book_.adopt_term(now, message.term, granted ? from.id : kNobody,
                     fmt::format("member {} stands in a later term", from.id.value()), out);
    ledger_.vote_version = record_.version;
  }
  if (!granted) return ledger_.send(from.id, answer, out);
  if (record_.vote != from.id || (!ledger_.vote_is_durable() && ledger_.disk_failed())) {
    record_.vote = from.id;
    ledger_.vote_version = ledger_.persist(out);
  }
  if (book_.role == Role::kFollower) {
    book_.stand_at = std::max(book_.stand_at, now + config_.timing.vote_timeout + book_.turn());
  }
  ledger_.send_when_durable(ledger_.vote_version, from.id, answer, out);
}

void QuorumVoter::on_heartbeat(Instant now, const QuorumPeer& from, const Message& message, const Heartbeat& beat,
                               Effects& out) {
  // Promises before the start are unknown, so it makes no new one yet.
  if (!ledger_.verified) return;
  HeartbeatAnswer answer{beat.round, message.life, false, record_.members.stamp, book_.eligibility};
  if (message.term < record_.term) return ledger_.send(from.id, answer, out);
  if (message.term <= over_ || beat.lease > kLongestLease) return;
  if (message.term > record_.term) {
    book_.adopt_term(now, message.term, kNobody,
                     fmt::format("member {} is the leader of a later term", from.id.value()), out);
  }
  if (book_.beats_now() || (book_.leader != kNobody && book_.leader != from.id)) {
    out.push_back(Note{true, fmt::format("members {} and {} both claim to be the leader of term {}",
                                         book_.leader.value(), from.id.value(), record_.term.value())});
    return;
  }
  if (book_.is_candidate()) book_.role = Role::kFollower;
  if (beat.lease > record_.longest_lease) {
    record_.longest_lease = beat.lease;
    ledger_.persist(out);
  }
  book_.promised_until = std::max(book_.promised_until, now + config_.timing.promise(beat.lease));
  promised_to_ = from.id;
  promised_term_ = message.term;
  leader_life_ = message.life;
  book_.set_leader(now, from.id, fmt::format("its heartbeat in term {}", message.term.value()), out);
  book_.suspected = false;
  book_.failed_rounds = book_.failed_campaigns = 0;
  book_.wait_for_turn(book_.promised_until);
  answer.promised = true;
  answer.members = record_.members.stamp;
  ledger_.send_when_durable(record_.version, from.id, answer, out);
}

// Of a member that has lost its record: it learns the leader, and answers nothing.
void QuorumVoter::on_word_of_leader(Instant now, const Message& message, Effects& out) {
  if (!std::holds_alternative<Heartbeat>(message.body) || message.term < record_.term) return;
  record_.term = message.term;
  book_.set_leader(now, message.from, fmt::format("its heartbeat in term {}", message.term.value()), out);
  book_.stand_at = now + config_.timing.promise(config_.timing.lease);
}

void QuorumVoter::on_configure(const Message& message, const Configure& told, Effects& out) {
  if (message.from != book_.leader || message.term != record_.term) return;
  if (told.members.stamp <= record_.members.stamp || told.members.stamp.term != record_.term) return;
  if (told.members.voters.empty() || told.members.voters.size() > kMaxMembers ||
      told.members.next.size() > kMaxMembers) {
    return;
  }
  const bool change_done = !told.members.joint() && told.members.voters != record_.members.voters;
  book_.use(told.members);
  ledger_.persist(out);
  if (change_done) out.push_back(MembersChanged{record_.members});
}

// --- the end of a promise before its time ----------------------------------------------------------------------------

void QuorumVoter::withdraw_promise(Instant now, std::string why, Effects& out) {
  over_ = std::max(over_, promised_term_);
  book_.promised_until = std::min(book_.promised_until, now);
  // Another member may lead by now, and the one that holds the promise still sends messages of its old term.
  if (book_.leader != promised_to_) return;
  book_.set_leader(now, kNobody, std::move(why), out);
  if (book_.role == Role::kFollower) book_.wait_for_turn(now);
}

void QuorumVoter::on_resigned(Instant now, const Message& message, Effects& out) {
  if (!is_of_promised(message)) return;
  withdraw_promise(now, fmt::format("member {} has resigned", message.from.value()), out);
}

// Only the life that is over could act on the promise.
void QuorumVoter::on_leader_dead(Instant now, const LeaderDead& dead, Effects& out) {
  if (dead.leader != promised_to_ || dead.life != leader_life_ || now >= book_.promised_until) return;
  BW_PROBE("quorum: a promise to the dead is withdrawn");
  withdraw_promise(now, fmt::format("member {} is proven dead", dead.leader.value()), out);
}

}  // namespace bellwether::quorum
