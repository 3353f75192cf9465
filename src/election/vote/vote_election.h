// The election in which a node takes part: the candidates, its vote, and the result.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "election/vote/vote_book.h"

namespace bellwether::vote {

// The search for an admin: discovery, news of a quorum, and the time of the next election.
class VoteSearch {
 public:
  // `book` must outlive it.
  explicit VoteSearch(VoteBook& book) : book_(book) {}

  void discover(Instant now, std::string why, Effects& out);
  void tell(NodeId to, Effects& out);
  // The trigger of an election that must begin now, if any.
  std::optional<Trigger> tick(Instant now, Effects& out);
  Instant wake() const;
  void look_at_quorum(Instant now);
  void found_quorum() { quorum_was_lost_ = false; }
  // Until then only a forced election is held.
  Instant window_end(Trigger why) const;

  // An admin exists.
  void elected(Instant now) {
    last_election_ = now;
    any_election_ = true;
    rest();
  }
  // Neither asks nor begins an election.
  void rest() { elect_at_ = next_discovery_ = Instant::never(); }
  void elect(Instant at, Trigger why) { elect_at_ = at, elect_why_ = why; }
  void call_off() { elect_at_ = Instant::never(); }
  Trigger elect_why() const { return elect_why_; }

 private:
  void ask_around(Instant now, Effects& out);
  void lose_admin(Instant now, Effects& out);
  bool sees_quorum(Instant now) const;
  bool may_begin(Instant now, Trigger why);

  VoteBook& book_;
  VoteLedger& ledger_ = book_.ledger;
  const VoteConfig& config_ = book_.config;
  Instant last_election_;
  bool any_election_ = false;
  Instant next_discovery_ = Instant::never();
  Instant elect_at_ = Instant::never();
  Trigger elect_why_ = Trigger::kDiscoveryFailure;
  bool quorum_was_lost_ = false;
};

struct VoteRound {
  Term term;
  Trigger trigger;
  Ballot ballot;
  NodeId heir;      // the only candidate that gets votes
  NodeId silent;    // the node whose silence caused the election: its candidacy is not awaited
  Instant vote_at;  // the election does not wait for nodes that are silent until then
  Instant closes;
  Instant repeat_at;
  bool gathered = false;             // vote_at has come
  bool voted = false;                // decided; perhaps not durable yet
  bool over = false;                 // won, lost or given up; kept for the status
  uint64_t vote_version = 0;         // of the record that holds the vote which is to be sent
  std::set<NodeId> unheard_by = {};  // they repeat their candidacy, so this node repeats its own
};

class VoteElection {
 public:
  // Both must outlive it.
  VoteElection(VoteBook& book, VoteSearch& search) : book_(book), search_(search) {}

  // The one under way, or the last one; nullptr: none yet.
  const VoteRound* round() const { return round_ ? &*round_ : nullptr; }
  bool under_way() const { return round_ && !round_->over; }
  void start(Instant now, Trigger why, std::optional<Permission> permission, Effects& out);
  void join(Instant now, Term term, Trigger why, NodeId heir, Effects& out);
  void end_round(NodeId winner, Term term, std::string why, Effects& out);
  void end_round(std::string why, Effects& out) { end_round(kNobody, round_->term, std::move(why), out); }

  // Each returns whether this node has won by it.
  [[nodiscard]] bool on_candidacy(Instant now, NodeId from, VotePeer& peer, const Candidacy& candidacy, Effects& out);
  [[nodiscard]] bool on_vote(Instant now, NodeId from, const Vote& vote, Effects& out);
  [[nodiscard]] bool on_persisted(Instant now, Effects& out);  // sends the own vote only then
  [[nodiscard]] bool tick(Instant now, Effects& out);          // REQUIRES under_way()
  Instant wake() const;                                        // REQUIRES under_way()

  // In the next election it does not stand: the last one was split, or it could not take the office.
  void step_back() { steps_back_ = true; }
  // Another one is called while one is under way.
  void call_again() { called_ = true; }
  void settle() { called_ = steps_back_ = false; }

 private:
  Term next_term() const;
  void join_if_newer(Instant now, Term term, Effects& out);
  void try_vote(Instant now, Effects& out);
  bool decide(Instant now, bool closed, Effects& out);
  void close_soon(Instant now);
  void repeat(Instant now, Effects& out);
  void fail_round(Instant now, std::string why, Effects& out);

  VoteBook& book_;
  VoteSearch& search_;
  VoteLedger& ledger_ = book_.ledger;
  Record& record_ = book_.record;
  const VoteConfig& config_ = book_.config;
  std::optional<VoteRound> round_;
  bool called_ = false;
  bool steps_back_ = false;
};

}  // namespace bellwether::vote
