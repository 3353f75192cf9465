// The state that all parts of an elector read and write: its state and office, its record, the other nodes, the admin,
// and the promise to the admin.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/prng.h"
#include "core/base/time.h"
#include "election/durable_record.h"
#include "election/vote/ballot.h"
#include "election/vote/score.h"
#include "election/vote/vote_events.h"
#include "election/vote/vote_timing.h"

namespace bellwether::vote {

// The record of a node, and its messages. A message that depends on the record (a vote, a promise, the number of this
// start) waits here until the record is durable.
class VoteLedger : public election::DurableRecord<Record, Persist, Effects> {
 public:
  // `mark` is named in each message.
  VoteLedger(NodeId self, uint64_t mark, Duration patience) : DurableRecord(patience), self_(self), mark_(mark) {}

  // It has voted in no later one, and promised nothing in one.
  Term last_term() const { return std::max(record.term, record.promised); }

  // Sends the messages that wait for this. False: the disk has failed.
  bool persisted(Instant now, const Persisted& done, Effects& out);
  bool is_durable(uint64_t version) const { return durable_ >= version; }

  void say(NodeId to, Body body, Effects& out);  // kNobody: to all
  void say_when_durable(uint64_t version, NodeId to, Body body, Effects& out);
  // An answer that waits for the disk is overtaken by the next one.
  void drop_answers();

 private:
  static constexpr std::size_t kMaxHeld = 256;  // messages that wait for the disk
  struct Held {
    uint64_t version = 0;
    NodeId to;  // kNobody: all
    Body body;
  };

  NodeId self_;
  uint64_t mark_;
  uint64_t sequence_ = 0;
  std::vector<Held> held_;
};

struct VoteConfig {
  NodeId self;
  std::vector<NodeId> members;  // declared, this node among them; at most kMaxNodes
  QuorumRule rule = QuorumRule::kMajority;
  VoteTiming timing;
  ScoreWeights weights;
  bool reconstructs_keys = false;                // an admin needs KeysReady before it acts
  Duration drain_limit = Duration::seconds(30);  // for the work of an admin that hands over to stop in order
  // An admin hands over to a candidate that was better by so much at so many heartbeats in a row. 0 beats: never.
  double transfer_margin = 0.15;
  int transfer_after = 8;
  double reputation_weight = 0;  // so much of a score is lost for a reputation of 0; 0: reputations count for nothing
  std::map<NodeId, std::vector<std::string>> capabilities = {};  // of each node at most these; of a missing node: any
};

enum class Office : uint8_t {
  kNone,
  kWinning,         // has the votes; asks for promises
  kReconstructing,  // has the promises of a quorum; waits for its keys
  kAdmin,
  kStopping,  // the term has ended before the work has
};

struct VotePeer {
  uint64_t start = 0;  // the life that is listened to
  uint64_t mark = 0;
  uint64_t newest = 0;  // the highest sequence received from it
  uint64_t heard = 0;   // bit i: sequence newest - i was received
  Instant last_heard;   // 0: never
  KnownOfNode known;
  std::string refused;     // the last reason, until something is in order
  Instant acked_sent;      // when that heartbeat was sent which it answered last
  Instant promised_until;  // to answer no other node
  bool acked = false;
  uint64_t acked_round = 0;
  bool stands = false;
  double score = 0;
  int better = 0;  // heartbeats in a row
};

struct VoteBook {
  VoteBook(VoteConfig with, uint64_t seed);
  VoteBook(const VoteBook&) = delete;
  VoteBook& operator=(const VoteBook&) = delete;

  const VoteConfig config;
  Prng prng;
  const uint64_t mark;
  VoteLedger ledger;
  Record& record = ledger.record;
  std::map<NodeId, VotePeer> peers;
  std::array<uint64_t, kRefusals> refusals{};
  void refuse(NodeId from, VotePeer& peer, Refusal kind, std::string why, Effects& out);

  // --- this node
  State state = State::kIdle;
  void become(State to, std::string why, Effects& out);
  Office office = Office::kNone;
  bool in_office() const {
    return office == Office::kWinning || office == Office::kReconstructing || office == Office::kAdmin;
  }
  Claim claim;
  Instant measured_at;  // from then on its times have grown
  bool measured = false;
  void measure(Instant now, Claim what) { claim = std::move(what), measured_at = now, measured = true; }
  bool leaving = false;
  bool silent = false;  // another process has this id
  bool follows_only() const { return record.lost || silent; }
  bool stands() const { return measured && !leaving && !follows_only() && may_stand(claim.capabilities); }
  // The deduction from that node's score for its conduct.
  double penalty_of(const VotePeer& peer) const { return config.reputation_weight * (1 - peer.known.reputation); }

  // --- the admin
  NodeId admin;
  Term admin_term;
  bool hearsay = false;                    // only from others
  NodeId last_admin;                       // in that term, also when it is gone
  Instant admin_until = Instant::never();  // without a message until then, it is gone
  Term highest;                            // of all known terms
  void set_admin(NodeId who, Term term, std::string evidence, Effects& out);

  // --- the promise of this node
  NodeId promised_to;
  Instant promised_until;
  Instant quiet_until;  // a promise of an earlier life may last until then
  bool has_promised(Instant now) const { return now < promised_until; }
  bool may_take_part(Instant now) const {
    return !follows_only() && !ledger.disk_failed() && office == Office::kNone && now >= promised_until &&
           now >= quiet_until;
  }
};

}  // namespace bellwether::vote
