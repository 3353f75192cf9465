#include "election/vote/vote_election.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/probe.h"

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

bool VoteElection::tick(Instant now, Effects& out) {
  if (now >= round_->closes) return decide(now, true, out);
  if (now >= round_->vote_at) try_vote(now, out);
  if (now >= round_->repeat_at) repeat(now, out);
  return false;
}

Instant VoteElection::wake() const {
  const Instant wake = std::min(round_->closes, round_->repeat_at);
  return round_->voted ? wake : std::min(wake, round_->vote_at);
}

bool VoteElection::on_persisted(Instant now, Effects& out) {
  if (!round_ || round_->vote_version == 0 || !ledger_.is_durable(round_->vote_version)) return false;
  round_->vote_version = 0;
  if (round_->over || round_->term != record_.term || book_.in_office()) return false;
  round_->ballot.vote(config_.self, record_.vote);
  ledger_.say(kNobody, Vote{record_.term, record_.vote}, out);
  return decide(now, false, out);
}

Term VoteElection::next_term() const {
  return Term(std::max({ledger_.last_term(), book_.admin_term, book_.highest}).value() + 1);
}

// The message that began the election was lost: any other message of it serves as well.
void VoteElection::join_if_newer(Instant now, Term term, Effects& out) {
  if ((round_ && round_->term >= term) || term <= ledger_.last_term() || !book_.may_take_part(now)) return;
  join(now, term, Trigger::kDiscoveryFailure, kNobody, out);
}

void VoteElection::start(Instant now, Trigger why, std::optional<Permission> permission, Effects& out) {
  const Term term = next_term();
  const NodeId heir = permission ? permission->heir : kNobody;
  ledger_.say(kNobody, ElectionStarted{term, why, permission}, out);
  join(now, term, why, heir, out);
}

void VoteElection::join(Instant now, Term term, Trigger why, NodeId heir, Effects& out) {
  if (under_way()) {
    if (round_->term >= term) return;
    end_round("an election of a later term has begun", out);
  }
  book_.highest = std::max(book_.highest, term);
  search_.rest();
  const VoteTiming& timing = config_.timing;
  round_ = VoteRound{term,
                     why,
                     Ballot(config_.rule, config_.members.size()),
                     heir,
                     why == Trigger::kHeartbeatTimeout ? book_.promised_to : kNobody,
                     heir == kNobody ? now + timing.gather : now,
                     now + (heir == kNobody ? timing.election : timing.transfer),
                     now + timing.gather};
  book_.become(State::kElecting, std::string(to_string(why)), out);
  // A node that has just given up the office for an heir does not stand beside it.
  const bool candidate = book_.stands() && (heir == config_.self || (heir == kNobody && !steps_back_));
  // Others compare this claim with the earlier one: the ages of both must be right.
  const Duration since = now - book_.measured_at;
  if (candidate) {
    Claim aged = book_.claim;
    aged.uptime += since;
    aged.experience += since;
    book_.measure(now, std::move(aged));
  }
  book_.claim.score = score_of(book_.claim, config_.weights);
  round_->ballot.announce(config_.self, candidate ? std::optional(Ballot::Candidate{book_.claim, {}}) : std::nullopt);
  ledger_.say(kNobody, Candidacy{term, candidate, candidate ? book_.claim : Claim{}}, out);
  try_vote(now, out);
}

