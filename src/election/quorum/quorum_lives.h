// The accepted life of each member, and whether other members know a later record of this one.
#pragma once

#include <string>

#include "election/quorum/quorum_voter.h"

namespace bellwether::quorum {

class QuorumLives {
 public:
  // Both must outlive it.
  QuorumLives(QuorumBook& book, const QuorumVoter& voter) : book_(book), voter_(voter) {}

  void begin(Instant now, Effects& out);
  void tick(Instant now, Effects& out);
  Instant wake() const;
  // Keeps greetings and their answers for itself.
  bool listens_to(Instant now, QuorumPeer& from, const Message& message, Effects& out);
  void lose_record(Instant now, std::string why, Effects& out);
  bool silent() const { return silent_; }

 private:
  void verify(Instant now, Effects& out);
  void greet(MemberId to, uint64_t challenge, Effects& out) const {
    if (!book_.follows_only) ledger_.send(to, Greeting{challenge}, out);
  }
  void greet_all(Instant now, Effects& out);
  void on_greeting(QuorumPeer& from, const Message& message, const Greeting& greeting, Effects& out);
  void on_greeting_answer(Instant now, QuorumPeer& from, const GreetingAnswer& answer, Effects& out);
  void on_superseded(Instant now, const Superseded& superseded, Effects& out);
  bool is_known_life(QuorumPeer& from, const Message& message, Effects& out);

  QuorumBook& book_;
  const QuorumVoter& voter_;
  QuorumLedger& ledger_ = book_.ledger;
  Record& record_ = book_.record;
  const QuorumConfig& config_ = book_.config;
  Instant next_greeting_;
  bool silent_ = false;  // another process answers for this member
};

}  // namespace bellwether::quorum
