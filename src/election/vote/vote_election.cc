// Elections.

#include <algorithm>

#include "core/base/check.h"
#include "core/base/probe.h"
#include "core/base/units.h"
#include "election/vote/vote_elector.h"

namespace bellwether::vote {

bool VoteElector::may_take_part(Instant now) const {
  return !follows_only() && !disk_failed_ && office_ == Office::kNone && now >= promised_until_ && now >= quiet_until_;
}

Term VoteElector::next_term() const { return Term(std::max({last_term(), admin_term_, highest_}).value() + 1); }

// The word that has begun the election was lost: what others say in it does as well.
void VoteElector::join_if_newer(Instant now, Term term, Effects& out) {
  if ((round_ && round_->term >= term) || term <= last_term() || !may_take_part(now)) return;
  join(now, term, Trigger::kDiscoveryFailure, kNobody, out);
}

void VoteElector::start_election(Instant now, Trigger why, std::optional<Permission> permission, Effects& out) {
  const Term term = next_term();
  const NodeId heir = permission ? permission->heir : kNobody;
  say(kNobody, ElectionStarted{term, why, permission}, out);
  join(now, term, why, heir, out);
}

void VoteElector::on_started(Instant now, NodeId from, const ElectionStarted& started, Effects& out) {
  // Only who had the office may say who follows.
  const std::optional<Permission>& permission = started.permission;
  const bool permitted = permission && permission->term == admin_term_ && from == last_admin_;
  const bool was_followed = permitted && admin_ == from;
  if (permitted) given_up_ = permission->term;
  if (was_followed) {
    // Its work has stopped: what was promised to it binds nobody any more.
    if (from == promised_to_) promised_until_ = std::min(promised_until_, now);
    out.push_back(Conduct{from, Deed::kServed});
    set_admin(kNobody, admin_term_, fmt::format("node {} has given up the office", from.value()), out);
  }
  if (office_ == Office::kAdmin) return say(from, Heartbeat{term_, beat_}, out);
  if (!may_take_part(now) || started.term <= last_term()) {
    BW_PROBE("vote: an election that this node takes no part in");
    tell(from, out);
    if (was_followed) discover(now, "the admin has given up the office", out);
    return;
  }
  join(now, started.term, started.trigger, permitted ? permission->heir : kNobody, out);
}

void VoteElector::join(Instant now, Term term, Trigger why, NodeId heir, Effects& out) {
  if (round_ && !round_->over) {
    if (round_->term >= term) return;
    end_round(kNobody, round_->term, "an election of a later term has begun", out);
  }
  highest_ = std::max(highest_, term);
  elect_at_ = next_discovery_ = Instant::never();
  const VoteTiming& timing = config_.timing;
  round_ = Round{term,
                 why,
                 Ballot(config_.rule, config_.members.size()),
                 heir,
                 why == Trigger::kHeartbeatTimeout ? promised_to_ : kNobody,
                 heir == kNobody ? now + timing.gather : now,
                 now + (heir == kNobody ? timing.election : timing.transfer),
                 now + timing.gather};
  become(State::kElecting, std::string(to_string(why)), out);
  // Who has just given up the office for an heir does not stand beside it.
  const bool candidate = stands() && (heir == config_.self || (heir == kNobody && !steps_back_));
  // Others compare what it says now with what it said then: both must be as old as they say.
  const Duration since = now - measured_at_;
  if (candidate) {
    Claim aged = claim_;
    aged.uptime += since;
    aged.experience += since;
    measure(now, std::move(aged));
  }
  claim_.score = score_of(claim_, config_.weights);
  round_->ballot.announce(config_.self, candidate ? std::optional(Ballot::Candidate{claim_, {}}) : std::nullopt);
  say(kNobody, Candidacy{term, candidate, candidate ? claim_ : Claim{}}, out);
  try_vote(now, out);
}

void VoteElector::on_candidacy(Instant now, NodeId from, Peer& peer, const Candidacy& candidacy, Effects& out) {
  join_if_newer(now, candidacy.term, out);
  if (!round_ || round_->over || round_->term != candidacy.term) return;
  if (round_->ballot.has_announced(from)) {
    // It says so again because it has heard nothing of this node.
    if (!round_->ballot.has_voted(from)) round_->unheard_by.insert(from);
    return;
  }
  std::optional<Ballot::Candidate> candidate;
  if (candidacy.stands) {
    candidate = Ballot::Candidate{candidacy.claim, {}};
    candidate->penalty = penalty_of(peer);
    const bool is_there = peer.known.absent.empty();
    std::optional<std::string> doubt;
    if (!is_there) {
      doubt = peer.known.absent;
    } else if (!may_stand(candidacy.claim.capabilities)) {
      doubt = "it has no capability with which a node may stand";
    } else {
      doubt = doubt_about(candidacy.claim, peer.known, config_.weights, config_.timing.drift, now);
    }
    if (doubt) {
      BW_PROBE("vote: a candidate that is not believed");
      candidate->doubt = *doubt;
      if (is_there) {
        // A message that was on its way for long, or was read late, makes everything that is said after it look like a
        // lie. So a doubt wears off, the faster the longer it lasts; who lies much stays without a vote for many
        // elections.
        peer.known.forgiven = std::min(peer.known.forgiven * 2 + config_.timing.heartbeat_timeout, kLongestExperience);
        out.push_back(Conduct{from, Deed::kWrongClaim});
      }
      note(true, fmt::format("does not vote for node {}: {}", from.value(), *doubt), out);
    } else {
      KnownOfNode& known = peer.known;
      // Of two that agree within the slack the later one may have been read late.
      if (!known.experience || candidacy.claim.experience >= *known.experience + (now - known.experience_at)) {
        known.experience = candidacy.claim.experience;
        known.experience_at = now;
      }
    }
  }
  round_->ballot.announce(from, std::move(candidate));
  try_vote(now, out);
  decide(now, false, out);
}

void VoteElector::try_vote(Instant now, Effects& out) {
  Round& round = *round_;
  if (round.over || round.voted) return;
  if (now >= round.vote_at) {
    round.gathered = true;
    round.vote_at = now + config_.timing.gather;  // to look again
  }
  const Ballot& ballot = round.ballot;
  const std::size_t members = config_.members.size();
  if (disk_failed_ || round.term <= last_term()) return;
  // A term is used up only when a majority is without an admin.
  if (config_.rule == QuorumRule::kMajority && ballot.announced() < majority_of(members)) return;
  const bool all_but_one = ballot.announced() + 1 == members && round.silent != kNobody &&
                           round.silent != config_.self && !ballot.has_announced(round.silent);
  if (ballot.announced() < members && !all_but_one && !round.gathered) return;
  NodeId choice = ballot.best();
  if (round.heir != kNobody) {
    const auto at = ballot.announcements().find(round.heir);
    const bool good = at != ballot.announcements().end() && at->second && at->second->doubt.empty();
    choice = good ? round.heir : kNobody;
  }
  if (choice == kNobody) {
    // All who could have stood have stepped back, or the others have voted for one that is not believed here.
    const bool decided = !ballot.anybody_stands() || ballot.all_have_voted(config_.self);
    if (round.heir == kNobody && decided) close_soon(now);
    return;
  }
  round.voted = true;
  record_.term = round.term;
  record_.vote = choice;
  vote_version_ = persist(out);
}

void VoteElector::on_vote(Instant now, NodeId from, const Vote& vote, Effects& out) {
  join_if_newer(now, vote.term, out);
  if (!round_ || round_->term != vote.term) return;
  if (vote.candidate != config_.self && !peers_.contains(vote.candidate)) return;
  if (round_->ballot.vote(from, vote.candidate) == Ballot::Heard::kSecond) {
    BW_PROBE("vote: a node that votes twice");
    note(true,
         fmt::format("node {} has voted twice in term {}: its vote counts for nobody", from.value(), vote.term.value()),
         out);
  }
  if (!round_->over) decide(now, false, out);
}

void VoteElector::decide(Instant now, bool closed, Effects& out) {
  if (!round_ || round_->over) return;
  const Ballot::Outcome outcome = round_->ballot.outcome(closed);
  using Kind = Ballot::Outcome::Kind;
  if (outcome.kind == Kind::kNobody) {
    return fail_round(now, closed ? "no candidate had enough votes in time" : "no candidate can get enough votes", out);
  }
  if (outcome.kind == Kind::kOpen) {
    if (closed) return fail_round(now, "no candidate had enough votes in time", out);
    // The votes are split among those who take part. Who has not said anything may come late, if at all.
    if (round_->ballot.all_have_voted()) {
      BW_PROBE("vote: all who take part have voted, and nobody has won");
      close_soon(now);
    }
    return;
  }
  if (outcome.winner == config_.self) return win(now, out);
  if (state_ == State::kComplete) {
    if (closed) fail_round(now, "the winner has said nothing", out);
    return;
  }
  become(State::kComplete, fmt::format("node {} has the votes", outcome.winner.value()), out);
  // It is waited for as an admin is.
  const Instant until = now + config_.timing.heartbeat();
  round_->closes = closed ? until : std::min(round_->closes, until);
}

// Nobody of those who take part can decide the election any more. With other rules it is decided by who is late, too.
void VoteElector::close_soon(Instant now) {
  if (config_.rule != QuorumRule::kMajority) return;
  round_->closes = std::min(round_->closes, now + config_.timing.gather * 2);
}

// To those of whom nothing was heard: they may have heard nothing either.
void VoteElector::repeat(Instant now, Effects& out) {
  Round& round = *round_;
  round.repeat_at = now + config_.timing.gather;
  const bool voted = record_.term == round.term && round.voted && vote_version_ == 0;
  const auto& own = round.ballot.announcements().find(config_.self)->second;
  for (const auto& [node, peer] : peers_) {
    if (!round.ballot.has_announced(node) || round.unheard_by.contains(node)) {
      say(node, Candidacy{round.term, own.has_value(), own ? own->claim : Claim{}}, out);
    }
    if (voted && !round.ballot.has_voted(node)) say(node, Vote{record_.term, record_.vote}, out);
  }
  round.unheard_by.clear();
}

void VoteElector::win(Instant now, Effects& out) {
  check(office_ == Office::kNone, "who holds an office takes part in no election");
  if (round_->term < record_.term || round_->term <= record_.promised) {
    return fail_round(now, "a later term has begun", out);
  }
  office_ = Office::kWinning;
  term_ = round_->term;
  round_->over = true;
  record_.term = term_;
  record_.promised = term_;
  record_.promised_mark = mark_;
  record_.longest_promise = std::max(record_.longest_promise, config_.timing.promise());
  win_version_ = persist(out);
  beat_ = 0;
  sent_.fill(Instant());
  for (auto& [node, peer] : peers_) {
    peer.acked = false, peer.better = 0, peer.acked_round = 0;
    peer.promised_until = Instant();
  }
  next_beat_ = repeat_beat_ = Instant::never();
  winning_until_ = now + config_.timing.election;
  become(State::kComplete, fmt::format("has the votes of {}", round_->ballot.votes_for(config_.self)), out);
}

void VoteElector::fail_round(Instant now, std::string why, Effects& out) {
  BW_PROBE("vote: an election that nobody wins");
  const Term term = round_->term;
  const auto is_rival = [this](const auto& one) {
    return one.first != config_.self && one.second && round_->ballot.votes_for(one.first) > 0;
  };
  const auto& announced = round_->ballot.announcements();
  // The votes were split. Voters who believe different candidates would split them for ever.
  steps_back_ = std::any_of(announced.begin(), announced.end(), is_rival) && prng_.chance(0.5);
  end_round(kNobody, term, why, out);
  discover(now, std::move(why), out);
  const Duration backoff = config_.timing.discovery_backoff;
  elect_at_ = now + backoff + prng_.between(Duration::zero(), backoff);
  if (called_) elect_why_ = Trigger::kManual;
  called_ = false;
}

void VoteElector::end_round(NodeId winner, Term term, std::string why, Effects& out) {
  round_->over = true;
  vote_version_ = 0;
  if (winner != kNobody) {
    called_ = steps_back_ = false;
  }
  out.push_back(ElectionComplete{winner, term, std::move(why)});
}

// Looking for an admin, and what makes an election.

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
                       fmt::format("node {} has heard of start {}, and this one is start {}: its disk was set back",
                                   from.value(), response.start_seen, record_.start),
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
      end_term(now, EndReason::kTaken, fmt::format("node {} is the admin of a later term", response.admin.value()),
               out);
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
  set_admin(response.admin, response.admin_term, fmt::format("node {} has said so", from.value()), out);
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
    return out.push_back(Denied{fmt::format("node {} is the admin: ask it", admin_.value())});
  }
  if (office_ == Office::kStopping) return out.push_back(Denied{"its own work has not stopped yet"});
  if (stepping_down_) return out.push_back(Denied{"it hands over already: " + stepping_down_->cause});
  const Instant until = window_end(Trigger::kManual);
  if (!wish.forced && now < until) {
    return out.push_back(Denied{fmt::format("the last election is too young: for {} more only a forced one is held",
                                            format_duration(until - now))});
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
  end_term(now, EndReason::kTaken, fmt::format("node {} is the admin of the same term", other.value()), out);
  elect_why_ = Trigger::kSplitBrain;
  elect_at_ = now + prng_.between(Duration::zero(), config_.timing.gather);
}

}  // namespace bellwether::vote
