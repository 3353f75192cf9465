// A member that stands for election: the pre-vote, which changes nothing, and then the vote in a new term.
#pragma once

#include <optional>

#include "election/quorum/quorum_lead.h"

namespace bellwether::quorum {

class QuorumCampaign {
 public:
  // All must outlive it.
  QuorumCampaign(QuorumBook& book, QuorumVoter& voter, QuorumLead& lead) : book_(book), voter_(voter), lead_(lead) {}

  void tick(Instant now, Effects& out);
  Instant wake() const;
  void on_pre_vote_answer(Instant now, QuorumPeer& from, const PreVoteAnswer& answer, Effects& out);
  void on_vote_answer(Instant now, QuorumPeer& from, const Message& message, const VoteAnswer& answer, Effects& out);
  void on_stand_now(Instant now, const Message& message, Effects& out);
  // The disk has answered, and the ledger knows it. The others are asked once the own vote is durable.
  void on_persisted(Instant now, bool ok, Effects& out);

 private:
  bool may_stand() const;
  void stand(Instant now, Effects& out);
  void campaign(Instant now, std::optional<Permission> permission, Effects& out);
  void request_votes(Instant now, Effects& out);
  void round_failed(Instant now, const char* why, Effects& out);
  void won(Instant now, Effects& out);
  bool quorum_granted() const {
    return book_.quorum_of([](const QuorumPeer& peer) { return peer.granted; });
  }
  bool cannot_win() const {
    return !book_.quorum_of([](const QuorumPeer& peer) { return !peer.refused; });
  }

  QuorumBook& book_;
  QuorumVoter& voter_;
  QuorumLead& lead_;
  QuorumLedger& ledger_ = book_.ledger;
  Record& record_ = book_.record;
  const QuorumConfig& config_ = book_.config;
  Instant round_ends_;
  Instant repeat_at_;
  Instant campaign_began_;
  uint64_t number_ = book_.prng.next() >> 1;  // of the round; begins anywhere: no answer to an earlier life fits
  std::optional<Permission> permission_;
  Duration again_after_;
};

}  // namespace bellwether::quorum
