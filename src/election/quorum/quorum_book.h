// The state that all parts of an elector read and write: its role and term, its record, the members, and the time of
// its turn to stand.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/periodic.h"
#include "core/base/prng.h"
#include "core/base/time.h"
#include "election/durable_record.h"
#include "election/lease_timing.h"
#include "election/quorum/quorum_events.h"
#include "election/quorum/quorum_timing.h"

namespace bellwether::quorum {

// The record of a member, and its messages. A message that depends on the record (a vote, a promise) waits here until
// the record is durable: send_when_durable() is the only way to send it.
class QuorumLedger : public election::DurableRecord<Record, Persist, Effects> {
 public:
  // `life` is named in each message.
  QuorumLedger(MemberId self, uint64_t life, Duration patience) : DurableRecord(patience), self_(self), life_(life) {}

  uint64_t vote_version = 0;  // of the record that holds the last vote
  bool verified = false;      // no member knows a newer record of this one, or the quiet time is over

  void load(const Record& found) {
    record = found;
    version_at_start_ = durable_ = found.version;
  }
  uint64_t version_at_start() const { return version_at_start_; }  // of the record
  // Sends the messages that wait for this. False: the disk has failed, and they are dropped.
  bool persisted(Instant now, const Persisted& done, Effects& out);
  bool is_durable() const { return durable_ >= record.version; }
  bool vote_is_durable() const { return durable_ >= vote_version; }

  void send(MemberId to, Body body, Effects& out) const;
  // Sends when version `version` of the record is durable, and drops it when the term has changed by then.
  void send_when_durable(uint64_t version, MemberId to, Body body, Effects& out);

 private:
  static constexpr std::size_t kMaxHeld = 64;  // messages that wait for the disk
  struct Held {
    uint64_t version;
    Term term;
    MemberId to;
    Body body;
  };

  MemberId self_;
  uint64_t life_;
  uint64_t version_at_start_ = 0;
  std::vector<Held> held_;
};

// From this health score on a member is not fit to lead while others are.
inline constexpr uint8_t kFitBelow = 5;

struct QuorumConfig {
  MemberId self;
  QuorumTiming timing;
  std::vector<MemberId> bootstrap;               // the declared members of a new group; empty: a leader sends them
  uint8_t priority = 0;                          // 0 stands first
  bool witness = false;                          // votes, and never stands
  uint8_t fit_below = kFitBelow;                 // an unfit member stands only after others have failed
  int patience = 3;                              // rounds without a leader after which any member stands
  int severe_checks = 3;                         // in a row, after which a leader looks for a better one
  Duration drain_limit = Duration::seconds(30);  // for the work of a leader that steps down to stop in order
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

// A voter, or a member that this one has heard of.
struct QuorumPeer {
  static constexpr std::size_t kLivesKept = 8;
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
  Eligibility eligibility;

  bool votes() const { return voter || next; }
  bool is_past(uint64_t other) const {
    return std::find(past_lives.begin(), past_lives.end(), other) != past_lives.end();
  }
};

struct QuorumBook {
  QuorumBook(QuorumConfig with, uint64_t seed);
  QuorumBook(const QuorumBook&) = delete;
  QuorumBook& operator=(const QuorumBook&) = delete;

  const QuorumConfig config;
  Prng prng;
  const uint64_t life;
  Periodic beats;
  QuorumLedger ledger;
  Record& record = ledger.record;

  // --- the role, and the term
  Role role = Role::kIdle;
  bool is_candidate() const { return role == Role::kPreCandidate || role == Role::kCandidate; }
  bool beats_now() const { return role == Role::kWinning || role == Role::kLeader; }
  MemberId leader;
  MemberId last_leader;  // other than kNobody
  void set_leader(Instant now, MemberId who, std::string evidence, Effects& out);
  // The term, and the vote in it, become one record.
  void adopt_term(Instant now, Term term, MemberId vote, std::string why, Effects& out);
  // Of a leader.
  Instant ends;
  Instant hard_end;
  bool work_runs = false;
  void end_term(Instant now, election::EndReason reason, std::string why, Effects& out);

  // --- the voters
  std::vector<QuorumPeer> peers;  // ascending ids
  void use(Configuration members);
  const QuorumPeer* find(MemberId id) const;
  QuorumPeer* find(MemberId id) { return const_cast<QuorumPeer*>(std::as_const(*this).find(id)); }
  QuorumPeer* find_or_add(MemberId id);
  bool is_self(const QuorumPeer& peer) const { return peer.id == config.self; }
  void send_all(const Body& body, Effects& out) const;
  // Whether a majority of the members has the property; during a change, a majority of both.
  template <class Has>
  bool quorum_of(Has has) const;

  // --- when its turn comes
  Instant promised_until;
  Instant quiet_until;        // it may have promised something in an earlier life
  bool follows_only = false;  // its record was lost
  Eligibility eligibility;
  LocalHealth health;
  bool stands = true;
  bool leaving = false;
  bool suspected = false;  // the leader is
  Instant stand_at = Instant::never();
  int failed_rounds = 0;
  int failed_campaigns = 0;  // in a row, for want of time
  election::Damping damping;
  bool electable() const { return !config.witness && stands && !leaving && !follows_only && health.disk; }
  bool fit() const;
  std::size_t members_or_one() const { return std::max<std::size_t>(record.members.voters.size(), 1); }
  Duration turn() const;
  void wait_for_turn(Instant from);

 private:
  QuorumPeer& add_peer(MemberId id);
  std::size_t own_place() const;
};

template <class Has>
bool QuorumBook::quorum_of(Has has) const {
  std::size_t voters = 0;
  std::size_t next = 0;
  for (const QuorumPeer& peer : peers) {
    if (!peer.votes() || !has(peer)) continue;
    voters += peer.voter ? 1 : 0;
    next += peer.next ? 1 : 0;
  }
  if (record.members.voters.empty() || voters < majority_of(record.members.voters.size())) return false;
  return !record.members.joint() || next >= majority_of(record.members.next.size());
}

}  // namespace bellwether::quorum
