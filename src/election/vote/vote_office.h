// The office of an admin, and of a node that is about to be one: heartbeats, the promises that answer them, requests of
// an operator, and the ends of a term.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/base/periodic.h"
#include "election/vote/vote_election.h"

namespace bellwether::vote {

class VoteOffice {
 public:
  // All must outlive it.
  VoteOffice(VoteBook& book, VoteSearch& search, VoteElection& election)
      : book_(book), search_(search), election_(election) {}

  // It has won: persists the promise to itself, and announces the win once that is durable.
  void begin(Instant now, Effects& out);
  void on_persisted(Instant now, Effects& out);
  void tick(Instant now, Effects& out);  // REQUIRES in_office() of the book
  Instant wake() const;
  // Its message to the nodes whose promise it needs.
  Body word() const;
  void on_answer(Instant now, VotePeer& from, const HeartbeatAnswer& answer, Effects& out);
  void on_keys(Instant now, const KeysReady& keys, Effects& out);

  void on_call(Instant now, const CallElection& wish, Effects& out);
  void on_transfer(Instant now, const Transfer& wish, Effects& out);
  void on_leave(Instant now, const Leave& wish, Effects& out);
  void on_work_stopped(Instant now, Effects& out);
  void end_term(Instant now, election::EndReason reason, std::string why, Effects& out);
  void split_brain(Instant now, NodeId other, Effects& out);
  // The heir has not taken over in time, and this node stands again.
  bool falls_back(Instant now, Effects& out);
  void forget_heir() { fall_back_ = Instant::never(); }

  Term term() const { return term_; }
  Instant ends() const { return ends_; }
  Instant hard_end() const { return hard_end_; }
  // While it is in office: until when it may count on the promise of each node that has answered.
  std::map<NodeId, Instant> promises() const;

 private:
  static constexpr std::size_t kRounds = 64;  // heartbeats whose answers still count
  // The maximum factor by which a voter speeds up an admin's heartbeats beyond the admin's own settings.
  static constexpr int64_t kMaxHaste = 16;
  struct Backing {
    Instant until;
    Instant sent;
    auto operator<=>(const Backing&) const = default;
  };
  struct SteppingDown {
    std::string cause;
    NodeId heir;
    Instant until;
  };

  const Ballot& ballot() const { return election_.round()->ballot; }
  void beat(Instant now, Effects& out);
  void repeat_beat(Instant now, Effects& out);
  // Which heartbeat was sent at which instant.
  Instant sent_at(uint64_t round) const { return sent_[round % kRounds]; }
  Backing quorum_backing(Instant now) const;
  void count_promises(Instant now, Effects& out);
  void take_office(Instant now, Effects& out);
  bool heard(const VotePeer& peer, Instant now) const;
  void look_for_better(Instant now, Effects& out);
  void begin_drain(Instant now, std::string cause, NodeId heir, Effects& out);
  void resign(Instant now, Effects& out);

  VoteBook& book_;
  VoteSearch& search_;
  VoteElection& election_;
  VoteLedger& ledger_ = book_.ledger;
  Record& record_ = book_.record;
  const VoteConfig& config_ = book_.config;
  Periodic beats_{Period::up_to(config_.timing.heartbeat()), book_.prng.fork()};
  Term term_;
  uint64_t win_version_ = 0;  // of the record under which the winner is announced
  uint64_t beat_ = 0;
  std::array<Instant, kRounds> sent_{};
  Instant next_beat_ = Instant::never();
  Instant repeat_beat_ = Instant::never();
  Instant winning_until_ = Instant::never();
  Instant ends_;
  Instant hard_end_;
  bool work_runs_ = false;
  std::optional<SteppingDown> stepping_down_;
  Instant fall_back_ = Instant::never();  // no heir has taken over by then: this node does again
};

}  // namespace bellwether::vote
