#include "election/vote/vote_elector.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/enum_names.h"
#include "core/base/overloaded.h"
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

std::string_view to_string(State state) {
  static constexpr EnumNames<State> kNames("idle", "discovering", "electing", "reconstructing_keys", "complete");
  return kNames[state];
}

std::string_view to_string(Trigger trigger) {
  static constexpr EnumNames<Trigger> kNames("split_brain_detected", "manual_trigger", "admin_heartbeat_timeout",
                                             "quorum_restored", "no_admin_discovered");
  return kNames[trigger];
}

std::string_view to_string(Refusal refusal) {
  static constexpr EnumNames<Refusal> kNames("not_a_member", "earlier_life", "second_process", "heard_before",
                                             "older_term", "not_elected");
  return kNames[refusal];
}

void VoteElector::step(Instant now, const Event& event, Effects& out) {
  // Comes before every event: an admin that was paused past its end notices that first.
  const bool promised = book_.office == Office::kAdmin || book_.office == Office::kReconstructing;
  if (promised && now >= office_.ends()) {
    office_.end_term(now, election::EndReason::kExpired, "no quorum answered in time", out);
  }
  if (const auto* start = std::get_if<Start>(&event)) return on_start(now, *start, out);
  if (!started_) {
    if (const auto* measured = std::get_if<Measured>(&event)) book_.measure(now, measured->claim);
    return;
  }
  std::visit(Overloaded{
                 [](const Start&) {},  // above
                 [&](const Tick&) { on_tick(now, out); },
                 [&](const Received& received) { on_received(now, received.message, out); },
                 [&](const Persisted& persisted) { on_persisted(now, persisted, out); },
                 [&](const Measured& measured) { book_.measure(now, measured.claim); },
                 [&](const PeerMeasured& peer) {
                   if (KnownOfNode* known = known_of(peer.node)) known->network_quality = peer.network_quality;
                 },
                 [&](const PeerVetted& vetted) {
                   KnownOfNode* known = known_of(vetted.node);
                   if (known == nullptr) return;
                   if (vetted.capabilities) known->capabilities = vetted.capabilities;
                   known->capabilities_why = vetted.capabilities_why;
                   known->absent = vetted.absent;
                 },
                 [&](const PeerReputation& conduct) {
                   if (KnownOfNode* known = known_of(conduct.node)) known->reputation = conduct.reputation;
                 },
                 [&](const WorkStopped&) { office_.on_work_stopped(now, out); },
                 [&](const CallElection& wish) { office_.on_call(now, wish, out); },
                 [&](const Transfer& transfer) { office_.on_transfer(now, transfer, out); },
                 [&](const Leave& leave) { office_.on_leave(now, leave, out); },
                 [&](const KeysReady& keys) { office_.on_keys(now, keys, out); },
             },
             event);
  book_.claim.score = score_of(book_.claim, book_.config.weights);
}

KnownOfNode* VoteElector::known_of(NodeId node) {
  const auto at = book_.peers.find(node);
  return at == book_.peers.end() ? nullptr : &at->second.known;
}

Instant VoteElector::wake() const {
  if (!started_ || book_.silent) return Instant::never();
  const Instant wake = std::min(book_.ledger.wake(), office_.wake());
  if (book_.office != Office::kNone) return wake;
  return std::min(wake, election_.under_way() ? election_.wake() : search_.wake());
}

void VoteElector::on_start(Instant now, const Start& start, Effects& out) {
  check(!started_, "a node is started once");
  started_ = true;
  Record& record = book_.record;
  record = start.found == Start::Found::kUnreadable ? Record{.lost = true} : start.record;
  ++record.start;
  // An earlier promise may last until then; the record does not say which.
  book_.quiet_until = start.found == Start::Found::kRecord ? now + record.longest_promise : now;
  book_.highest = book_.ledger.last_term();
  book_.ledger.persist(out);
  if (record.lost) {
    out.push_back(
        Note{true, "follows only: its earlier promises are lost; remove this node, and add it with another id"});
  }
  search_.discover(now, "it started", out);
}

