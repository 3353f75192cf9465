// One node of a group that elects an admin by scored votes: who stands tells what it is worth, everybody votes for the
// best that it has heard of and believes, and whoever has the votes of a quorum leads for as long as a quorum answers
// its heartbeats. It reads no clock: each step is told the time of the boot clock, freshly read, and answers with
// effects.
//
// What it guarantees under QuorumRule::kMajority, given that its driver carries effects out in order, that disks keep
// what they have confirmed, that clocks keep within the drift, and that no node votes twice in spite of its record:
//   - a term has one admin: it needs votes of a majority, and a vote is durable before it is sent;
//   - an admin acts only while a majority has promised to answer nobody else, and has stopped before any of these
//     promises ends; no promise is made to an earlier term than the last one. So no two act at once, and terms of those
//     who act only grow;
//   - a higher score never takes the office from an admin that a majority answers: nobody under a promise takes part in
//     an election. An admin hands over by itself.
// Under the other rules two admins are possible, and one of them steps down when they hear of each other.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/periodic.h"
#include "core/base/prng.h"
#include "election/vote/ballot.h"
#include "election/vote/claim_check.h"
#include "election/vote/vote_events.h"
#include "election/vote/vote_timing.h"

namespace bellwether::vote {

struct VoteConfig {
  NodeId self;
  std::vector<NodeId> members;  // declared, this node among them; at most kMostNodes
  QuorumRule rule = QuorumRule::kMajority;
  VoteTiming timing;
  ScoreWeights weights;
  bool reconstructs_keys = false;                // an admin needs KeysReady before it acts
  Duration drain_limit = Duration::seconds(30);  // for the work of an admin that hands over to stop in good order
  // An admin hands over to a candidate that was better by so much at so many heartbeats in a row. 0 beats: never.
  double transfer_margin = 0.15;
  int transfer_after = 8;
  double reputation_weight = 0;  // so much of a score is lost for a standing of 0; 0: reputations count for nothing
  std::map<NodeId, std::vector<std::string>> capabilities = {};  // of each at most these; of who is missing: any
};

enum class Office : uint8_t {
  kNone,
  kWinning,         // has the votes; asks for promises
  kReconstructing,  // has the promises of a quorum; waits for its keys
  kAdmin,
  kStopping,  // the term has ended before the work has
};

class VoteElector {
 public:
  // `seed` decides jitter and the mark of this life; it must differ between nodes and between starts.
  // REQUIRES a configuration that validates: timing, weights, members.
  VoteElector(VoteConfig config, uint64_t seed);

  void step(Instant now, const Event& event, Effects& effects);
  // When to send Tick at the latest.
  Instant wake() const;

  State state() const { return state_; }
  Office office() const { return office_; }
  // The admin as far as this node knows, and its term.
  NodeId admin() const { return admin_; }
  Term admin_term() const { return admin_term_; }
  bool leads(Instant now) const { return office_ == Office::kAdmin && now < ends_; }
  // Whether it has promised to follow this admin in this term, durably, and the promise has not run out.
  bool follows(NodeId admin, Term term, Instant now) const {
    return admin_ == admin && admin_term_ == term && promised_to_ == admin && record_.promised == term &&
           has_promised(now) && durable_ >= promise_version_ && !follows_only();
  }
  Instant ends() const { return ends_; }            // of the term; nothing is begun after it
  Instant stopped_by() const { return hard_end_; }  // nothing of the work acts after it
  const Record& record() const { return record_; }
  const Claim& claim() const { return claim_; }
  bool stands() const;
  bool follows_only() const { return record_.lost || silent_; }
  // The election under way, or the last one; nullptr: none yet.
  const Ballot* ballot() const { return round_ ? &round_->ballot : nullptr; }
  Term ballot_term() const { return round_ ? round_->term : Term(); }
  Trigger ballot_trigger() const { return round_ ? round_->trigger : Trigger::kDiscoveryFailure; }
  bool ballot_over() const { return round_ && round_->over; }
  // Whom this node has promised to answer nobody else, and until when; kNobody: never anybody in this life.
  NodeId promised_to() const { return promised_to_; }
  Instant promised_until() const { return promised_until_; }
  // While it is in office: until when it may count on the promise of each who has answered.
  std::map<NodeId, Instant> promises() const;
  // Messages that were not listened to, by reason.
  const std::array<uint64_t, kRefusals>& refusals() const { return refusals_; }
  const VoteConfig& config() const { return config_; }

