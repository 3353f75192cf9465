#include "election/vote/vote_search.h"

#include <algorithm>

namespace bellwether::vote {

std::optional<Trigger> VoteSearch::tick(Instant now, Effects& out) {
  if (book_.admin != kNobody && now >= book_.admin_until) {
    lose_admin(now, out);
  } else if (now >= elect_at_) {
    elect_at_ = Instant::never();
    if (may_begin(now, elect_why_)) return elect_why_;
  } else if (book_.admin == kNobody && now >= next_discovery_) {
    ask_around(now, out);
  }
  return std::nullopt;
}

void VoteSearch::lose_admin(Instant now, Effects& out) {
  if (!book_.hearsay) out.push_back(Conduct{book_.admin, Deed::kLostHeartbeats});
  const std::string why = fmt::format("node {} was silent for the heartbeat timeout", book_.admin.value());
  book_.set_admin(kNobody, book_.admin_term, why, out);
  book_.admin_until = Instant::never();
  elect(book_.stands() ? now + book_.prng.between(Duration::zero(), config_.timing.gather) : Instant::never(),
        Trigger::kHeartbeatTimeout);
  book_.become(State::kDiscovering, why, out);
  next_discovery_ = now + config_.timing.discovery;
}

Instant VoteSearch::wake() const {
  return std::min(elect_at_, book_.admin != kNobody ? book_.admin_until : next_discovery_);
}

void VoteSearch::discover(Instant now, std::string why, Effects& out) {
  // An election may have been joined while one was still known from hearsay.
  if (book_.admin != kNobody) book_.set_admin(kNobody, book_.admin_term, why, out);
  book_.admin_until = Instant::never();
  book_.become(State::kDiscovering, std::move(why), out);
  elect_at_ = Instant::never();
  ask_around(now, out);
}

void VoteSearch::ask_around(Instant now, Effects& out) {
  next_discovery_ =
      now + config_.timing.discovery - book_.prng.between(Duration::zero(), config_.timing.discovery / 10);
  quorum_was_lost_ |= !sees_quorum(now);
  if (elect_at_ == Instant::never() && book_.stands()) {
    const Duration wait = config_.timing.discovery * 2 + book_.prng.between(Duration::zero(), config_.timing.discovery);
    elect(now + wait, Trigger::kDiscoveryFailure);
  }
  ledger_.say(kNobody, DiscoveryRequest{}, out);
}

void VoteSearch::tell(NodeId to, Effects& out) {
  const VotePeer& peer = book_.peers.at(to);
  // Hearsay passed on from node to node would keep a dead admin alive for ever.
  const NodeId admin = book_.hearsay ? kNobody : book_.admin;
  ledger_.say(to, DiscoveryResponse{admin, book_.admin_term, peer.start, peer.mark}, out);
}

bool VoteSearch::sees_quorum(Instant now) const {
  std::size_t heard = 1;
  for (const auto& [node, peer] : book_.peers) {
    heard += peer.last_heard != Instant() && peer.last_heard + config_.timing.discovery * 2 >= now;
  }
  return heard >= majority_of(config_.members.size());
}

void VoteSearch::look_at_quorum(Instant now) {
  if (!quorum_was_lost_ || book_.state != State::kDiscovering || !sees_quorum(now)) return;
  quorum_was_lost_ = false;
  // After the first start no node had a quorum to lose: discovery covers that case.
  if (!any_election_ && book_.admin_term == Term()) return;
  const Instant soon = now + book_.prng.between(Duration::zero(), config_.timing.gather);
  if (soon < elect_at_) elect(soon, Trigger::kQuorumRestored);
}

Instant VoteSearch::window_end(Trigger why) const {
  const bool bypasses = why == Trigger::kHeartbeatTimeout || why == Trigger::kSplitBrain;
  if (!any_election_ || bypasses) return Instant();
  Duration window = config_.timing.election_min_term;
  if (book_.office == Office::kAdmin || book_.admin != kNobody)
    window = std::max(window, config_.timing.leader_min_term);
  return last_election_ + window;
}

// A node that can vote, but not win, leaves the start to others.
bool VoteSearch::may_begin(Instant now, Trigger why) {
  if (!book_.stands()) return false;
  if (why == Trigger::kDiscoveryFailure && config_.rule == QuorumRule::kMajority && !sees_quorum(now)) {
    // No candidate could win. The reachable nodes send requests too, and so become known.
    quorum_was_lost_ = true;
    return false;
  }
  Instant from = std::max({window_end(why), book_.promised_until, book_.quiet_until});
  if (ledger_.disk_failed()) from = std::max(from, ledger_.wake());
  if (now < from) elect(from + book_.prng.between(Duration::zero(), config_.timing.gather), why);
  return now >= from;
}

}  // namespace bellwether::vote
