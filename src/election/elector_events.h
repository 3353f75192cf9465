// The events that an Elector takes, and the effects that it returns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "election/lease_record.h"
#include "election/lease_timing.h"

namespace bellwether::election {

// Evidence that a holder does its work. A renewal proves only that the renewing thread is alive; a holder whose work
// hangs, or whose disk does not answer, is alive and useless (a grey failure). So a renewal needs evidence of each
// required kind, no older than its limit.

enum class EvidenceKind : uint8_t {
  kWork,     // the guarded work moves: it reported progress. Counts only while it runs.
  kDisk,     // a small write to the disk of the work succeeded
  kCommand,  // the user's health command succeeded
  kSelf,     // the process finds itself fit, and no other candidate's turn comes before its own
};
inline constexpr std::size_t kEvidenceKinds = 4;
const char* to_string(EvidenceKind kind);

class Evidence {
 public:
  // From now on evidence of this kind must not be older than this.
  void require(EvidenceKind kind, Duration within);
  void good(Instant now, EvidenceKind kind);
  // An explicit report, which holds until good() of the same kind.
  void bad(Instant now, EvidenceKind kind, std::string why);
  // The work begins: required evidence counts from here.
  void begin(Instant now);

  // The reason against holding a key, or nothing. `working`: the work runs, so its progress counts; otherwise all other
  // required evidence must have been good once.
  std::optional<std::string> against(Instant now, bool working) const;

 private:
  struct Source {
    std::optional<Duration> within;
    Instant last_good;
    bool ever_good = false;
    bool bad = false;
    std::string why;
  };
  std::array<Source, kEvidenceKinds> sources_;
};

// --- events ----------------------------------------------------------------------------------------------------------

struct Start {};  // begin to observe, and to stand when campaigning
struct Tick {};   // the time of wake() has come
struct Looked {   // the answer to Look
  Result<Observation> seen;
};
struct Acted {  // the answer to Act. An error means: perhaps it happened, perhaps not.
  Result<WriteOutcome> outcome;
};
struct StoreChanged {};  // the store reports a change of the key: look at once
struct WorkStopped {};   // nothing of the guarded work runs now
struct GoodEvidence {
  EvidenceKind kind;
};
struct BadEvidence {
  EvidenceKind kind;
  std::string why;
};
struct Resign {  // give up the key, in order
  std::string cause;
  std::string heir;       // the only candidate that may take it for one lease; empty: any
  bool stay_out = false;  // do not stand again
  bool forced = true;     // also within the stability window
};
struct Retime {  // other times from the next renewal on
  LeaseTiming timing;
};
struct Extend {};  // renew now; nothing unless the key is held

using Event = std::variant<Start, Tick, Looked, Acted, StoreChanged, WorkStopped, GoodEvidence, BadEvidence, Resign,
                           Retime, Extend>;

// --- effects ---------------------------------------------------------------------------------------------------------
// To be carried out in their order. At most one of Look and Act is in flight.

struct Look {};
struct Act {
  WriteRequest request;
};
// The key is ours until `ends`. The work may begin if `ends` has not passed when the driver executes this.
struct Elected {
  Epoch epoch;
  Instant since;
  Instant ends;
};
struct Renewed {
  Instant ends;
  Duration took;  // sent → answered
};
// Stop the work in order, then send WorkStopped. The term continues meanwhile, renewed unless `renewing` is false.
struct Drain {
  std::string cause;
  bool renewing = true;
};
enum class EndReason : uint8_t {
  kResigned,   // the work had stopped before
  kExpired,    // no renewal was confirmed in time
  kTaken,      // another holder is seen, or somebody else released the key
  kLostData,   // the store has forgotten us
  kUnhealthy,  // renewals were withheld: no evidence that the work is sound
};
const char* to_string(EndReason reason);
// The term is over: the work may not act under it any more. If the work still runs (work_runs), its last act must come
// before stop_by (boot clock), and WorkStopped must follow.
struct TermEnded {
  Epoch epoch;
  EndReason reason = EndReason::kResigned;
  std::string why;
  Instant stop_by;
  bool work_runs = true;
};
// The store shows another holder, or none, or another epoch.
struct LeaderChanged {
  LeaseRecord record;
  std::string evidence;
};
// Under fail policy `open`: acting without proof is now permitted, or no longer.
struct FailOpen {
  bool open = false;
  std::string why;
};
// The highest epoch known has grown: to be kept over a restart.
struct FloorRaised {
  Epoch floor;
};
// For the log: a decision and its evidence.
struct Note {
  bool warning = false;
  std::string text;
};
// After Resign with stay_out: nothing is held, nothing is in flight.
struct Stopped {};

using Effect =
    std::variant<Look, Act, Elected, Renewed, Drain, TermEnded, LeaderChanged, FailOpen, FloorRaised, Note, Stopped>;
using Effects = std::vector<Effect>;

}  // namespace bellwether::election
