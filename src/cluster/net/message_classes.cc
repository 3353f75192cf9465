#include "cluster/net/message_classes.h"

#include <algorithm>
#include <iterator>

#include "core/message/description.h"
#include "core/message/message.h"

namespace bellwether::cluster {
namespace {

using namespace wire::roles;  // NOLINT(google-build-using-namespace): a table of these
using resilience::Operation;
using resilience::Urgency;
using wire::Role;
using wire::Roles;

constexpr MessageClass kUnknown{Urgency::kLow, Operation::kOther};

struct Row {
  uint16_t type;
  std::string_view name;
  MessageClass is;
  Roles senders;  // the roles from which the router takes it
};

// Every type of message except messages. A type without a row is refused.
constexpr Row kTable[] = {
    {message_type::kMembershipStream, "membership", {Urgency::kCritical, Operation::kHeartbeat}, kNodes},
    {message_type::kLeadership, "leadership", {Urgency::kCritical, Operation::kHeartbeat}, kVoters},
    {message_type::kVote, "vote", {Urgency::kCritical, Operation::kHeartbeat}, kVoters},
    {message_type::kKeyShare, "key_share", {Urgency::kCritical, Operation::kHeartbeat}, kVoters},
    // An operator who mends a cluster must be heard when it is at its worst.
    {message_type::kAdmin, "admin", {Urgency::kCritical, Operation::kOther}, kOperators},
    // Registers of jobs and blobs of their ingest. The register knows which managers are replicas.
    {message_type::kJobs, "jobs", {Urgency::kCritical, Operation::kOther}, kVoters},
    {message_type::kBlobs, "blobs", {Urgency::kCritical, Operation::kFetch}, kVoters},
    {message_type::kContext, "context", {Urgency::kHigh, Operation::kOther}, kAsking},
    // The message of a chunk is known when all of it is there, and is checked again then.
    {message_type::kChunk, "chunk", {Urgency::kHigh, Operation::kPiece}, kAll},
    {message_type::kChunkFetch, "chunk_fetch", {Urgency::kHigh, Operation::kPiece}, kAll},
};

std::optional<Row> row_of(const message::Message* messages, uint16_t type, Bytes body) {
  if (type == message_type::kDispatch) {
    const message::Field* const message =
        messages == nullptr ? nullptr : message::alternative_in(*messages, as_text(body));
    if (message == nullptr) return std::nullopt;
    const MessageClass is{static_cast<Urgency>(message->urgency), static_cast<Operation>(message->operation)};
    return Row{type, message->name, is, message->senders};
  }
  const auto* const found =
      std::find_if(std::begin(kTable), std::end(kTable), [&](const Row& row) { return row.type == type; });
  return found == std::end(kTable) ? std::nullopt : std::optional(*found);
}

}  // namespace

std::optional<bool> MessageClasses::may_send(uint16_t type, Bytes body, Role sender) const {
  const auto row = row_of(messages_, type, body);
  if (!row) return std::nullopt;
  return (row->senders & bit(sender)) != 0;
}

MessageClass MessageClasses::class_of(uint16_t type, Bytes body, Role sender) const {
  const auto row = row_of(messages_, type, body);
  if (!row || (row->senders & bit(sender)) == 0) return kUnknown;
  const bool is_node = (kNodes & bit(sender)) != 0;
  // Of a node it may be of the ingest, which is never held back.
  if (is_node && row->is.operation == Operation::kPiece) return {Urgency::kCritical, Operation::kPiece};
  // Clients repeat their requests to a leader of contexts; messages between leaders move the leadership.
  if (is_node && type == message_type::kContext) return {Urgency::kCritical, Operation::kOther};
  return row->is;
}

std::string MessageClasses::name(uint16_t type, Bytes body) const {
  const auto row = row_of(messages_, type, body);
  return fmt::format("message {}{}", type, row ? fmt::format(" ({})", row->name) : "");
}

}  // namespace bellwether::cluster
