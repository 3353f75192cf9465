// What a QuorumElector is told and what it asks for.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/base/time.h"
#include "election/elector_events.h"
#include "election/quorum/quorum_messages.h"

namespace bellwether::quorum {

using election::Drain;
using election::Elected;
using election::Note;
using election::Renewed;
using election::TermEnded;

// What a member must never forget: kept whole, with a checksum, on a disk that it does not share.
struct Record {
  uint64_t version = 0;  // how often it was written
  Term term;
  MemberId vote;           // in that term; kNobody: none
  Duration longest_lease;  // of any that was promised
  Configuration members;
  bool lost = false;  // what was promised before is not known any more: this member follows only
  bool operator==(const Record&) const = default;
};

// --- events ----------------------------------------------------------------------------------------------------------

struct Start {
  enum class Found : uint8_t {
    kRecord,
    kNew,         // said by a person: this member was never there before. An empty disk alone does not prove it.
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
// How this member is: told at each of its checks.
struct LocalHealth {
  uint8_t score = 0;  // 0 good to 8 bad
  Load load = Load::kNormal;
  bool ready = true;  // of its services
  bool disk = true;   // answers
};
// Membership suspects the leader. No promise ends by that: it only ends the waiting for one's turn after it.
struct LeaderSuspected {
  MemberId leader;
};
// The process that led is known to run no more: its own kernel said so (a pidfd, a lock of the host that was released).
// Neither silence nor the word of another member is a proof.
struct LeaderDead {
  MemberId leader;
  uint64_t life = 0;
};
struct WorkStopped {};  // nothing of the guarded work runs any more
struct StepDown {
  std::string cause;
  MemberId heir = kNobody;  // kNobody: the fittest
  bool leaving = false;     // do not stand again
  bool forced = true;       // also in the cool-down
};
// Whether this member may be elected; it votes in any case. A leader goes on leading.
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

// Make it durable, whole (fsync of the file and of its folder), then say Persisted with its version. In their order.
// Whatever depends on it is sent only after that answer, so that a driver cannot send it too early.
struct Persist {
  Record record;
};
struct Send {
  MemberId to;
  Message message;
};
struct LeaderChanged {
  MemberId leader;  // kNobody: nobody is known to lead
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
// After a StepDown with leaving: another member may go on, or nobody leads.
struct Left {};

using Effect = std::variant<Persist, Send, Elected, Renewed, Drain, TermEnded, LeaderChanged, MembersChanged,
                            ChangeRefused, Note, Left>;
using Effects = std::vector<Effect>;

}  // namespace bellwether::quorum