 private:
  static constexpr std::size_t kRounds = 64;  // heartbeats whose answers still count
  // A voter makes an admin beat this many times as often as its own settings say, at most.
  static constexpr int64_t kMostHaste = 16;
  static constexpr std::size_t kMostHeld = 256;  // messages that wait for the disk

  struct Peer {
    uint64_t start = 0;  // the life that is listened to
    uint64_t mark = 0;
    uint64_t newest = 0;  // the highest sequence heard of it
    uint64_t heard = 0;   // bit i: sequence newest - i was heard
    Instant last_heard;   // 0: never
    KnownOfNode known;
    std::string refused;     // the last reason, until something is in order
    Instant acked_sent;      // when that heartbeat was sent which it answered last
    Instant promised_until;  // to answer nobody else
    bool acked = false;
    uint64_t acked_round = 0;
    bool stands = false;
    double score = 0;
    int better = 0;  // heartbeats in a row
  };

  struct Backing {
    Instant until;
    Instant sent;
    auto operator<=>(const Backing&) const = default;
  };

  // An election in which this node takes part.
  struct Round {
    Term term;
    Trigger trigger;
    Ballot ballot;
    NodeId heir;      // the only one who is voted for
    NodeId silent;    // nobody waits for its candidacy: it is why there is an election
    Instant vote_at;  // whoever has not been heard of by then is not waited for
    Instant closes;
    Instant repeat_at;
    bool gathered = false;             // vote_at has come
    bool voted = false;                // decided; perhaps not durable yet
    bool over = false;                 // won, lost or given up; kept to be shown
    std::set<NodeId> unheard_by = {};  // whose candidacy is said again, so that this node's is, too
  };

  // Of a heartbeat or an answer that waits for the disk.
  struct Held {
    uint64_t version = 0;
    NodeId to;  // kNobody: all
    Body body;
  };

  // vote_elector.cc: events, the record, and what others may be listened to
  void on_start(Instant now, const Start& start, Effects& out);
  void on_tick(Instant now, Effects& out);
  void on_received(Instant now, const Message& message, Effects& out);
  void on_persisted(Instant now, const Persisted& done, Effects& out);
  bool is_listened_to(Instant now, NodeId from, Peer& peer, const Message& message, Effects& out);
  void refuse(NodeId from, Peer& peer, Refusal kind, std::string why, Effects& out);
  uint64_t persist(Effects& out);
  void say(NodeId to, Body body, Effects& out);  // kNobody: to all
  void say_when_durable(uint64_t version, NodeId to, Body body, Effects& out);
  void measure(Instant now, Claim claim);
  void become(State state, std::string why, Effects& out);
  void set_admin(NodeId admin, Term term, std::string evidence, Effects& out);
  void note(bool warning, std::string text, Effects& out) const;
  void follow_only(Instant now, const std::string& why, Effects& out);

  // vote_election.cc: looking for an admin, and what makes an election
  void discover(Instant now, std::string why, Effects& out);
  void ask_around(Instant now, Effects& out);
  void on_request(NodeId from, Effects& out);
  void on_response(Instant now, NodeId from, const DiscoveryResponse& response, Effects& out);
  void tell(NodeId to, Effects& out);
  void look_at_quorum(Instant now);
  bool sees_quorum(Instant now) const;
  void call_election(Instant now, const CallElection& wish, Effects& out);
  void trigger(Instant now, Trigger why, Effects& out);
  Instant window_end(Trigger why) const;
  void split_brain(Instant now, NodeId other, Effects& out);

  // vote_election.cc, too: elections
  bool may_take_part(Instant now) const;
  // What is taken off the score of that node for how it has conducted itself.
  double penalty_of(const Peer& peer) const { return config_.reputation_weight * (1 - peer.known.standing); }
  // It has voted in no later one, and promised nothing in one.
  Term last_term() const { return std::max(record_.term, record_.promised); }
  Term next_term() const;
  void join_if_newer(Instant now, Term term, Effects& out);
  void start_election(Instant now, Trigger why, std::optional<Permission> permission, Effects& out);
  void on_started(Instant now, NodeId from, const ElectionStarted& started, Effects& out);
  void join(Instant now, Term term, Trigger why, NodeId heir, Effects& out);
  void on_candidacy(Instant now, NodeId from, Peer& peer, const Candidacy& candidacy, Effects& out);
  void try_vote(Instant now, Effects& out);
  void on_vote(Instant now, NodeId from, const Vote& vote, Effects& out);
  void decide(Instant now, bool closed, Effects& out);
  void repeat(Instant now, Effects& out);
  void win(Instant now, Effects& out);
  void close_soon(Instant now);
  void fail_round(Instant now, std::string why, Effects& out);
  void end_round(NodeId winner, Term term, std::string why, Effects& out);

