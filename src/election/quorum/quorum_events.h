// The events that a QuorumElector takes, the messages between members, and the effects that it returns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/time.h"
#include "election/elector_events.h"
#include "election/quorum/configuration.h"

namespace bellwether::quorum {

// The messages between members. Every message names the life of its sender (drawn anew at each start) and the number of
// writes of the sender's record. So receivers detect a member that returns from an older copy of its disk, or a second
// process under the same id. Every question has a number, which its answer repeats, so a late answer to an older
// question counts for nothing.

// The fitness of the sender to lead, by its own report. It orders the candidates, and never decides who wins.
struct Eligibility {
  uint8_t health = 0;     // local health score, 0 good to 8 bad
  uint8_t priority = 0;   // 0 first
  bool electable = true;  // may stand at all
  bool active = false;    // has the state of the group; otherwise it is still syncing
  uint64_t state = 0;     // how new its durable state is
  bool operator==(const Eligibility&) const = default;
};

enum class Refusal : uint8_t {
  kNone,
  kQuiet,         // has just started: it may have promised something that it does not know of
  kPromised,      // to a leader, for a limited time
  kLeading,       // leads itself, or still stops
  kOlderTerm,     // of the candidate
  kVoted,         // for another one in this term
  kOlderMembers,  // the candidate does not know the newest configuration
  kActiveFirst,   // the candidate is still syncing, the voter is not
  kOlderState,    // both are syncing, and the voter has newer state
  kDisk,          // the vote could not be made durable
};
const char* to_string(Refusal refusal);

// After a start: does a member know more of the sender than the sender itself? The receiver then accepts only this
// life, once it has repeated the challenge of the answer: a recorded old greeting cannot do that.
struct Greeting {
  uint64_t challenge = 0;  // as answered; 0: none yet
};
struct GreetingAnswer {
  uint64_t life = 0;           // of the greeter
  uint64_t challenge = 0;      // to be repeated; 0: this life is known now
  uint64_t newest_record = 0;  // of the greeter, as far as the answerer has seen
};
// To a sender whose life has been followed by another one under the same id.
struct Superseded {
  uint64_t life = 0;  // whose is over
};
// To a sender that has not greeted.
struct WhoAreYou {};

struct PreVote {
  uint64_t number = 0;
  Term proposed;
  ConfigurationStamp members;
  Eligibility eligibility;
};
struct PreVoteAnswer {
  uint64_t number = 0;
  Refusal refusal = Refusal::kNone;
  Duration again_after;  // of kQuiet and kPromised: from when on it may be granted
};
// A leader's statement that it acts no more in its term.
struct Permission {
  MemberId leader;
  Term term;
  bool operator==(const Permission&) const = default;
};
struct Vote {  // in the term of the message
  uint64_t number = 0;
  ConfigurationStamp members;
  Eligibility eligibility;
  std::optional<Permission> permission;
};
struct VoteAnswer {
  uint64_t number = 0;
  Refusal refusal = Refusal::kNone;
  Duration again_after;
};
struct Heartbeat {
  uint64_t round = 0;
  Duration lease;
  ConfigurationStamp members;
};
struct HeartbeatAnswer {
  uint64_t round = 0;
  uint64_t leader_life = 0;
  bool promised = false;  // not to vote for another member before the lease is over
  ConfigurationStamp members;
  Eligibility eligibility;
};
// The receiver must stand at once; the sender acts no more in the term of the message.
struct StandNow {};
// The sender acts no more in the term of the message.
struct Resigned {};
struct Configure {
  Configuration members;
};

using Body = std::variant<Greeting, GreetingAnswer, Superseded, WhoAreYou, PreVote, PreVoteAnswer, Vote, VoteAnswer,
                          Heartbeat, HeartbeatAnswer, StandNow, Resigned, Configure>;

struct Message {
  MemberId from;
  Term term;            // the highest that the sender knows
  uint64_t life = 0;    // of the sender
  uint64_t record = 0;  // the known number of writes of the sender's record
  Body body;
};

using election::Drain;
using election::Elected;
using election::Note;
using election::Renewed;
using election::TermEnded;

// The data that a member must never forget: kept whole, with a checksum, on a disk that it does not share.
struct Record {
  uint64_t version = 0;  // how often it was written
  Term term;
  MemberId vote;           // in that term; kNobody: none
  Duration longest_lease;  // of any that was promised
  Configuration members;
  bool lost = false;  // earlier promises are unknown: this member follows only
  bool operator==(const Record&) const = default;
};

// --- events ----------------------------------------------------------------------------------------------------------

struct Start {
  enum class Found : uint8_t {
    kRecord,
    kNew,         // an operator says so: this member was never there before. An empty disk alone does not prove it.
    kUnreadable,  // torn, foreign, or gone: this member follows, and neither votes nor stands again
  };
  Found found = Found::kNew;
  Record record;
};
struct Tick {};  // the time of wake() has come
struct Received {
  Message message;
};
// The answer to Persist. Not ok: perhaps it was written, perhaps not.
struct Persisted {
  uint64_t version = 0;
  bool ok = true;
  std::string why;
};
enum class Load : uint8_t { kNormal, kElevated, kHigh, kSevere, kCritical };
// The health of this member, reported at each of its checks.
struct LocalHealth {
  uint8_t score = 0;  // 0 good to 8 bad
  Load load = Load::kNormal;
  bool ready = true;  // of its services
  bool disk = true;   // answers
};
// Membership suspects the leader. This ends no promise, but only the wait for the member's turn after it.
struct LeaderSuspected {
  MemberId leader;
};
// Proof that the leader's process has ended: its own kernel said so (a pidfd, a lock of the host that was released).
// Neither silence nor another member's statement is a proof.
struct LeaderDead {
  MemberId leader;
  uint64_t life = 0;
};
struct WorkStopped {};  // nothing of the guarded work runs now
struct StepDown {
  std::string cause;
  MemberId heir = kNobody;  // kNobody: the fittest
  bool leaving = false;     // do not stand again
  bool forced = true;       // also in the cool-down
};
// Whether this member may be elected; it votes in any case. A leader continues to lead.
struct Stand {
  bool stands = true;
};
struct Synced {};  // this member has the state of the group
struct SyncFailed {
  std::string why;
};
struct StateWritten {
  uint64_t state = 0;  // how new the durable state of this member is
};
struct ChangeMembers {
  MemberChange change;
};

using Event = std::variant<Start, Tick, Received, Persisted, LocalHealth, LeaderSuspected, LeaderDead, WorkStopped,
                           StepDown, Stand, Synced, SyncFailed, StateWritten, ChangeMembers>;

// --- effects ---------------------------------------------------------------------------------------------------------
// To be carried out in their order. The epoch of Elected and TermEnded is the term.

// Make it durable, whole (fsync of the file and of its folder), then say Persisted with its version. In order.
// Dependent messages leave only after that answer, so that a driver cannot send them too early.
struct Persist {
  Record record;
};
struct Send {
  MemberId to;
  Message message;
};
struct LeaderChanged {
  MemberId leader;  // kNobody: no known leader
  Term term;
  std::string evidence;
};
struct MembersChanged {
  Configuration members;
};
// Of ChangeMembers.
struct ChangeRefused {
  std::string why;
};
// After a StepDown with leaving: another member may lead, or the group has no leader.
struct Left {};

using Effect = std::variant<Persist, Send, Elected, Renewed, Drain, TermEnded, LeaderChanged, MembersChanged,
                            ChangeRefused, Note, Left>;
using Effects = std::vector<Effect>;

}  // namespace bellwether::quorum
