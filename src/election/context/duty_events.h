// The events that a DutyLeader takes, and the effects that it returns.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "election/context/failover.h"

namespace bellwether::context_lead {

// --- events ----------------------------------------------------------------------------------------------------------

struct Tick {};  // the time of wake() has come

// This node leads from now on, under an epoch above all before it.
struct Elected {
  Epoch epoch;
};
struct LeadershipLost {
  Epoch epoch;  // that is over
  std::string why;
};
// The election shows this leader. kNobody: none.
struct LeaderSeen {
  NodeId leader;
  Epoch epoch;
};
// HandOver was refused: this node continues to lead.
struct HandOverRefused {
  std::string why;
};

// The answers to TakeRegister and WriteRegister.
struct RegisterTaken {
  uint64_t ticket = 0;
  std::string value;  // the last written value; empty: none yet
};
struct RegisterWritten {
  uint64_t ticket = 0;
};
// Whether the write or the taking happened is unknown.
struct RegisterFailed {
  uint64_t ticket = 0;
  std::string why;
};
// Another node has taken the register; this node writes nothing before it has taken it again.
struct RegisterLost {
  std::string why;
};

struct PayloadKept {
  RequestId id;
  bool ok = true;
  std::string why;
};
struct PayloadFetched {
  enum class Found : uint8_t {
    kHere,
    kGone,    // a majority knows that it was dropped, or never had it
    kFailed,  // unknown; try again
  };
  RequestId id;
  AttemptFence fence;
  Found found = Found::kHere;
  std::string payload;
  std::string why;
};
struct PayloadDropped {
  RequestId id;
};

struct JobEnded {
  enum class End : uint8_t { kDone, kFailed, kCancelled };
  RequestId id;
  AttemptFence fence;
  End end = End::kDone;
  std::string reason;
};
// The receiver of the outcome has it.
struct OutcomeTold {
  RequestId id;
};

// The answer to CheckHealth.
struct HealthReport {
  std::map<NodeId, double> nodes;  // 0 to 1; a missing node is silent, which counts as 0
};
struct Heard {
  NodeId from;
  Message message;
};

// This node now has its context manager. REQUIRES a config that validates, and no earlier manager.
struct ManagerRegistered {
  ManagerConfig manager;
};

// The caller gets an Answered for the ticket; ticket 0 has no caller.
//
// Ok: the request is durable, and will be completed or fail; the answer comes then, unless this node crashes. kRefused:
// this node does not take it now. kExists: unknown whether it has been done. kExhausted: the queue is full. kTimeout:
// unknown whether it was accepted. kTooLarge, kInvalid.
struct Submit {
  uint64_t ticket = 0;
  Request request;
};
// Answered at once. kRefused: not leading; kExists: it runs already, or is being stopped; kNotFound: no manager.
struct StartGeneration {
  uint64_t ticket = 0;
};
struct StopGeneration {
  uint64_t ticket = 0;
  std::string why;
};
// Answered at once. kRefused: not leading; kExists: a transfer is running; kNotFound: no such member, or this one.
struct Transfer {
  uint64_t ticket = 0;
  NodeId target;
  std::string reason;
  std::string source;  // the requester
};

using Event =
    std::variant<Tick, Elected, LeadershipLost, LeaderSeen, HandOverRefused, RegisterTaken, RegisterWritten,
                 RegisterFailed, RegisterLost, PayloadKept, PayloadFetched, PayloadDropped, JobEnded, OutcomeTold,
                 HealthReport, Heard, ManagerRegistered, Submit, StartGeneration, StopGeneration, Transfer>;

// --- effects ---------------------------------------------------------------------------------------------------------
// To be carried out in their order. Each of those with an answer gets one, within `within`; it may come late or twice.

// Become the only writer of the register of requests, and report its content, once a majority keeps it: it contains
// every confirmed write.
struct TakeRegister {
  uint64_t ticket = 0;
  Duration within;
};
// Write all of it, if no other node has taken the register since. At most one is under way.
struct WriteRegister {
  uint64_t ticket = 0;
  std::string value;
  Duration within;
};
struct ReleaseRegister {};
// Put a payload on a majority under the id of its request; then send PayloadKept.
struct KeepPayload {
  RequestId id;
  std::string payload;
  Duration within;
};
struct FetchPayload {
  RequestId id;
  AttemptFence fence;
  Duration within;
};
// No node needs it any more.
struct DropPayload {
  RequestId id;
};

// To the registered context manager. The job passes the fence to its resources with each act.
struct RunJob {
  Request request;
  AttemptFence fence;
};
// Ask the job to end (`kill`: force it at once); it reports its end. After a loss of office, the leader's work has
// stopped when all killed jobs have ended.
struct CancelJob {
  RequestId id;
  AttemptFence fence;
  bool kill = false;
};
// To the caller of the ticket.
struct Answered {
  uint64_t ticket = 0;
  Status status;
};
// A completion that does not count.
struct CompletionRefused {
  RequestId id;
  AttemptFence fence;
  std::string why;
};
// To the receiver of outcomes: at least once for each request, always with the same fence; then send OutcomeTold.
struct TellOutcome {
  FinishedRequest finished;
};

struct CheckHealth {};
struct Send {
  NodeId to;
  Message message;
};
// To the election: only `target` may lead next. The work has stopped, and stability windows do not matter.
struct HandOver {
  NodeId target;
};
// To the election: the hand-over is cancelled. Continue to lead, or be a candidate again.
struct TakeBack {};
// To the election: this node cannot do its duties.
struct StepDown {
  std::string why;
};
// The previous leader handed this state to this node: for the assignment of work.
struct Restored {
  RecoveredState state;
};
struct TransferBegun {
  NodeId target;
  std::string source;
};
struct TransferEnded {
  NodeId target;
  bool ok = false;
  std::string why;
};

// The seven callbacks.
struct BecameLeader {
  Epoch epoch;
  uint64_t terms = 0;  // of all leaders until now
};
struct LostLeadership {
  NodeId new_leader;  // kNobody: not known yet
};
struct LeaderChanged {
  NodeId old_leader;
  NodeId new_leader;
  Epoch epoch;
};
struct GenerationStarted {
  NodeId leader;
};
struct GenerationStopped {
  NodeId leader;
  std::string reason;
};
struct FailedOver {
  NodeId old_leader;
  NodeId new_leader;
  Duration duration;
};
enum class Severity : uint8_t { kInfo, kWarning, kCritical };
struct DutyError {
  Severity severity = Severity::kWarning;
  std::string text;
};

using Effect = std::variant<TakeRegister, WriteRegister, ReleaseRegister, KeepPayload, FetchPayload, DropPayload,
                            RunJob, CancelJob, Answered, CompletionRefused, TellOutcome, CheckHealth, Send, HandOver,
                            TakeBack, StepDown, Restored, TransferBegun, TransferEnded, BecameLeader, LostLeadership,
                            LeaderChanged, GenerationStarted, GenerationStopped, FailedOver, DutyError>;
using Effects = std::vector<Effect>;

}  // namespace bellwether::context_lead
