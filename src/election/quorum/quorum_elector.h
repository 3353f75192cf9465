// One member of a group that elects its leader by majority vote: terms, votes and check-quorum as in Raft (Ongaro and
// Ousterhout, 2014) with pre-vote (Ongaro's thesis, section 9.6), leader leases (Gray and Cheriton, 1989) and hand-over
// by permission; there is no log. It reads no clock: each step is told the time of the boot clock, freshly read, and
// answers with effects.
//
// What it guarantees, given that its driver carries effects out in order, that disks keep what they have confirmed, and
// that clocks keep within the drift (docs/cluster/election.md argues it):
//   - a term has one leader, and terms of leaders only grow;
//   - a leader's work has stopped, by its own clock, before any follower may vote for the next one;
//   - no vote and no promise leaves before it is durable, and none that may have been made is forgotten over a restart.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/periodic.h"
#include "core/base/prng.h"
#include "election/damping.h"
#include "election/quorum/quorum_events.h"
#include "election/quorum/quorum_timing.h"

namespace bellwether::quorum {

// From this health score on a member is not fit to lead while others are.
inline constexpr uint8_t kFitBelow = 5;

struct QuorumConfig {
  MemberId self;
  QuorumTiming timing;
  std::vector<MemberId> bootstrap;               // the declared members of a new group; empty: to be told by a leader
  uint8_t priority = 0;                          // 0 stands first
  bool witness = false;                          // votes, and never stands
  uint8_t fit_below = kFitBelow;                 // who is not fit stands only after others have failed
  int patience = 3;                              // rounds without a leader after which anybody stands
  int severe_checks = 3;                         // in a row, after which a leader looks for a better one
  Duration drain_limit = Duration::seconds(30);  // for the work of a leader that steps down to stop in good order
};

enum class Role : uint8_t {
  kIdle,  // before Start
  kFollower,
  kPreCandidate,
  kCandidate,
  kWinning,  // has the votes; leads once a quorum has promised
  kLeader,
  kStopping,  // the term has ended before the work has
};
const char* to_string(Role role);

class QuorumElector {
 public:
  // `seed` decides jitter and the name of this life; it must differ between members and between starts.
  QuorumElector(QuorumConfig config, uint64_t seed);

  void step(Instant now, const Event& event, Effects& effects);
  // When to send Tick at the latest.
  Instant wake() const;

  Role role() const { return role_; }
  Term term() const { return record_.term; }
  bool is_in_order(Term offered) const { return in_order(offered, record_.term); }
  // Who leads, as far as this member knows.
  MemberId leader() const { return leader_; }
  bool leads(Instant now) const { return role_ == Role::kLeader && now < ends_; }
  Instant ends() const { return ends_; }            // of the term; nothing is begun after it
  Instant stopped_by() const { return hard_end_; }  // nothing of the work acts after it
  const Configuration& members() const { return record_.members; }
  // Of a leader: a majority has the present members on its disks, and no change is under way. Only then has a change
  // outlived the loss of the leader.
  bool members_settled() const { return !record_.members.joint() && quorum_has_members(); }
  const Record& record() const { return record_; }
  bool active() const { return standing_.active; }
  bool follows_only() const { return follows_only_; }
  // Votes and promises count: it has greeted, and neither lost its record nor its place to another process.
  bool takes_part() const { return verified_ && !follows_only_ && !silent_; }
  uint64_t life() const { return life_; }
  // How often the record of `member` is known here to have been written.
  uint64_t record_seen_of(MemberId member) const;
  // Its last promise to a leader: to whom, and which life of it.
  MemberId promised_to() const { return promised_to_; }
  uint64_t promised_life() const { return leader_life_; }
  // Of a leader: somebody else could take over right now.
  bool has_heir(Instant now) const { return heir(now, false) != nullptr; }
  const QuorumConfig& config() const { return config_; }
  int failed_rounds() const { return failed_rounds_; }

 private:
  static constexpr std::size_t kRounds = 32;    // heartbeats whose answers still count
  static constexpr std::size_t kMostHeld = 64;  // messages that wait for the disk
  static constexpr std::size_t kLivesKept = 8;

