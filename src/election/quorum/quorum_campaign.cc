#include "election/quorum/quorum_campaign.h"

#include <algorithm>

#include "core/base/probe.h"

namespace bellwether::quorum {

void QuorumCampaign::tick(Instant now, Effects& out) {
  switch (book_.role) {
    case Role::kFollower:
      if (now >= book_.stand_at) stand(now, out);
      break;
    case Role::kPreCandidate:
      if (now < round_ends_) break;
      // A syncing member has waited for all answers.
      if (!book_.eligibility.active && quorum_granted() && again_after_ == Duration::zero() && !cannot_win()) {
        campaign(now, std::nullopt, out);
      } else {
        round_failed(now, "too few members answered the pre-vote", out);
      }
      break;
    case Role::kCandidate:
      if (now >= round_ends_) {
        // Silence may be slow disks; a member that has refused would not have voted with more time either.
        const bool silence =
            std::none_of(book_.peers.begin(), book_.peers.end(), [](const QuorumPeer& peer) { return peer.refused; });
        if (silence && ledger_.vote_is_durable()) ++book_.failed_campaigns;
        round_failed(now, "too few members voted in time", out);
      } else if (now >= repeat_at_) {
        request_votes(now, out);
      }
      break;
    case Role::kWinning:
      if (now >= round_ends_) round_failed(now, "no quorum promised in time", out);
      break;
    default: break;
  }
}

Instant QuorumCampaign::wake() const {
  switch (book_.role) {
    case Role::kFollower: return book_.stand_at;
    case Role::kPreCandidate:
    case Role::kWinning: return round_ends_;
    case Role::kCandidate: return std::min(round_ends_, repeat_at_);
    default: return Instant::never();
  }
}

bool QuorumCampaign::may_stand() const {
  return book_.electable() && ledger_.verified && !book_.work_runs && !ledger_.disk_failed() &&
         !record_.members.voters.empty();
}

void QuorumCampaign::stand(Instant now, Effects& out) {
  book_.set_leader(now, kNobody, "its promise expired without a heartbeat", out);
  if (!may_stand()) {
    book_.stand_at = now + config_.timing.lease;
    return;
  }
  if (!book_.fit() && book_.failed_rounds < config_.patience) {
    ++book_.failed_rounds;
    book_.stand_at = now + config_.timing.lease / 2 + book_.turn();
    return;
  }
  Duration again_after;
  const QuorumVoter::Candidacy own{config_.self, Term(record_.term.value() + 1), record_.members.stamp,
                                   book_.eligibility, std::nullopt};
  if (voter_.refusal(now, own, again_after) != Refusal::kNone) {
    book_.stand_at = now + std::max(again_after, config_.timing.step) + book_.turn();
    return;
  }
  book_.role = Role::kPreCandidate;
  ++number_;
  again_after_ = Duration::zero();
  for (QuorumPeer& peer : book_.peers) {
    peer.granted = book_.is_self(peer);
    peer.refused = false;
  }
  round_ends_ = now + config_.timing.pre_vote_timeout;
  book_.send_all(PreVote{number_, own.term, record_.members.stamp, book_.eligibility}, out);
  if (quorum_granted()) campaign(now, std::nullopt, out);
}

void QuorumCampaign::on_pre_vote_answer(Instant now, QuorumPeer& from, const PreVoteAnswer& answer, Effects& out) {
  if (book_.role != Role::kPreCandidate || answer.number != number_) return;
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
  // A syncing member waits for all answers: another member may have the state of the group, or a leader.
  const bool all = std::all_of(book_.peers.begin(), book_.peers.end(),
                               [](const QuorumPeer& peer) { return !peer.votes() || peer.granted || peer.refused; });
  if (book_.eligibility.active || all) campaign(now, std::nullopt, out);
}

void QuorumCampaign::campaign(Instant now, std::optional<Permission> permission, Effects& out) {
  book_.role = Role::kCandidate;
  ++number_;
  permission_ = permission;
  record_.term = Term(record_.term.value() + 1);
  record_.vote = config_.self;
  ledger_.vote_version = ledger_.persist(out);
  campaign_began_ = now;
  round_ends_ = now + kLongestCampaign;
  repeat_at_ = Instant::never();
  again_after_ = Duration::zero();
  for (QuorumPeer& peer : book_.peers) peer.granted = peer.refused = false;
}

void QuorumCampaign::on_persisted(Instant now, bool ok, Effects& out) {
  if (book_.role != Role::kCandidate) return;
  if (!ok) {
    if (!ledger_.vote_is_durable()) round_failed(now, "its own vote is not durable", out);
    return;
  }
  QuorumPeer* self = book_.find(config_.self);
  if (!ledger_.vote_is_durable() || self == nullptr || self->granted) return;
  self->granted = true;
  round_ends_ = std::min(campaign_began_ + kLongestCampaign,
                         now + config_.timing.vote_timeout * (int64_t{1} << std::min(book_.failed_campaigns, 8)));
  request_votes(now, out);
}

// To all members that have not granted theirs; the own vote is durable by now. It asks refusers again, because most
// reasons pass: a disk that fails for a moment, a promise, the quiet time after a start.
void QuorumCampaign::request_votes(Instant now, Effects& out) {
  repeat_at_ = now + book_.beats.next();
  for (const QuorumPeer& peer : book_.peers) {
    if (book_.is_self(peer) || !peer.votes() || peer.granted) continue;
    ledger_.send(peer.id, Vote{number_, record_.members.stamp, book_.eligibility, permission_}, out);
  }
  if (quorum_granted()) won(now, out);
}

void QuorumCampaign::on_vote_answer(Instant now, QuorumPeer& from, const Message& message, const VoteAnswer& answer,
                                    Effects& out) {
  if (book_.role != Role::kCandidate || answer.number != number_ || message.term != record_.term) return;
  from.granted = answer.refusal == Refusal::kNone;
  from.refused = !from.granted;
  again_after_ = std::max(again_after_, answer.again_after);
  if (quorum_granted()) return won(now, out);
  if (cannot_win()) return round_failed(now, to_string(answer.refusal), out);
  // Another member stands in the same term. Only a silent one could decide between them, and it may be gone.
  if (answer.refusal == Refusal::kVoted) round_ends_ = std::min(round_ends_, now + config_.timing.vote_timeout);
}

// The leader acts no more, and wants this member to follow it: no promise prevents that, and no pre-vote is needed.
void QuorumCampaign::on_stand_now(Instant now, const Message& message, Effects& out) {
  if (message.term != record_.term || !voter_.is_of_promised(message)) return;
  if (book_.role != Role::kFollower || !may_stand() || now < book_.quiet_until) return;
  BW_PROBE("quorum: a member stands by permission");
  voter_.withdraw_promise(now, fmt::format("member {} hands over to this member", message.from.value()), out);
  campaign(now, Permission{message.from, message.term}, out);
}

void QuorumCampaign::round_failed(Instant now, const char* why, Effects& out) {
  out.push_back(Note{false, std::string("does not win: ") + why});
  book_.role = Role::kFollower;
  ++book_.failed_rounds;
  const auto members = static_cast<int64_t>(book_.members_or_one());
  const Duration spread = book_.prng.between(Duration::zero(), config_.timing.step * members);
  book_.stand_at = now + std::min(again_after_, config_.timing.promise(config_.timing.lease)) + book_.turn() + spread;
}

void QuorumCampaign::won(Instant now, Effects& out) {
  round_ends_ =
      std::min(campaign_began_ + kLongestCampaign, now + std::max(config_.timing.vote_timeout, config_.timing.lease));
  lead_.begin(now, out);
}

}  // namespace bellwether::quorum
