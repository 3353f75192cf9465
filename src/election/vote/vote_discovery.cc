// Looking for an admin, and what makes an election.
#include <algorithm>

#include "base/probe.h"
#include "base/units.h"
#include "election/vote/vote_elector.h"

namespace bellwether::vote {

using election::EndReason;

void VoteElector::discover(Instant now, std::string why, Effects& out) {
  // An election may have been joined while one was still known from hearsay.
  if (admin_ != kNobody) set_admin(kNobody, admin_term_, why, out);
  admin_until_ = Instant::never();
  become(State::kDiscovering, std::move(why), out);
  elect_at_ = Instant::never();
  ask_around(now, out);
}

void VoteElector::ask_around(Instant now, Effects& out) {
  next_discovery_ = now + config_.timing.discovery - prng_.between(Duration::zero(), config_.timing.discovery / 10);
  quorum_was_lost_ |= !sees_quorum(now);
  if (elect_at_ == Instant::never() && stands()) {
    elect_why_ = Trigger::kDiscoveryFailure;
    const Duration wait = config_.timing.discovery * 2 + prng_.between(Duration::zero(), config_.timing.discovery);
    elect_at_ = now + wait;
  }
  say(kNobody, DiscoveryRequest{}, out);
}

void VoteElector::on_request(NodeId from, Effects& out) {
  if (admin_ == kNobody) return;
  if (office_ == Office::kAdmin) return say(from, Heartbeat{term_, beat_}, out);
  if (admin_ != from) tell(from, out);
}

void VoteElector::tell(NodeId to, Effects& out) {
  const Peer& peer = peers_.at(to);
  // What is passed on from hearsay to hearsay keeps a dead admin alive for ever.
  const NodeId admin = hearsay_ ? kNobody : admin_;
  say(to, DiscoveryResponse{admin, admin_term_, peer.start, peer.mark}, out);
}

void VoteElector::on_response(Instant now, NodeId from, const DiscoveryResponse& response, Effects& out) {
  if (!record_.lost && response.start_seen > record_.start) {
    BW_PROBE("vote: the disk of a node is older than what others have heard of it");
    return follow_only(now,
                       "node " + std::to_string(from.value()) + " has heard of start " +
                           std::to_string(response.start_seen) + ", and this one is start " +
                           std::to_string(record_.start) + ": its disk was set back",
                       out);
  }
  if (!record_.lost && response.start_seen == record_.start && response.mark_seen != mark_ && response.mark_seen != 0) {
    BW_PROBE("vote: a second process under one id");
    silent_ = true;
    note(true, "says nothing more: another process has the same id", out);
    if (in_office()) end_term(now, EndReason::kTaken, "another process has the same id", out);
    return;
  }
  if (response.admin == kNobody || response.admin == config_.self) return;
  if (in_office()) {
    if (response.admin_term > term_) {
      end_term(now, EndReason::kTaken,
               "node " + std::to_string(response.admin.value()) + " is the admin of a later term", out);
    } else if (response.admin_term == term_) {
      split_brain(now, response.admin, out);
    }
    return;
  }
  const bool older = response.admin_term < std::max(record_.promised, admin_term_);
  if (older || response.admin_term <= given_up_ || has_promised(now)) return;
  if (round_ && !round_->over) {
    // Who has voted already has agreed with a majority that there is nobody.
    if (round_->voted || response.admin_term >= round_->term) return;
    end_round(response.admin, response.admin_term, "others know an admin", out);
  }
  if (admin_ == response.admin) return;
  hearsay_ = true;
  set_admin(response.admin, response.admin_term, "node " + std::to_string(from.value()) + " has said so", out);
  // From hearsay alone nobody is believed to live for ever.
  admin_until_ = now + config_.timing.heartbeat_timeout;
  elect_at_ = Instant::never();
  become(State::kIdle, "an admin was found", out);
}

bool VoteElector::sees_quorum(Instant now) const {
  std::size_t heard = 1;
  for (const auto& [node, peer] : peers_) {
    heard += peer.last_heard != Instant() && peer.last_heard + config_.timing.discovery * 2 >= now;
  }
  return heard >= majority_of(config_.members.size());
}

void VoteElector::look_at_quorum(Instant now) {
  if (!quorum_was_lost_ || state_ != State::kDiscovering || !sees_quorum(now)) return;
  quorum_was_lost_ = false;
  // After the first start nobody had a quorum to lose: that is what discovery is for.
  if (!any_election_ && admin_term_ == Term()) return;
  const Instant soon = now + prng_.between(Duration::zero(), config_.timing.gather);
  if (soon >= elect_at_) return;
  elect_at_ = soon;
  elect_why_ = Trigger::kQuorumRestored;
}

Instant VoteElector::window_end(Trigger why) const {
  const bool bypasses = why == Trigger::kHeartbeatTimeout || why == Trigger::kSplitBrain;
  if (!any_election_ || bypasses) return Instant();
  Duration window = config_.timing.election_min_term;
  if (office_ == Office::kAdmin || admin_ != kNobody) window = std::max(window, config_.timing.leader_min_term);
  return last_election_ + window;
}

void VoteElector::call_election(Instant now, const CallElection& wish, Effects& out) {
  if (follows_only()) return out.push_back(Denied{"this node follows only"});
  if (admin_ != kNobody && office_ != Office::kAdmin) {
    return out.push_back(Denied{"node " + std::to_string(admin_.value()) + " is the admin: ask it"});
  }
  if (office_ == Office::kStopping) return out.push_back(Denied{"its own work has not stopped yet"});
  if (stepping_down_) return out.push_back(Denied{"it hands over already: " + stepping_down_->cause});
  const Instant until = window_end(Trigger::kManual);
  if (!wish.forced && now < until) {
    return out.push_back(Denied{"the last election is too young: for " + format_duration(until - now) +
                                " more only a forced one is held"});
  }
  if (office_ == Office::kAdmin) return begin_drain(now, "an election was called", kNobody, out);
  if (in_office() || (round_ && !round_->over)) {
    // After the one that is under way, if that brings nobody.
    called_ = true;
    return note(false, "an election is under way: the one that was called follows if nobody wins it", out);
  }
  if (!may_take_part(now)) return out.push_back(Denied{"a promise to the last admin has not run out yet"});
  start_election(now, Trigger::kManual, std::nullopt, out);
}

void VoteElector::trigger(Instant now, Trigger why, Effects& out) {
  if (!stands()) {
    return;  // it can vote, but not win: who can stand will begin
  }
  if (why == Trigger::kDiscoveryFailure && config_.rule == QuorumRule::kMajority && !sees_quorum(now)) {
    // Nobody could win. Those who are there ask as well, so that they are heard.
    quorum_was_lost_ = true;
    return;
  }
  Instant from = std::max({window_end(why), promised_until_, quiet_until_});
  if (disk_failed_) from = std::max(from, disk_again_);
  if (now < from) {
    elect_at_ = from + prng_.between(Duration::zero(), config_.timing.gather);
    elect_why_ = why;
    return;
  }
  start_election(now, why, std::nullopt, out);
}

// Another node is the admin of the very term of this one: some node has voted twice. Both go.
void VoteElector::split_brain(Instant now, NodeId other, Effects& out) {
  BW_PROBE("vote: two admins in one term");
  end_term(now, EndReason::kTaken, "node " + std::to_string(other.value()) + " is the admin of the same term", out);
  elect_why_ = Trigger::kSplitBrain;
  elect_at_ = now + prng_.between(Duration::zero(), config_.timing.gather);
}

}  // namespace bellwether::vote