  // Somebody who votes, or has been heard of.
  struct Peer {
    MemberId id;
    bool voter = false;  // of the present members
    bool next = false;   // of those to come
    uint64_t life = 0;
    std::array<uint64_t, kLivesKept> past_lives{};
    uint64_t newest_record = 0;
    uint64_t challenge = 0;  // put to a life that greets
    uint64_t challenged_life = 0;
    bool greeted = false;  // knows this life of ours
    bool granted = false;  // in the present round
    bool refused = false;
    Instant acked_sent;  // when that heartbeat was sent which it acknowledged last; 0: none
    bool acked = false;
    ConfigurationStamp members;
    Standing standing;
  };

  // What a candidate says of itself.
  struct Candidacy {
    MemberId id;
    Term term;
    ConfigurationStamp members;
    Standing standing;
    std::optional<Permission> permission;
  };

  // quorum_elector.cc: events and the record
  void on_start(Instant now, const Start& start, Effects& out);
  void on_tick(Instant now, Effects& out);
  void on_received(Instant now, const Message& message, Effects& out);
  void on_persisted(Instant now, const Persisted& done, Effects& out);
  void on_health(Instant now, const LocalHealth& health, Effects& out);
  void on_stand(Instant now, const Stand& wish);
  bool electable() const;
  void deliver(Instant now, Peer& from, const Message& message, Effects& out);

  // quorum_lead.cc: starting, and telling lives apart
  void greet(MemberId to, uint64_t challenge, Effects& out) const;
  void greet_all(Instant now, Effects& out);
  void on_greeting(Peer& from, const Message& message, const Greeting& greeting, Effects& out);
  void on_greeting_answer(Instant now, Peer& from, const GreetingAnswer& answer, Effects& out);
  void on_superseded(Instant now, const Superseded& superseded, Effects& out);
  void verify(Instant now, Effects& out);
  bool known_life(Peer& from, const Message& message, Effects& out);
  void lose_record(Instant now, std::string why, Effects& out);

  // The term, and the vote in it, become one record.
  void adopt_term(Instant now, Term term, MemberId vote, std::string why, Effects& out);
  uint64_t persist(Effects& out);
  void set_leader(Instant now, MemberId leader, std::string evidence, Effects& out);
  Message message(Body body) const;
  void send(MemberId to, Body body, Effects& out) const;
  void send_all(const Body& body, Effects& out) const;
  // Sends when version `version` of the record is durable, and drops it when the term has changed by then.
  void send_when_durable(uint64_t version, MemberId to, Body body, Effects& out);
  void note(bool warning, std::string text, Effects& out) const;

  // quorum_campaign.cc: as a voter and a follower
  Refusal refusal(Instant now, const Candidacy& candidate, Duration& again_after) const;
  void on_pre_vote(Instant now, Peer& from, const Message& message, const PreVote& ask, Effects& out);
  void on_vote(Instant now, Peer& from, const Message& message, const Vote& ask, Effects& out);
  void on_heartbeat(Instant now, Peer& from, const Message& message, const Heartbeat& beat, Effects& out);
  void on_word_of_leader(Instant now, Peer& from, const Message& message, Effects& out);
  void on_resigned(Instant now, Peer& from, const Message& message, Effects& out);
  void on_leader_dead(Instant now, const LeaderDead& dead, Effects& out);
  void withdraw_promise(Instant now, std::string why, Effects& out);

  // quorum_campaign.cc, too: standing
  bool may_stand() const;
  bool fit() const;
  Duration turn() const;
  void wait_for_turn(Instant from);
  void stand(Instant now, Effects& out);
  void campaign(Instant now, std::optional<Permission> permission, Effects& out);
  void request_votes(Instant now, Effects& out);
  void on_pre_vote_answer(Instant now, Peer& from, const PreVoteAnswer& answer, Effects& out);
  void on_vote_answer(Instant now, Peer& from, const Message& message, const VoteAnswer& answer, Effects& out);
  void on_stand_now(Instant now, Peer& from, const Message& message, Effects& out);
  void round_failed(Instant now, const char* why, Effects& out);
  void won(Instant now, Effects& out);
  bool quorum_granted() const;
  bool cannot_win() const;

