// A node that receives news of an admin, from that admin or from others: which admin it believes, and its promises.
#pragma once

#include <cstdint>
#include <string>

#include "election/vote/vote_office.h"

namespace bellwether::vote {

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

}  // namespace bellwether::vote
