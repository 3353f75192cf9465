// The events that a QuorumElector takes, the messages between members, and the effects that it returns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/time.h"
#include "election/durable_record.h"
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
  uint64_t state = 0;     // the version of its durable state
  bool operator==(const Eligibility&) const = default;
};

enum class Refusal : uint8_t {
  kNone,
  kQuiet,         // has just started: it may have forgotten a promise
  kPromised,      // has promised a leader not to vote until its lease is over
  kLeading,       // leads, or is still stopping its work
  kOlderTerm,     // the candidate's term is older
  kVoted,         // has voted for another member in this term
  kOlderMembers,  // the candidate does not know the newest configuration
  kActiveFirst,   // the candidate is still syncing, the voter is not
  kOlderState,    // both are syncing, and the voter has newer state
  kDisk,          // the vote could not be made durable
};
const char* to_string(Refusal refusal);

// The first message of a started member. It asks whether the receiver knows a newer record of the sender than the
// sender has. The sender repeats the challenge of the answer in a second greeting, which a replayed old greeting cannot
// do. From then on the receiver accepts only this life of the sender.
struct Greeting {
  uint64_t challenge = 0;  // of the answer; 0: the first greeting
};
struct GreetingAnswer {
  uint64_t life = 0;           // of the greeter
  uint64_t challenge = 0;      // to be repeated; 0: this life is accepted
  uint64_t newest_record = 0;  // the highest number of writes of the greeter's record that the answerer has seen
};
// The answer to a sender whose id has a newer life.
struct Superseded {
  uint64_t life = 0;  // the older one
};
// The answer to a sender that has not greeted.
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
  Duration again_after;  // with kQuiet and kPromised: the wait until the vote may be granted
};
// A leader's statement that it has stopped acting in its term, so that voters need not wait for its lease.
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
  bool promised = false;  // the sender votes for no other member before the lease is over
  ConfigurationStamp members;
  Eligibility eligibility;
};
// The sender has stopped acting in the term of the message, and the receiver must stand at once.
struct StandNow {};
// The sender has stopped acting in the term of the message.
struct Resigned {};
// The members of the group, from its leader.
struct Configure {
  Configuration members;
};

using Body = std::variant<Greeting, GreetingAnswer, Superseded, WhoAreYou, PreVote, PreVoteAnswer, Vote, VoteAnswer,
                          Heartbeat, HeartbeatAnswer, StandNow, Resigned, Configure>;

struct Message {
  MemberId from;
  Term term;            // the highest that the sender knows
  uint64_t life = 0;    // of the sender
  uint64_t record = 0;  // the number of writes of the sender's record
  Body body;
};

using election::Drain;
using election::Elected;
using election::Note;
using election::Persisted;
using election::Renewed;
using election::TermEnded;

// The data that a member must never forget. The driver stores it whole, with a checksum, on a disk of this member
// alone.
struct Record {
  uint64_t version = 0;  // the number of its writes
  Term term;
  MemberId vote;           // in that term; kNobody: none
  Duration longest_lease;  // that it ever promised
  Configuration members;
  bool lost = false;  // earlier promises are unknown: this member follows only
  bool operator==(const Record&) const = default;
};

// --- events ----------------------------------------------------------------------------------------------------------

using Start = election::StartOf<Record>;
struct Tick {};  // the time of wake() has come
struct Received {
  Message message;
};
enum class Load : uint8_t { kNormal, kElevated, kHigh, kSevere, kCritical };
// The health of this member, reported at each of its checks.
struct LocalHealth {
  uint8_t score = 0;  // 0 good to 8 bad
  Load load = Load::kNormal;
  bool ready = true;  // of its services
  bool disk = true;   // answers
};
// Membership suspects the leader. A promise stays; only the wait for this member's turn after the promise ends.
struct LeaderSuspected {
  MemberId leader;
};
// Proof that the leader's process has ended: its own kernel said so (a pidfd, a lock of the host that was released).
// Neither silence nor another member's statement is a proof.
struct LeaderDead {
  MemberId leader;
  uint64_t life = 0;
};
struct WorkStopped {};  // the guarded work has ended
struct StepDown {
  std::string cause;
  MemberId heir = kNobody;  // kNobody: the fittest
  bool leaving = false;     // do not stand again
  bool forced = true;       // also while changes of leader are damped (cool-down)
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
  uint64_t state = 0;  // the version of this member's durable state
};
struct ChangeMembers {
  MemberChange change;
};

using Event = std::variant<Start, Tick, Received, Persisted, LocalHealth, LeaderSuspected, LeaderDead, WorkStopped,
                           StepDown, Stand, Synced, SyncFailed, StateWritten, ChangeMembers>;

// --- effects ---------------------------------------------------------------------------------------------------------
// The driver carries them out in their order. The epoch of Elected and TermEnded is the term.

// Write the record durably (fsync of the file and of its folder), then answer with Persisted and its version. Records
// are written in order. The kernel emits messages that depend on a record only after that answer.
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
// The answer to a ChangeMembers that was refused.
struct ChangeRefused {
  std::string why;
};
// After a StepDown with leaving: another member may lead, or the group has no leader.
struct Left {};

using Effect = std::variant<Persist, Send, Elected, Renewed, Drain, TermEnded, LeaderChanged, MembersChanged,
                            ChangeRefused, Note, Left>;
using Effects = std::vector<Effect>;

}  // namespace bellwether::quorum
