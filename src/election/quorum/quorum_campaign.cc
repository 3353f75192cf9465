#include "election/quorum/quorum_campaign.h"

#include <algorithm>

#include "core/base/probe.h"

namespace bellwether::quorum {

using election::EndReason;

void QuorumLead::begin(Instant now, Effects& out) {
  book_.role = Role::kWinning;
  for (QuorumPeer& peer : book_.peers) peer.acked = false;
  book_.ends = book_.hard_end = Instant();
  stepping_down_.reset();
  drain_until_ = Instant::never();
  beat(now, out);
}

void QuorumLead::tick(Instant now, Effects& out) {
  if (now >= drain_until_) {
    book_.end_term(now, EndReason::kUnhealthy, "the work did not stop in time: " + stepping_down_->cause, out);
  } else if (now >= next_beat_) {
    beat(now, out);
  }
}

Instant QuorumLead::wake() const {
  const Instant wake = hands_over() ? hand_over_->next : Instant::never();
  if (book_.role == Role::kWinning) return std::min(wake, next_beat_);
  return book_.role == Role::kLeader ? std::min({wake, book_.ends, next_beat_, drain_until_}) : wake;
}

void QuorumLead::beat(Instant now, Effects& out) {
  next_beat_ = now + book_.beats.next();
  ++round_;
  sent_[round_ % kRounds] = now;
  book_.send_all(Heartbeat{round_, config_.timing.lease, record_.members.stamp}, out);
  count_promises(now, out);
}

void QuorumLead::on_heartbeat_answer(Instant now, QuorumPeer& from, const Message& message,
                                     const HeartbeatAnswer& answer, Effects& out) {
  if (!book_.beats_now() || message.term != record_.term || answer.leader_life != book_.life || !answer.promised)
    return;
  if (answer.round > round_ || round_ - answer.round >= kRounds) return;
  const Instant sent = sent_[answer.round % kRounds];
  if (!from.acked || sent > from.acked_sent) from.acked_sent = sent;
  from.acked = true;
  from.eligibility = answer.eligibility;
  from.members = answer.members;
  if (answer.members < record_.members.stamp && ledger_.is_durable()) {
    ledger_.send(from.id, Configure{record_.members}, out);
  }
  count_promises(now, out);
  if (book_.role == Role::kLeader) advance_members(now, out);
}

// The latest instant such that a quorum has acknowledged a heartbeat sent then or later; 0: none. This member itself
// votes for no other while it leads.
Instant QuorumLead::quorum_sent(Instant now) const {
  const auto of = [&](bool next) {
    std::array<Instant, kMaxMembers> sent;
    std::size_t count = 0;
    for (const QuorumPeer& peer : book_.peers) {
      if (next ? !peer.next : !peer.voter) continue;
      sent[count++] = book_.is_self(peer) ? now : peer.acked ? peer.acked_sent : Instant();
    }
    if (count == 0) return Instant();
    const auto nth = sent.begin() + static_cast<std::ptrdiff_t>(majority_of(count) - 1);
    std::nth_element(sent.begin(), nth, sent.begin() + static_cast<std::ptrdiff_t>(count), std::greater<>());
    return *nth;
  };
  const Instant sent = of(false);
  return record_.members.joint() ? std::min(sent, of(true)) : sent;
}

void QuorumLead::count_promises(Instant now, Effects& out) {
  const Instant sent = quorum_sent(now);
  if (sent == Instant()) return;
  const Instant hard_end = sent + config_.timing.longest_act();
  const Instant ends = hard_end - config_.timing.stop_grace;
  const bool leads = book_.role == Role::kLeader;
  if (ends <= (leads ? book_.ends : now)) return;
  book_.ends = ends;
  book_.hard_end = hard_end;
  if (leads) return out.push_back(Renewed{ends, now - sent});
  book_.role = Role::kLeader;
  book_.work_runs = true;
  book_.failed_rounds = book_.failed_campaigns = severe_ = 0;
  book_.set_leader(now, config_.self, "a quorum voted for this member and promised to vote for no other", out);
  out.push_back(Elected{election::Epoch(record_.term.value()), now, ends});
  // This leader completes its predecessor's change under its own name, or the change was never in force.
  configure(now, confirm(record_.members, record_.term), out);
}

// --- stepping down ---------------------------------------------------------------------------------------------------

void QuorumLead::on_health(Instant now, const LocalHealth& health, Effects& out) {
  book_.health = health;
  book_.eligibility.health = health.score;
  book_.eligibility.electable = book_.electable();
  severe_ = health.load >= Load::kSevere ? severe_ + 1 : 0;
  if (book_.role == Role::kLeader) consider_stepping_down(now, out);
}

void QuorumLead::consider_stepping_down(Instant now, Effects& out) {
  if (stepping_down_) return;
  const bool disk = !book_.health.disk || ledger_.disk_failed();
  const bool critical = book_.health.load == Load::kCritical;
  const QuorumPeer* better = heir(now, true);
  if (disk || critical) {
    // It steps down only if another member is in no worse state.
    const QuorumPeer* other = heir(now, false);
    if (other == nullptr) return;
    return step_down(now, {disk ? "its disk does not answer" : "it is overloaded (critical)", other->id, false, true},
                     out);
  }
  if (better == nullptr || book_.damping.cooling_down(now)) return;
  if (book_.health.score >= config_.fit_below) {
    step_down(now, {fmt::format("its health score is {}", book_.health.score), better->id, false, false}, out);
  } else if (severe_ >= config_.severe_checks) {
    step_down(now, {fmt::format("it was overloaded at {} checks", severe_), better->id, false, false}, out);
  }
}

void QuorumLead::step_down(Instant now, const StepDown& wish, Effects& out) {
  if (wish.leaving) {
    book_.leaving = true;
    book_.eligibility.electable = false;
  }
  if (book_.role != Role::kLeader) {
    if (wish.leaving && !hands_over()) {
      if (book_.is_candidate() || book_.role == Role::kWinning) book_.role = Role::kFollower;
      out.push_back(Left{});
    }
    return;
  }
  if (!wish.forced && book_.damping.cooling_down(now)) {
    return out.push_back(
        Note{false, fmt::format("stays the leader: the leader has changed too often recently ({})", wish.cause)});
  }
  const bool known = stepping_down_.has_value();
  stepping_down_ = wish;
  if (known) return;
  drain_until_ = now + config_.drain_limit;
  out.push_back(Drain{wish.cause, true});
}

// The fittest possible successor with a recent message.
const QuorumPeer* QuorumLead::heir(Instant now, bool must_be_better) const {
  const QuorumPeer* best = nullptr;
  const auto rank = [](const QuorumPeer& peer) {
    return std::pair(peer.eligibility.health, peer.eligibility.priority);
  };
  for (const QuorumPeer& peer : book_.peers) {
    if (book_.is_self(peer) || !(record_.members.joint() ? peer.next : peer.voter)) continue;
    if (!peer.acked || peer.acked_sent + config_.timing.lease < now || !peer.eligibility.electable) continue;
    if (peer.eligibility.health >= config_.fit_below || (book_.eligibility.active && !peer.eligibility.active))
      continue;
    // With hysteresis, so that two equal members do not swap the leadership.
    if (must_be_better && peer.eligibility.health + 2 > book_.eligibility.health) continue;
    if (best == nullptr || rank(peer) < rank(*best)) best = &peer;
  }
  return best;
}

void QuorumLead::work_stopped(Instant now, Effects& out) {
  if (!book_.work_runs) return;
  book_.work_runs = false;
  if (book_.role == Role::kLeader) {
    if (!stepping_down_) {
      out.push_back(Note{true, "the work stopped by itself, so this member gives up the leadership"});
      stepping_down_ = StepDown{"its work has stopped", kNobody, false, true};
    }
    return hand_over(now, out);
  }
  if (book_.role == Role::kStopping) book_.role = Role::kFollower;
}

// Its work has stopped: the others may know.
void QuorumLead::hand_over(Instant now, Effects& out) {
  MemberId to = stepping_down_->heir;
  const QuorumPeer* named = book_.find(to);
  if (to == config_.self || named == nullptr || !named->acked) {
    const QuorumPeer* fittest = heir(now, false);
    to = fittest == nullptr ? kNobody : fittest->id;
  }
  const std::string cause = stepping_down_->cause;
  voter_.close(record_.term);
  book_.end_term(now, EndReason::kResigned, cause, out);
  if (to == kNobody) return resign(out);
  BW_PROBE("quorum: a leader hands over");
  hand_over_ = HandOver{record_.term, to, now + config_.timing.lease, now + book_.beats.next()};
  ledger_.send(to, StandNow{}, out);
}

void QuorumLead::go_on_handing_over(Instant now, Effects& out) {
  if (!hands_over() || now < hand_over_->next) return;
  if (now < hand_over_->until) {
    hand_over_->next = now + book_.beats.next();
    ledger_.send(hand_over_->heir, StandNow{}, out);
    return;
  }
  out.push_back(Note{false, fmt::format("member {} has not taken over: any member may", hand_over_->heir.value())});
  hand_over_.reset();
  resign(out);
}

void QuorumLead::resign(Effects& out) {
  book_.send_all(Resigned{}, out);
  if (book_.leaving) out.push_back(Left{});
}

// --- changes of the members ------------------------------------------------------------------------------------------

void QuorumLead::on_change(Instant now, const ChangeMembers& wish, Effects& out) {
  const auto refuse = [&](std::string why) { out.push_back(ChangeRefused{std::move(why)}); };
  if (book_.role != Role::kLeader) return refuse("this member is not the leader: send the request to the leader");
  if (record_.members.stamp.term != record_.term || !quorum_has_members()) {
    return refuse("the present members are not confirmed yet: try again shortly");
  }
  auto members = begin_change(record_.members, wish.change, record_.term);
  if (!members) return refuse(members.error().message);
  BW_PROBE("quorum: members change");
  configure(now, std::move(*members), out);
}

void QuorumLead::configure(Instant now, Configuration members, Effects& out) {
  const bool change_done = record_.members.joint() && !members.joint();
  book_.use(std::move(members));
  ledger_.persist(out);
  book_.find(config_.self)->members = record_.members.stamp;
  if (change_done) out.push_back(MembersChanged{record_.members});
  advance_members(now, out);
}

bool QuorumLead::quorum_has_members() const {
  return book_.quorum_of([this](const QuorumPeer& peer) {
    return peer.members == record_.members.stamp && (!book_.is_self(peer) || ledger_.is_durable());
  });
}

// A change is done once majorities of both have it on their disks; a removed leader stops leading after that.
void QuorumLead::advance_members(Instant now, Effects& out) {
  if (book_.role != Role::kLeader || !quorum_has_members()) return;
  if (record_.members.joint()) return configure(now, end_change(record_.members, record_.term), out);
  if (record_.members.has(config_.self) || stepping_down_) return;
  step_down(now, {"it is no longer a member", kNobody, false, true}, out);
}

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
        const bool silence = std::ranges::none_of(book_.peers, [](const QuorumPeer& peer) { return peer.refused; });
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
  const bool all = std::ranges::all_of(
      book_.peers, [](const QuorumPeer& peer) { return !peer.votes() || peer.granted || peer.refused; });
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
