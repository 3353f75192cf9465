// A member that stands for election: the pre-vote, which changes nothing, and then the vote in a new term.
#pragma once

#include <array>
#include <optional>

#include "election/quorum/quorum_voter.h"

namespace bellwether::quorum {

// A member as the leader: rounds of heartbeats and the promises that answer them, changes of the members, step-down and
// hand-over.
class QuorumLead {
 public:
  // Both must outlive it.
  QuorumLead(QuorumBook& book, QuorumVoter& voter) : book_(book), voter_(voter) {}

  // It has the votes, and asks for promises.
  void begin(Instant now, Effects& out);
  // REQUIRES beats_now() of the book.
  void tick(Instant now, Effects& out);
  Instant wake() const;
  void on_heartbeat_answer(Instant now, QuorumPeer& from, const Message& message, const HeartbeatAnswer& answer,
                           Effects& out);

  void on_health(Instant now, const LocalHealth& health, Effects& out);
  void consider_stepping_down(Instant now, Effects& out);
  void step_down(Instant now, const StepDown& wish, Effects& out);
  void work_stopped(Instant now, Effects& out);
  void go_on_handing_over(Instant now, Effects& out);
  // The fittest possible successor with a recent message.
  const QuorumPeer* heir(Instant now, bool must_be_better) const;

  void on_change(Instant now, const ChangeMembers& wish, Effects& out);
  void advance_members(Instant now, Effects& out);
  bool quorum_has_members() const;

 private:
  static constexpr std::size_t kRounds = 32;  // heartbeats whose answers still count

  void beat(Instant now, Effects& out);
  Instant quorum_sent(Instant now) const;
  void count_promises(Instant now, Effects& out);
  void hand_over(Instant now, Effects& out);
  bool hands_over() const { return hand_over_ && hand_over_->term == record_.term; }
  void resign(Effects& out);
  void configure(Instant now, Configuration members, Effects& out);

  QuorumBook& book_;
  QuorumVoter& voter_;
  QuorumLedger& ledger_ = book_.ledger;
  Record& record_ = book_.record;
  const QuorumConfig& config_ = book_.config;
  uint64_t round_ = 0;
  std::array<Instant, kRounds> sent_;
  Instant next_beat_;
  std::optional<StepDown> stepping_down_;
  Instant drain_until_ = Instant::never();
  int severe_ = 0;
  struct HandOver {
    Term term;  // that is over; no hand-over continues in the next one
    MemberId heir;
    Instant until;
    Instant next;
  };
  std::optional<HandOver> hand_over_;
};

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
