// A member as a voter and a follower: the votes that it grants to candidates, and its promises to a leader.
#pragma once

#include <optional>
#include <string>

#include "election/quorum/quorum_book.h"

namespace bellwether::quorum {

class QuorumVoter {
 public:
  // A candidate's report of itself.
  struct Candidacy {
    MemberId id;
    Term term;
    ConfigurationStamp members;
    Eligibility eligibility;
    std::optional<Permission> permission;
  };

  // `book` must outlive it.
  explicit QuorumVoter(QuorumBook& book) : book_(book) {}

  // The one rule for pre-votes and votes: a candidate that passes the first cannot fail the second for an already known
  // reason.
  Refusal refusal(Instant now, const Candidacy& candidate, Duration& again_after) const;
  void on_pre_vote(Instant now, QuorumPeer& from, const Message& message, const PreVote& ask, Effects& out);
  void on_vote(Instant now, QuorumPeer& from, const Message& message, const Vote& ask, Effects& out);
  void on_heartbeat(Instant now, const QuorumPeer& from, const Message& message, const Heartbeat& beat, Effects& out);
  void on_word_of_leader(Instant now, const Message& message, Effects& out);
  void on_configure(const Message& message, const Configure& told, Effects& out);
  void on_resigned(Instant now, const Message& message, Effects& out);
  void on_leader_dead(Instant now, const LeaderDead& dead, Effects& out);
  void withdraw_promise(Instant now, std::string why, Effects& out);
  // The leader of this term, and of any before it, acts no more.
  void close(Term term) { over_ = term; }

  // The leader of its last promise, and the life of that leader.
  MemberId promised_to() const { return promised_to_; }
  uint64_t promised_life() const { return leader_life_; }
  // It comes from the leader that was promised something last, and is of that term.
  bool is_of_promised(const Message& message) const {
    return message.from == promised_to_ && message.term == promised_term_;
  }

 private:
  QuorumBook& book_;
  QuorumLedger& ledger_ = book_.ledger;
  Record& record_ = book_.record;
  const QuorumConfig& config_ = book_.config;
  uint64_t leader_life_ = 0;
  Term promised_term_;
  MemberId promised_to_;
  Term over_;  // its leader is known to act no more
};

}  // namespace bellwether::quorum