  // vote_admin.cc: heartbeats, promises, and the ways in which a term ends
  void on_winner(Instant now, NodeId from, const Winner& winner, Effects& out);
  void on_admin_word(Instant now, NodeId from, uint64_t mark, Term term, uint64_t round, Effects& out);
  void on_answer(Instant now, Peer& from, const HeartbeatAnswer& answer, Effects& out);
  void beat(Instant now, Effects& out);
  void repeat_beat(Instant now, Effects& out);
  Backing quorum_backing(Instant now) const;
  void count_promises(Instant now, Effects& out);
  void on_keys(Instant now, const KeysReady& keys, Effects& out);
  void take_office(Instant now, Effects& out);
  void look_for_better(Instant now, Effects& out);
  void on_transfer(Instant now, const Transfer& wish, Effects& out);
  void on_leave(Instant now, const Leave& wish, Effects& out);
  void begin_drain(Instant now, std::string cause, NodeId heir, Effects& out);
  void on_work_stopped(Instant now, Effects& out);
  void resign(Instant now, Effects& out);
  void end_term(Instant now, election::EndReason reason, std::string why, Effects& out);
  bool in_office() const {
    return office_ == Office::kWinning || office_ == Office::kReconstructing || office_ == Office::kAdmin;
  }
  bool has_promised(Instant now) const { return now < promised_until_; }
  // Which heartbeat was sent at which instant.
  Instant sent_at(uint64_t round) const { return sent_[round % kRounds]; }

  VoteConfig config_;
  Prng prng_;
  uint64_t mark_;
  Periodic beats_;
  std::map<NodeId, Peer> peers_;
  uint64_t sequence_ = 0;
  std::array<uint64_t, kRefusals> refusals_{};

  bool started_ = false;
  bool silent_ = false;  // another process has this id
  Record record_;
  uint64_t durable_ = 0;
  bool disk_failed_ = false;
  Instant disk_again_ = Instant::never();
  std::vector<Held> held_;
  uint64_t vote_version_ = 0;     // of the record that holds the vote which is to be sent
  uint64_t win_version_ = 0;      // of the record under which the winner is announced
  uint64_t promise_version_ = 0;  // of the record that binds this node to the admin which it answers

  State state_ = State::kIdle;
  Office office_ = Office::kNone;
  Claim claim_;
  Instant measured_at_;  // from then on its times have grown
  bool measured_ = false;
  bool leaving_ = false;
  bool steps_back_ = false;  // from the next election: the last one was split
  Term highest_;             // that was heard of

  NodeId admin_;
  Term admin_term_;
  bool hearsay_ = false;                    // only others have said so
  NodeId last_admin_;                       // in that term, also when it is gone
  Term given_up_;                           // by who had it: what is heard of it was said before
  Instant admin_until_ = Instant::never();  // nothing was heard of it by then: it is gone
  NodeId promised_to_;
  Instant promised_until_;
  Instant quiet_until_;  // a promise of an earlier life may last until then
  Instant last_election_;
  bool any_election_ = false;

  Instant next_discovery_ = Instant::never();
  Instant elect_at_ = Instant::never();
  Trigger elect_why_ = Trigger::kDiscoveryFailure;
  bool quorum_was_lost_ = false;
  std::optional<Round> round_;
  bool called_ = false;  // an election, while one was under way

  // Of an admin, and of who is about to be one.
  Term term_;
  uint64_t beat_ = 0;
  std::array<Instant, kRounds> sent_{};
  Instant next_beat_ = Instant::never();
  Instant repeat_beat_ = Instant::never();
  Instant winning_until_ = Instant::never();
  Instant ends_;
  Instant hard_end_;
  bool work_runs_ = false;
  struct SteppingDown {
    std::string cause;
    NodeId heir;
    Instant until;
  };
  std::optional<SteppingDown> stepping_down_;
  Instant fall_back_ = Instant::never();  // no heir has taken over by then: this node does again
};

}  // namespace bellwether::vote
