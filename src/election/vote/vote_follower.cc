#include "election/vote/vote_follower.h"

#include <algorithm>

#include "core/base/probe.h"

namespace bellwether::vote {

using election::EndReason;

void VoteFollower::on_request(NodeId from, Effects& out) {
  if (book_.admin == kNobody) return;
  if (book_.office == Office::kAdmin) return ledger_.say(from, office_.word(), out);
  if (book_.admin != from) search_.tell(from, out);
}

void VoteFollower::on_started(Instant now, NodeId from, const ElectionStarted& started, Effects& out) {
  // Only the previous admin may name its successor.
  const std::optional<Permission>& permission = started.permission;
  const bool permitted = permission && permission->term == book_.admin_term && from == book_.last_admin;
  const bool was_followed = permitted && book_.admin == from;
  if (permitted) given_up_ = permission->term;
  if (was_followed) {
    // Its work has stopped: promises to it bind no node any more.
    if (from == book_.promised_to) book_.promised_until = std::min(book_.promised_until, now);
    out.push_back(Conduct{from, Deed::kServed});
    book_.set_admin(kNobody, book_.admin_term, fmt::format("node {} has given up the office", from.value()), out);
  }
  if (book_.office == Office::kAdmin) return ledger_.say(from, office_.word(), out);
  if (!book_.may_take_part(now) || started.term <= ledger_.last_term()) {
    BW_PROBE("vote: an election that this node takes no part in");
    search_.tell(from, out);
    if (was_followed) search_.discover(now, "the admin has given up the office", out);
    return;
  }
  election_.join(now, started.term, started.trigger, permitted ? permission->heir : kNobody, out);
}

void VoteFollower::on_winner(Instant now, NodeId from, const Winner& winner, Effects& out) {
  VotePeer& peer = book_.peers.at(from);
  const std::set<NodeId> voters(winner.voters.begin(), winner.voters.end());
  for (const NodeId voter : voters) {
    if (voter != config_.self && !book_.peers.contains(voter)) {
      return book_.refuse(from, peer, Refusal::kNotElected, "claims the vote of a node that is not a member", out);
    }
  }
  if (config_.rule == QuorumRule::kMajority && voters.size() < majority_of(config_.members.size())) {
    return book_.refuse(from, peer, Refusal::kNotElected, "claims the votes of fewer than a majority", out);
  }
  const bool voted = record_.term == winner.term && record_.vote == from;
  if (voters.contains(config_.self) && !voted && record_.term >= winner.term) {
    BW_PROBE("vote: a winner that claims a vote which it was not given");
    return book_.refuse(from, peer, Refusal::kNotElected, "claims the vote of this node, which did not vote for it",
                        out);
  }
  on_admin_word(now, from, peer.mark, winner.term, winner.round, out);
}

void VoteFollower::on_admin_word(Instant now, NodeId from, uint64_t mark, Term term, uint64_t round, Effects& out) {
  if (book_.in_office()) {
    if (term > office_.term()) {
      office_.end_term(now, EndReason::kTaken, fmt::format("node {} is the admin of a later term", from.value()), out);
    } else {
      // The sender learns of this admin, and follows the rule.
      search_.tell(from, out);
      if (term == office_.term()) office_.split_brain(now, from, out);
      return;
    }
  }
  if (term < std::max(record_.promised, book_.admin_term)) {
    book_.refuse(from, book_.peers.at(from), Refusal::kOlderTerm, "it was the admin of an older term", out);
    return search_.tell(from, out);
  }
  if (term <= given_up_) {
    BW_PROBE("vote: a heartbeat that was overtaken by the end of its term");
    return;
  }
  if (term == book_.admin_term && book_.admin != kNobody && book_.admin != from) {
    // This node answers neither any more, so that both go.
    BW_PROBE("vote: a second admin of one term is heard");
    out.push_back(Note{true, fmt::format("node {} and node {} are both the admin of term {}", book_.admin.value(),
                                         from.value(), term.value())});
    ledger_.say(book_.admin, DiscoveryResponse{from, term, 0, 0}, out);
    return search_.tell(from, out);
  }
  if (book_.office == Office::kStopping) return;
  if (election_.under_way()) election_.end_round(from, term, "the admin's message was received", out);
  office_.forget_heir();
  const bool is_new = book_.admin != from || book_.admin_term != term;
  book_.hearsay = false;
  book_.set_admin(from, term, "its heartbeat was received", out);
  if (is_new) search_.elected(now);
  book_.become(State::kIdle, fmt::format("node {} is the admin", from.value()), out);
  book_.admin_until = std::max(now, book_.promised_until) + config_.timing.heartbeat_timeout;
  if (book_.follows_only()) return;
  if (term == record_.promised && mark != record_.promised_mark) {
    // Both lives have votes under one name. The second must not count promises to the first.
    BW_PROBE("vote: two processes of one id have won the same term");
    return book_.refuse(from, book_.peers.at(from), Refusal::kSecondProcess,
                        "another process with its id had this term", out);
  }
  const bool to_another = book_.has_promised(now) && book_.promised_to != from;
  const bool unknown = now < book_.quiet_until && term != record_.promised;
  if (to_another || unknown) {
    BW_PROBE("vote: a promise to another admin still lasts");
    return;
  }
  book_.promised_to = from;
  book_.promised_until = now + config_.timing.promise();
  book_.admin_until = book_.promised_until;
  const HeartbeatAnswer answer{term, round, mark, book_.stands(), book_.claim.score, config_.timing.heartbeat_timeout};
  if (record_.promised < term || record_.longest_promise < config_.timing.promise()) {
    record_.promised = term;
    record_.promised_mark = mark;
    record_.longest_promise = std::max(record_.longest_promise, config_.timing.promise());
    promise_version_ = ledger_.persist(out);
  }
  // An answer that waits for the disk is overtaken by the next one.
  ledger_.drop_answers();
  ledger_.say_when_durable(promise_version_, from, answer, out);
}

void VoteFollower::on_response(Instant now, NodeId from, const DiscoveryResponse& response, Effects& out) {
  if (!record_.lost && response.start_seen > record_.start) {
    BW_PROBE("vote: the disk of a node is older than what others have heard of it");
    return follow_only(now,
                       fmt::format("node {} knows start {}, but this is start {}: the disk of this node was set back",
                                   from.value(), response.start_seen, record_.start),
                       out);
  }
  if (!record_.lost && response.start_seen == record_.start && response.mark_seen != book_.mark &&
      response.mark_seen != 0) {
    BW_PROBE("vote: a second process under one id");
    book_.silent = true;
    out.push_back(Note{true, "sends no more messages: another process has the same id"});
    if (book_.in_office()) office_.end_term(now, EndReason::kTaken, "another process has the same id", out);
    return;
  }
  if (response.admin == kNobody || response.admin == config_.self) return;
  if (book_.in_office()) {
    if (response.admin_term > office_.term()) {
      office_.end_term(now, EndReason::kTaken,
                       fmt::format("node {} is the admin of a later term", response.admin.value()), out);
    } else if (response.admin_term == office_.term()) {
      office_.split_brain(now, response.admin, out);
    }
    return;
  }
  const bool older = response.admin_term < std::max(record_.promised, book_.admin_term);
  if (older || response.admin_term <= given_up_ || book_.has_promised(now)) return;
  if (election_.under_way()) {
    // A node that has voted has agreed with a majority that the group has no admin.
    if (election_.round()->voted || response.admin_term >= election_.round()->term) return;
    election_.end_round(response.admin, response.admin_term, "other nodes know an admin", out);
  }
  if (book_.admin == response.admin) return;
  book_.hearsay = true;
  book_.set_admin(response.admin, response.admin_term, fmt::format("node {} reports an admin", from.value()), out);
  // Hearsay alone does not keep an admin alive for ever.
  book_.admin_until = now + config_.timing.heartbeat_timeout;
  search_.call_off();
  book_.become(State::kIdle, "an admin was found", out);
}

// Its earlier votes and promises are unknown, so it does not take part in running elections either.
void VoteFollower::follow_only(Instant now, const std::string& why, Effects& out) {
  out.push_back(Note{true, "follows only: " + why});
  record_.lost = true;
  ledger_.persist(out);
  if (book_.in_office()) return office_.end_term(now, EndReason::kUnhealthy, why, out);
  if (!election_.under_way()) return;
  BW_PROBE("vote: a node finds out during an election that its disk was set back");
  election_.end_round(why, out);
  search_.discover(now, why, out);
}

}  // namespace bellwether::vote
