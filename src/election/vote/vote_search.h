// The search for an admin: discovery, news of a quorum, and the time of the next election.
#pragma once

#include <optional>
#include <string>

#include "election/vote/vote_book.h"

namespace bellwether::vote {

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

}  // namespace bellwether::vote