void VoteElector::on_tick(Instant now, Effects& out) {
  book_.ledger.tick(now, out);
  if (book_.in_office()) return office_.tick(now, out);
  if (book_.office == Office::kStopping || office_.falls_back(now, out)) return;
  if (!election_.under_way()) {
    if (const auto why = search_.tick(now, out)) election_.start(now, *why, std::nullopt, out);
  } else if (election_.tick(now, out)) {
    office_.begin(now, out);
  }
}

void VoteElector::on_received(Instant now, const Message& message, Effects& out) {
  const NodeId from = message.from;
  if (from == book_.config.self) return;
  const auto at = book_.peers.find(from);
  if (at == book_.peers.end()) {
    ++book_.refusals[static_cast<std::size_t>(Refusal::kStranger)];
    out.push_back(Refused{from, "it is not a member"});
    return;
  }
  VotePeer& peer = at->second;
  if (book_.silent || !is_listened_to(now, peer, message, out)) return;
  peer.last_heard = now;
  peer.refused.clear();
  book_.highest = std::max(book_.highest, message.term);
  search_.look_at_quorum(now);
  std::visit(
      Overloaded{
          [&](const DiscoveryRequest&) { follower_.on_request(from, out); },
          [&](const DiscoveryResponse& response) { follower_.on_response(now, from, response, out); },
          [&](const ElectionStarted& started) { follower_.on_started(now, from, started, out); },
          [&](const Candidacy& candidacy) {
            if (election_.on_candidacy(now, from, peer, candidacy, out)) office_.begin(now, out);
          },
          [&](const Vote& vote) {
            if (election_.on_vote(now, from, vote, out)) office_.begin(now, out);
          },
          [&](const Winner& winner) { follower_.on_winner(now, from, winner, out); },
          [&](const Heartbeat& beat) { follower_.on_admin_word(now, from, message.mark, beat.term, beat.round, out); },
          [&](const HeartbeatAnswer& answer) { office_.on_answer(now, peer, answer, out); },
      },
      message.body);
}

// Of each node one life is listened to, the one of the highest start, and each of its messages once.
bool VoteElector::is_listened_to(Instant now, VotePeer& peer, const Message& message, Effects& out) {
  const NodeId from = message.from;
  const bool older = message.start < peer.start;
  const bool other = message.start == peer.start && message.mark != peer.mark;
  if (older || other) {
    BW_PROBE("vote: a life that is over, or a second process under one id");
    const char* why = older ? "it comes from an earlier life of this node, or from an older copy of its disk"
                            : "another process has the same id";
    // The sender may not know it, and a node that follows an admin sends no requests.
    if (peer.refused != why || std::holds_alternative<DiscoveryRequest>(message.body)) search_.tell(from, out);
    book_.refuse(from, peer, older ? Refusal::kEarlierLife : Refusal::kSecondProcess, why, out);
    return false;
  }
  if (message.start > peer.start) {
    if (peer.start != 0) peer.known.earlier_life_heard = peer.last_heard;
    peer.start = message.start;
    peer.mark = message.mark;
    peer.newest = peer.heard = 0;
    peer.known.forgiven = Duration::zero();
    peer.acked = false;
    peer.promised_until = Instant();
    // The new life does not know the promises of the last one.
    if (from == book_.admin && !book_.has_promised(now)) book_.admin_until = std::min(book_.admin_until, now);
  }
  if (message.sequence > peer.newest) {
    const uint64_t step = message.sequence - peer.newest;
    peer.heard = step < 64 ? (peer.heard << step) | 1 : 1;
    peer.newest = message.sequence;
    return true;
  }
  const uint64_t back = peer.newest - message.sequence;
  if (back >= 64 || (peer.heard >> back & 1) != 0) {
    book_.refuse(from, peer, Refusal::kReplay, "it was received before", out);
    return false;
  }
  peer.heard |= uint64_t{1} << back;
  return true;
}

void VoteElector::on_persisted(Instant now, const Persisted& done, Effects& out) {
  if (!book_.ledger.persisted(now, done, out)) return;
  office_.on_persisted(now, out);
  if (election_.on_persisted(now, out)) office_.begin(now, out);
}

}  // namespace bellwether::vote
