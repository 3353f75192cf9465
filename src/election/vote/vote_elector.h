// One node of a group that elects an admin by scored votes: each candidate announces its score, each node votes for the
// best candidate that it believes, and the winner of a quorum leads while a quorum answers its heartbeats. It reads no
// clock: each step takes the time of the boot clock, freshly read, and returns effects.
//
// Its guarantees under QuorumRule::kMajority, if its driver executes effects in order, disks keep confirmed data,
// clocks keep within the drift, and no node votes twice in spite of its record:
//   - a term has one admin: it needs votes of a majority, and a vote is durable before it is sent;
//   - an admin acts only while a majority has promised to answer no other node, and has stopped before any of these
//     promises ends; no node promises anything to an earlier term than the last one. So no two admins act at once, and
//     the terms of acting admins only grow;
//   - a higher score never takes the office from an admin that a majority answers: a node under a promise takes part in
//     no election. An admin hands over by itself.
// Under the other rules two admins are possible, and one of them steps down when they hear of each other.
//
//   vote_book.h      the record, and the messages that wait until it is durable; the state, the other nodes, the admin,
//                    the promise to it: all parts read and write here
//   vote_election.h  the search for an admin, and the time of the next election; candidates, ballots, and the result
//   vote_office.h    heartbeats, promises and the end of a term
//   VoteFollower     news of an admin, and the promise to it
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "election/vote/vote_office.h"

namespace bellwether::vote {

// A node that receives news of an admin, from that admin or from others: which admin it believes, and its promises.
class VoteFollower {
 public:
  // All must outlive it.
  VoteFollower(VoteBook& book, VoteSearch& search, VoteElection& election, VoteOffice& office)
      : book_(book), search_(search), election_(election), office_(office) {}

  void on_request(NodeId from, Effects& out);
  void on_response(Instant now, NodeId from, const DiscoveryResponse& response, Effects& out);
  void on_started(Instant now, NodeId from, const ElectionStarted& started, Effects& out);
  void on_winner(Instant now, NodeId from, const Winner& winner, Effects& out);
  void on_admin_word(Instant now, NodeId from, uint64_t mark, Term term, uint64_t round, Effects& out);
  bool follows(NodeId admin, Term term, Instant now) const {
    return book_.admin == admin && book_.admin_term == term && book_.promised_to == admin && record_.promised == term &&
           book_.has_promised(now) && ledger_.is_durable(promise_version_) && !book_.follows_only();
  }

 private:
  void follow_only(Instant now, const std::string& why, Effects& out);

  VoteBook& book_;
  VoteSearch& search_;
  VoteElection& election_;
  VoteOffice& office_;
  VoteLedger& ledger_ = book_.ledger;
  Record& record_ = book_.record;
  const VoteConfig& config_ = book_.config;
  Term given_up_;                 // by its admin: later news of it is outdated
  uint64_t promise_version_ = 0;  // of the record that binds this node to the admin which it answers
};

class VoteElector {
 public:
  // `seed` decides jitter and the mark of this life; it must differ between nodes and between starts.
  // REQUIRES a configuration that validates: timing, weights, members.
  VoteElector(VoteConfig config, uint64_t seed) : book_(std::move(config), seed) {}

  void step(Instant now, const Event& event, Effects& effects);
  // When to send Tick at the latest.
  Instant wake() const;

  State state() const { return book_.state; }
  Office office() const { return book_.office; }
  // The admin as far as this node knows, and its term.
  NodeId admin() const { return book_.admin; }
  Term admin_term() const { return book_.admin_term; }
  bool leads(Instant now) const { return book_.office == Office::kAdmin && now < office_.ends(); }
  // Whether it has promised to follow this admin in this term, durably, and the promise has not run out.
  bool follows(NodeId admin, Term term, Instant now) const { return follower_.follows(admin, term, now); }
  Instant ends() const { return office_.ends(); }            // of the term; nothing is begun after it
  Instant stopped_by() const { return office_.hard_end(); }  // nothing of the work acts after it
  const Record& record() const { return book_.record; }
  const Claim& claim() const { return book_.claim; }
  bool stands() const { return book_.stands(); }
  bool follows_only() const { return book_.follows_only(); }
  // The election under way, or the last one; nullptr: none yet.
  const Ballot* ballot() const { return round() ? &round()->ballot : nullptr; }
  Term ballot_term() const { return round() ? round()->term : Term(); }
  Trigger ballot_trigger() const { return round() ? round()->trigger : Trigger::kDiscoveryFailure; }
  bool ballot_over() const { return round() && round()->over; }
  // The node to which this one has promised to answer no other, and until when; kNobody: never in this life.
  NodeId promised_to() const { return book_.promised_to; }
  Instant promised_until() const { return book_.promised_until; }
  // While it is in office: until when it may count on the promise of each node that has answered.
  std::map<NodeId, Instant> promises() const { return office_.promises(); }
  // Messages that were not listened to, by reason.
  const std::array<uint64_t, kRefusals>& refusals() const { return book_.refusals; }
  const VoteConfig& config() const { return book_.config; }

 private:
  void on_start(Instant now, const Start& start, Effects& out);
  void on_tick(Instant now, Effects& out);
  void on_received(Instant now, const Message& message, Effects& out);
  void on_persisted(Instant now, const Persisted& done, Effects& out);
  bool is_listened_to(Instant now, VotePeer& peer, const Message& message, Effects& out);
  const VoteRound* round() const { return election_.round(); }
  KnownOfNode* known_of(NodeId node);

  VoteBook book_;
  VoteSearch search_{book_};
  VoteElection election_{book_, search_};
  VoteOffice office_{book_, search_, election_};
  VoteFollower follower_{book_, search_, election_, office_};
  bool started_ = false;
};

}  // namespace bellwether::vote