  // quorum_lead.cc, too: leading
  void beat(Instant now, Effects& out);
  void on_heartbeat_answer(Instant now, Peer& from, const Message& message, const HeartbeatAnswer& answer,
                           Effects& out);
  void count_promises(Instant now, Effects& out);
  Instant quorum_sent(Instant now) const;
  void end_term(Instant now, election::EndReason reason, std::string why, Effects& out);
  void work_stopped(Instant now, Effects& out);
  void step_down(Instant now, const StepDown& wish, Effects& out);
  void consider_stepping_down(Instant now, Effects& out);
  const Peer* heir(Instant now, bool must_be_better) const;
  void hand_over(Instant now, Effects& out);
  void go_on_handing_over(Instant now, Effects& out);
  void resign(Effects& out);
  void follow(Instant now);

  // quorum_elector.cc, too: who votes
  void use(Configuration members);
  Peer* find(MemberId id);
  Peer& add_peer(MemberId id);
  Peer* find_or_add(MemberId id);
  std::size_t own_place() const;
  void on_change(Instant now, const ChangeMembers& wish, Effects& out);
  void on_configure(Instant now, Peer& from, const Message& message, const Configure& told, Effects& out);
  void configure(Instant now, Configuration members, Effects& out);
  void advance_members(Instant now, Effects& out);
  bool quorum_has_members() const;
  template <class Has>
  bool quorum_of(Has has) const;

  bool is_candidate() const { return role_ == Role::kPreCandidate || role_ == Role::kCandidate; }
  bool beats() const { return role_ == Role::kWinning || role_ == Role::kLeader; }

  QuorumConfig config_;
  Prng prng_;
  uint64_t life_;
  Periodic beats_;
  election::Damping damping_;
  Role role_ = Role::kIdle;
  std::vector<Peer> peers_;  // ascending ids

  // What is durable, and what waits for it.
  Record record_;
  uint64_t durable_ = 0;  // version of the record
  uint64_t vote_version_ = 0;
  bool disk_failed_ = false;
  Instant disk_again_ = Instant::never();
  struct Held {
    uint64_t version;
    Term term;
    MemberId to;
    Body body;
  };
  std::vector<Held> held_;

  // What was promised.
  MemberId leader_;
  MemberId last_leader_;  // that is not nobody
  uint64_t leader_life_ = 0;
  Term promised_term_;
  MemberId promised_to_;
  Instant promised_until_;
  bool follows_only_ = false;
  Term over_;              // its leader is known to act no more
  Instant quiet_until_;    // it may have promised something in an earlier life
  bool verified_ = false;  // every member has said that it knows nothing newer of us, or the quiet time is over
  bool silent_ = false;    // another process answers for this member
  uint64_t loaded_ = 0;    // version of the record at the start
  Instant next_greeting_;
  bool suspected_ = false;

  // Standing.
  Standing standing_;
  LocalHealth health_;
  bool stands_ = true;
  bool leaving_ = false;
  Instant stand_at_ = Instant::never();
  Instant round_ends_;
  Instant repeat_at_;
  Instant campaign_began_;
  uint64_t number_;  // of the present round; begins anywhere, so that no answer to an earlier life fits
  std::optional<Permission> permission_;
  Duration again_after_;
  int failed_rounds_ = 0;
  int failed_campaigns_ = 0;  // in a row, for want of time

  // Leading.
  uint64_t round_ = 0;
  std::array<Instant, kRounds> sent_;
  Instant next_beat_;
  Instant ends_;
  Instant hard_end_;
  bool work_runs_ = false;
  std::optional<StepDown> stepping_down_;
  Instant drain_until_ = Instant::never();
  int severe_ = 0;
  struct HandOver {
    MemberId heir;
    Instant until;
    Instant next;
  };
  std::optional<HandOver> hand_over_;
};

// Whether a majority of the members has what is asked; while they change, a majority of both.
template <class Has>
bool QuorumElector::quorum_of(Has has) const {
  std::size_t voters = 0;
  std::size_t next = 0;
  for (const Peer& peer : peers_) {
    if (!(peer.voter || peer.next) || !has(peer)) continue;
    voters += peer.voter ? 1 : 0;
    next += peer.next ? 1 : 0;
  }
  if (record_.members.voters.empty() || voters < majority_of(record_.members.voters.size())) return false;
  return !record_.members.joint() || next >= majority_of(record_.members.next.size());
}

}  // namespace bellwether::quorum
