// What members say to each other. Every message names the life of its sender (drawn anew at each start) and how often
// the sender's record had been written, so that a member which comes back from an older copy of its disk, or a second
// process under the same id, is found out; every question has a number which its answer repeats, so that a late answer
// to an older question counts for nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "core/base/time.h"
#include "election/quorum/configuration.h"

namespace bellwether::quorum {

// How fit its sender is to lead, as it says itself. It orders those who may stand, and never lets anybody win.
struct Standing {
  uint8_t health = 0;     // local health score, 0 good to 8 bad
  uint8_t priority = 0;   // 0 first
  bool electable = true;  // may stand at all
  bool active = false;    // has the state of the group; else it is still syncing
  uint64_t state = 0;     // how new its durable state is
  bool operator==(const Standing&) const = default;
};

enum class Refusal : uint8_t {
  kNone,
  kQuiet,         // has just started: it may have promised something that it does not know of
  kPromised,      // to a leader, not for ever
  kLeading,       // leads itself, or still stops
  kOlderTerm,     // of the candidate
  kVoted,         // for another one in this term
  kOlderMembers,  // the candidate does not know the newest configuration
  kActiveFirst,   // the candidate is still syncing, the voter is not
  kOlderState,    // both are syncing, and the voter has newer state
  kDisk,          // the vote could not be made durable
};
const char* to_string(Refusal refusal);

// After a start: is there anybody who knows more of me than I do? From then on only this life is listened to, once it
// has repeated the challenge of the answer: an old greeting that was recorded cannot do that.
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
  Standing standing;
};
struct PreVoteAnswer {
  uint64_t number = 0;
  Refusal refusal = Refusal::kNone;
  Duration again_after;  // of kQuiet and kPromised: from when on it may be granted
};
// A leader's word that it acts no more in its term.
struct Permission {
  MemberId leader;
  Term term;
  bool operator==(const Permission&) const = default;
};
struct Vote {  // in the term of the message
  uint64_t number = 0;
  ConfigurationStamp members;
  Standing standing;
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
  bool promised = false;  // to vote for nobody else before the lease is over
  ConfigurationStamp members;
  Standing standing;
};
// The receiver shall stand at once; the sender acts no more in the term of the message.
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
  uint64_t record = 0;  // how often the sender's record is known to have been written
  Body body;
};

}  // namespace bellwether::quorum
