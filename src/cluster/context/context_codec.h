// What is said about generation requests, as bytes (message/describe.h), and within which limits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "cluster/context/context_view.h"
#include "election/context/failover.h"
#include "message/message.h"

namespace bellwether::cluster {

inline constexpr std::size_t kMostNameBytes = 64;
inline constexpr std::size_t kMostResultBytes = 64 * 1024;
inline constexpr std::size_t kMostWhyBytes = 4096;

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

// --- answered --------------------------------------------------------------------------------------------------------

struct ContextRefused {
  Errc code = Errc::kRefused;
  std::string why;
  std::string leader;  // whom to ask instead; empty: nobody is known to lead
  bool operator==(const ContextRefused&) const = default;
};
struct ContextDone {
  std::string text;
  bool operator==(const ContextDone&) const = default;
};
struct OutcomeAnswer {
  enum class Standing : uint8_t { kUnknown, kQueued, kActive, kCompleted, kFailed };
  Standing standing = Standing::kUnknown;
  uint32_t attempts = 0;
  uint64_t epoch = 0;        // of the attempt that counts, or runs
  std::string reason;        // of a failure
  std::string result;        // of what is completed
  bool result_gone = false;  // it is not kept any more
  bool operator==(const OutcomeAnswer&) const = default;
};
// "unknown", "queued", …
std::string_view to_string(OutcomeAnswer::Standing standing);
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
template <>
const Message& message_of<cluster::ContextQuestion>();
template <>
const Message& message_of<cluster::ContextAnswer>();
template <>
const Message& message_of<cluster::ContextMessage>();
}  // namespace bellwether::message

namespace bellwether::cluster {

std::string encode_context_question(const ContextQuestion& question);
std::string encode_context_answer(const ContextAnswer& answer);
std::string encode_context_message(const ContextMessage& message);
// Each: kProtocol, with what is missing or out of its bounds; kUnsupported: of a kind that is not known.
Result<ContextAnswer> decode_context_answer(std::string_view bytes);
Result<ContextMessage> decode_context_message(std::string_view bytes);
// Also kTooLarge, for a payload, with the limit.
Result<ContextQuestion> decode_context_question(std::string_view bytes);

}  // namespace bellwether::cluster
