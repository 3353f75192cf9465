// The messages about generation requests, as bytes (core/message/describe.h), with their limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/message/message.h"
#include "election/context/failover.h"

namespace bellwether::cluster {

inline constexpr std::size_t kMaxNameBytes = 64;
inline constexpr std::size_t kMaxResultBytes = 64 * 1024;
inline constexpr std::size_t kMaxWhyBytes = 4096;

// --- asked of a node -------------------------------------------------------------------------------------------------

struct AskOutcome {
  context_lead::RequestId id;
  bool operator==(const AskOutcome&) const = default;
};
struct AskContextStatus {
  bool operator==(const AskContextStatus&) const = default;
};
struct AskTransfer {
  std::string target;  // a name
  std::string by;
  std::string reason;
  bool operator==(const AskTransfer&) const = default;
};
struct AskGeneration {
  bool start = false;  // else: stop
  std::string by;
  bool operator==(const AskGeneration&) const = default;
};
using ContextQuestion = std::variant<context_lead::Request, AskOutcome, AskContextStatus, AskTransfer, AskGeneration>;

// --- a node's knowledge of the leadership of contexts, for people and pages ------------------------------------------

// The outcomes of a node's jobs since its start. Stopped jobs count for neither.
struct ContextWork {
  uint64_t done = 0;
  uint64_t failed = 0;
  Duration time;  // of all these, together
};

// Whether a node could lead contexts, by its own measurements.
struct ContextFitness {
  double score = 0;  // 0 to 1; 0: disqualified
  std::vector<std::string> disqualified;
  std::vector<std::string> lacks_preferred;
  bool operator==(const ContextFitness&) const = default;
};

struct ContextView {
  struct Node {
    std::string name;
    double health = 0;  // 0 to 1
    bool operator==(const Node&) const = default;
  };
  struct Step {
    std::string text;
    WallTime at;
    bool operator==(const Step&) const = default;
  };
  struct Failover {
    std::string from;  // empty: no previous leader
    std::string to;
    Duration took;
    bool ok = false;
    std::string why;  // it was not
    std::vector<Step> steps;
    bool operator==(const Failover&) const = default;
  };
  struct Job {
    context_lead::RequestId id;
    uint32_t attempt = 0;
    Duration runs_for;
    bool operator==(const Job&) const = default;
  };

  std::string answered_by;
  std::string leader;  // empty: no known leader
  uint64_t epoch = 0;
  uint64_t terms = 0;   // of all leaders until now
  std::string duty;     // the state of this node's leader kernel, for people
  std::string why;      // the reason for that state
  std::string manager;  // of the node that answers; empty: none is registered
  uint64_t queued = 0;
  uint64_t active = 0;
  uint64_t completed = 0;
  uint64_t failed = 0;
  Duration oldest_waiting;  // the longest wait of a queued request
  Duration leads_for;       // zero: this node does not lead
  double health = 0;        // of the cluster, 0 to 1; counts when `checked`
  bool checked = false;
  std::vector<Node> nodes;
  std::vector<Job> jobs;
  uint64_t failovers = 0;  // that this node took part in, since its start
  std::optional<Failover> failover;
  std::optional<ContextFitness> fitness;  // of the node that answers
  bool operator==(const ContextView&) const = default;
};

// --- answered --------------------------------------------------------------------------------------------------------

struct ContextRefused {
  Errc code = Errc::kRefused;
  std::string why;
  std::string leader;  // to ask instead; empty: no known leader
  bool operator==(const ContextRefused&) const = default;
};
struct ContextDone {
  std::string text;
  bool operator==(const ContextDone&) const = default;
};
struct OutcomeAnswer {
  enum class State : uint8_t { kUnknown, kQueued, kActive, kCompleted, kFailed };
  State state = State::kUnknown;
  uint32_t attempts = 0;
  uint64_t epoch = 0;        // of the attempt that counts, or runs
  std::string reason;        // of a failure
  std::string result;        // of a completed request
  bool result_gone = false;  // it is not kept any more
  bool operator==(const OutcomeAnswer&) const = default;
};
// "unknown", "queued", …
std::string_view to_string(OutcomeAnswer::State state);
using ContextAnswer = std::variant<ContextRefused, ContextDone, OutcomeAnswer, ContextView>;

// --- between nodes ---------------------------------------------------------------------------------------------------

// From the leader to all.
struct GenerationBegun {
  uint64_t epoch = 0;
  bool operator==(const GenerationBegun&) const = default;
};
struct GenerationEnded {
  uint64_t epoch = 0;
  std::string reason;
  bool operator==(const GenerationEnded&) const = default;
};
using ContextMessage = std::variant<context_lead::StateOffer, context_lead::StateReceived, context_lead::StateVerdict,
                                    context_lead::OfferWithdrawn, GenerationBegun, GenerationEnded>;

}  // namespace bellwether::cluster

namespace bellwether::message {
extern template const Message& message_of<cluster::ContextQuestion>();
extern template const Message& message_of<cluster::ContextAnswer>();
extern template const Message& message_of<cluster::ContextMessage>();
}  // namespace bellwether::message

namespace bellwether::cluster {

// As message::decode(). The error for a payload that is too large names its limit.
Result<ContextQuestion> decode_context_question(std::string_view bytes);

}  // namespace bellwether::cluster
