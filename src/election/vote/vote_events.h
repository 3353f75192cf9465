// The events that a VoteElector takes, the messages between nodes, and the effects that it returns.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/base/strong_id.h"
#include "core/base/time.h"
#include "election/durable_record.h"
#include "election/elector_events.h"
#include "election/epoch.h"
#include "election/vote/score.h"

namespace bellwether::vote {

// The messages between nodes that elect an admin by scored votes. Every message names the life of its sender (a durable
// number that grows with each start, and a random mark) and its sequence number in that life. So receivers detect
// recorded messages, older copies of a disk, and a second process under the same id. Drivers sign messages and refuse
// those that their sender has not signed.

using election::Term;

// A node, identified for the life of its durable record: after a loss of the record it returns under another id.
using NodeId = StrongId<struct NodeTag, uint64_t>;
inline constexpr NodeId kNobody{};
inline constexpr std::size_t kMaxNodes = 127;

// Why an election is held, the most pressing first.
enum class Trigger : uint8_t {
  kSplitBrain,
  kManual,
  kHeartbeatTimeout,
  kQuorumRestored,
  kDiscoveryFailure,
};
inline constexpr std::size_t kTriggers = 5;
// "split_brain_detected", "manual_trigger", "admin_heartbeat_timeout", "quorum_restored", "no_admin_discovered".
std::string_view to_string(Trigger trigger);

struct DiscoveryRequest {};
// Sent to a node that asks, by each node that knows an admin; to a node that comes back, by each node that remembers
// it; and to a node that is wrong about the admin or the term.
struct DiscoveryResponse {
  NodeId admin;  // kNobody: none is known
  Term admin_term;
  uint64_t start_seen = 0;  // the highest of the receiver; see Message::start
  uint64_t mark_seen = 0;   // of that start
};
// An admin's statement that it acts no more in its term, and the name of its successor.
struct Permission {
  Term term;
  NodeId heir;  // kNobody: the winner of the election
  bool operator==(const Permission&) const = default;
};
struct ElectionStarted {
  Term term;
  Trigger trigger = Trigger::kDiscoveryFailure;
  std::optional<Permission> permission;  // of the sender
};
// Each participant sends one, candidate or not.
struct Candidacy {
  Term term;
  bool stands = false;
  Claim claim;  // when it stands
};
struct Vote {
  Term term;
  NodeId candidate;
};
// From the winner; asks for the same answer as a heartbeat.
struct Winner {
  Term term;
  uint64_t round = 0;
  std::vector<NodeId> voters;  // its voters
};
struct Heartbeat {
  Term term;
  uint64_t round = 0;
};
struct HeartbeatAnswer {
  Term term;
  uint64_t round = 0;
  uint64_t admin_mark = 0;  // of the life that sent the heartbeat
  bool stands = false;
  double score = 0;  // when it stands
  // From the sending of the heartbeat, the sender of this answer answers no other admin for at least this time. Nodes
  // may have different times.
  Duration promise;
};

using Body = std::variant<DiscoveryRequest, DiscoveryResponse, ElectionStarted, Candidacy, Vote, Winner, Heartbeat,
                          HeartbeatAnswer>;

struct Message {
  NodeId from;
  uint64_t start = 0;     // how often the sender was started, by its durable record
  uint64_t mark = 0;      // drawn at that start
  uint64_t sequence = 0;  // of all its messages in this life, from 1
  Term term;              // the highest that it knows
  Body body;
};

// The conduct of a node, as one voter has seen it: terms that it has completed, heartbeats that it owed as an admin,
// and claims that could not be true. Each voter keeps its own book over restarts.
//
//   reputation = (1 + served) / (1 + served + lost + 2 wrong), to the nearest quarter
//
// It is coarse, so that voters with similar observations rate a node alike. It forgets: when a count reaches
// kMaxCounted, it halves all counts of that node.
enum class Deed : uint8_t {
  kServed,          // has given up the office in order
  kLostHeartbeats,  // was the admin, and silent for the heartbeat timeout
  kWrongClaim,      // has made an impossible claim
};

inline constexpr uint32_t kMaxCounted = 64;

class ReputationBook {
 public:
  void add(NodeId node, Deed deed);
  // 0 to 1; 1 for an unknown node.
  double reputation(NodeId node) const;

  // As text, one line a node: "ID SERVED LOST WRONG".
  std::string text() const;
  // kInvalid: not such a text, or a count above its limit.
  static Result<ReputationBook> read(std::string_view text);

