// Standing for election.
#include <algorithm>

#include "base/probe.h"
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
  withdraw_promise(now, "member " + std::to_string(from.id.value()) + " hands over to this one", out);
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

}  // namespace bellwether::quorum
