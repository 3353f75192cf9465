// A member as the leader: rounds of heartbeats and the promises that answer them, changes of the members, step-down and
// hand-over.
#pragma once

#include <array>
#include <optional>

#include "election/quorum/quorum_voter.h"

namespace bellwether::quorum {

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

}  // namespace bellwether::quorum