bool VoteElection::on_candidacy(Instant now, NodeId from, VotePeer& peer, const Candidacy& candidacy, Effects& out) {
  join_if_newer(now, candidacy.term, out);
  if (!round_ || round_->over || round_->term != candidacy.term) return false;
  if (round_->ballot.has_announced(from)) {
    // It repeats itself because it has received nothing from this node.
    if (!round_->ballot.has_voted(from)) round_->unheard_by.insert(from);
    return false;
  }
  std::optional<Ballot::Candidate> candidate;
  if (candidacy.stands) {
    candidate = Ballot::Candidate{candidacy.claim, {}};
    candidate->penalty = book_.penalty_of(peer);
    std::optional<Doubt> doubt;
    if (!peer.known.absent.empty()) {
      doubt = Doubt{.why = peer.known.absent, .proven = false};
    } else if (!may_stand(candidacy.claim.capabilities)) {
      doubt = Doubt{"it has no capability that permits a candidacy"};
    } else {
      doubt = doubt_about(candidacy.claim, peer.known, config_.weights, config_.timing.drift, now);
    }
    if (doubt) {
      BW_PROBE("vote: a candidate that is not believed");
      candidate->doubt = doubt->why;
      if (doubt->proven) {
        // A message that was long on its way, or read late, makes all later claims look like lies. So a doubt wears
        // off, faster with its age; a node that lies much stays without a vote for many elections.
        peer.known.forgiven = std::min(peer.known.forgiven * 2 + config_.timing.heartbeat_timeout, kLongestExperience);
        out.push_back(Conduct{from, Deed::kWrongClaim});
      }
      out.push_back(Note{true, fmt::format("does not vote for node {}: {}", from.value(), doubt->why)});
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
  return decide(now, false, out);
}

void VoteElection::try_vote(Instant now, Effects& out) {
  VoteRound& round = *round_;
  if (round.over || round.voted) return;
  if (now >= round.vote_at) {
    round.gathered = true;
    round.vote_at = now + config_.timing.gather;  // to look again
  }
  const Ballot& ballot = round.ballot;
  const std::size_t members = config_.members.size();
  if (ledger_.disk_failed() || round.term <= ledger_.last_term()) return;
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
    // All possible candidates have stepped back, or the others have voted for one that this node does not believe.
    const bool decided = !ballot.anybody_stands() || ballot.all_have_voted(config_.self);
    if (round.heir == kNobody && decided) close_soon(now);
    return;
  }
  round.voted = true;
  record_.term = round.term;
  record_.vote = choice;
  round.vote_version = ledger_.persist(out);
}

bool VoteElection::on_vote(Instant now, NodeId from, const Vote& vote, Effects& out) {
  join_if_newer(now, vote.term, out);
  if (!round_ || round_->term != vote.term) return false;
  if (vote.candidate != config_.self && !book_.peers.contains(vote.candidate)) return false;
  if (round_->ballot.vote(from, vote.candidate) == Ballot::Heard::kSecond) {
    BW_PROBE("vote: a node that votes twice");
    out.push_back(Note{true, fmt::format("node {} has voted twice in term {}: its votes do not count", from.value(),
                                         vote.term.value())});
  }
  return decide(now, false, out);
}

bool VoteElection::decide(Instant now, bool closed, Effects& out) {
  if (!under_way()) return false;
  const auto fail = [&](const char* why) { return fail_round(now, why, out), false; };
  const Ballot::Outcome outcome = round_->ballot.outcome(closed);
  using Kind = Ballot::Outcome::Kind;
  if (outcome.kind == Kind::kNobody && !closed) return fail("no candidate can get enough votes");
  if (outcome.kind != Kind::kWon) {
    if (closed) return fail("no candidate had enough votes in time");
    // The votes are split among the participants. A silent node may come late, if at all.
    if (round_->ballot.all_have_voted()) {
      BW_PROBE("vote: all who take part have voted, and nobody has won");
      close_soon(now);
    }
    return false;
  }
  if (outcome.winner == config_.self) {
    check(book_.office == Office::kNone, "who holds an office takes part in no election");
    if (round_->term < record_.term || round_->term <= record_.promised) return fail("a later term has begun");
    return round_->over = true;
  }
  if (book_.state == State::kComplete) return closed && fail("the winner has not announced itself");
  book_.become(State::kComplete, fmt::format("node {} has the votes", outcome.winner.value()), out);
  // It is waited for as an admin is.
  const Instant until = now + config_.timing.heartbeat();
  round_->closes = closed ? until : std::min(round_->closes, until);
  return false;
}

// No participant can decide the election any more. With other rules a late node can decide it, too.
void VoteElection::close_soon(Instant now) {
  if (config_.rule != QuorumRule::kMajority) return;
  round_->closes = std::min(round_->closes, now + config_.timing.gather * 2);
}

// To all silent nodes: they may have heard nothing either.
void VoteElection::repeat(Instant now, Effects& out) {
  VoteRound& round = *round_;
  round.repeat_at = now + config_.timing.gather;
  const bool voted = record_.term == round.term && round.voted && round.vote_version == 0;
  const auto& own = round.ballot.announcements().find(config_.self)->second;
  for (const auto& [node, peer] : book_.peers) {
    if (!round.ballot.has_announced(node) || round.unheard_by.contains(node)) {
      ledger_.say(node, Candidacy{round.term, own.has_value(), own ? own->claim : Claim{}}, out);
    }
    if (voted && !round.ballot.has_voted(node)) ledger_.say(node, Vote{record_.term, record_.vote}, out);
  }
  round.unheard_by.clear();
}

void VoteElection::fail_round(Instant now, std::string why, Effects& out) {
  BW_PROBE("vote: an election that nobody wins");
  const auto is_rival = [this](const auto& one) {
    return one.first != config_.self && one.second && round_->ballot.votes_for(one.first) > 0;
  };
  const auto& announced = round_->ballot.announcements();
  // The votes were split. Voters that believe different candidates would split them for ever.
  steps_back_ = std::ranges::any_of(announced, is_rival) && book_.prng.chance(0.5);
  end_round(why, out);
  search_.discover(now, std::move(why), out);
  const Duration backoff = config_.timing.discovery_backoff;
  const Instant again = now + backoff + book_.prng.between(Duration::zero(), backoff);
  search_.elect(again, std::exchange(called_, false) ? Trigger::kManual : search_.elect_why());
}

void VoteElection::end_round(NodeId winner, Term term, std::string why, Effects& out) {
  round_->over = true;
  round_->vote_version = 0;
  if (winner != kNobody) settle();
  out.push_back(ElectionComplete{winner, term, std::move(why)});
}

}  // namespace bellwether::vote