 private:
  struct Counts {
    uint32_t served = 0;
    uint32_t lost = 0;
    uint32_t wrong = 0;
  };
  std::map<NodeId, Counts> nodes_;
};

using election::Drain;
using election::Elected;
using election::Note;
using election::Persisted;
using election::Renewed;
using election::TermEnded;

// The data that a node must never forget: kept whole, with a checksum, on a disk that it does not share.
struct Record {
  uint64_t version = 0;        // how often it was written
  uint64_t start = 0;          // how often the node was started
  Term term;                   // the last in which it voted
  NodeId vote;                 // in it
  Term promised;               // the term of the last admin that got a promise; an admin of an earlier term gets none
  uint64_t promised_mark = 0;  // of that admin's life: no other one has the term
  Duration longest_promise;    // of any that was made
  bool lost = false;           // earlier promises are unknown: this node follows only
  bool operator==(const Record&) const = default;
};

// --- events ----------------------------------------------------------------------------------------------------------

using Start = election::StartOf<Record>;
struct Tick {};  // the time of wake() has come
struct Received {
  Message message;
};
// The claim of this node: needed before it can stand, and again at each change. The elector recomputes its score.
struct Measured {
  Claim claim;
};
// This node's own knowledge of another one. See score.h.
struct PeerMeasured {
  NodeId node;
  double network_quality = 1;
};
// This node's knowledge of another one before its candidacy arrives: what an operator has attested, and whether
// membership holds it there. See score.h.
struct PeerVetted {
  NodeId node;
  std::optional<std::vector<std::string>> capabilities = {};  // at most these count; nothing: any
  std::string capabilities_why = {};
  std::string absent = {};
};
// How another node has conducted itself, see ReputationBook.
struct PeerReputation {
  NodeId node;
  double reputation = 1;
};
struct WorkStopped {};  // nothing of the guarded work runs now
// An operator asks for an election.
struct CallElection {
  bool forced = false;  // also in the stability windows
};
// An operator, or the work, wants this admin to hand over to `heir`; kNobody: to the best of the others.
struct Transfer {
  NodeId heir;
  std::string cause = {};
};
// This node hands over if it is the admin, and does not stand again.
struct Leave {
  std::string cause;
};
// The answer to Reconstruct: the keys, or a failure.
struct KeysReady {
  Term term;
  bool ok = true;
  std::string why;
};

using Event = std::variant<Start, Tick, Received, Persisted, Measured, PeerMeasured, PeerVetted, PeerReputation,
                           WorkStopped, CallElection, Transfer, Leave, KeysReady>;

// --- effects ---------------------------------------------------------------------------------------------------------
// To be carried out in their order. The epoch of Elected and TermEnded is the term.

// Make it durable, whole (fsync of the file and of its folder), then say Persisted with its version. In order.
// Dependent messages leave only after that answer, so that a driver cannot send them too early.
struct Persist {
  Record record;
};
struct Send {
  NodeId to;
  Message message;
};
// To all members but this one.
struct Broadcast {
  Message message;
};
enum class State : uint8_t { kIdle, kDiscovering, kElecting, kReconstructing, kComplete };
inline constexpr std::size_t kStates = 5;
// "idle", "discovering", "electing", "reconstructing_keys", "complete".
std::string_view to_string(State state);
struct StateChanged {
  State from = State::kIdle;
  State to = State::kIdle;
  std::string why;
};
struct AdminChanged {
  NodeId old_admin;
  NodeId new_admin;  // kNobody: none is known
  Term term;
  std::string evidence;
};
// An election in which this node took part is over.
struct ElectionComplete {
  NodeId winner;  // kNobody: none
  Term term;
  std::string why;
};
// This node has won and has the promises: collect the shares of the admin's key, then send KeysReady. Later effects of
// an ended term do nothing.
struct Reconstruct {
  Term term;
};
// The reason for ignoring a message.
enum class Refusal : uint8_t {
  kStranger,
  kEarlierLife,
  kSecondProcess,
  kReplay,
  kOlderTerm,
  kNotElected,  // it claims a win that is impossible
};
inline constexpr std::size_t kRefusals = 6;
// "not_a_member", "earlier_life", "second_process", "heard_before", "older_term", "not_elected".
std::string_view to_string(Refusal refusal);
// An ignored message, and why. Reported once for each reason and sender, until the sender sends a valid message.
struct Refused {
  NodeId from;
  std::string why;
};
// An act of another node that counts for its reputation.
struct Conduct {
  NodeId node;
  Deed deed = Deed::kServed;
};
// Of CallElection and Transfer: it does not happen.
struct Denied {
  std::string why;
};
// After Leave: this node is no longer an admin.
struct Left {};

using Effect = std::variant<Persist, Send, Broadcast, Elected, Renewed, Drain, TermEnded, StateChanged, AdminChanged,
                            ElectionComplete, Reconstruct, Refused, Conduct, Denied, Note, Left>;
using Effects = std::vector<Effect>;

}  // namespace bellwether::vote
