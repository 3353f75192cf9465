#include "cluster/message_classes.h"

#include "cluster/message_types.h"
#include "proto/dispatch.pb.h"

namespace bellwether::cluster {
namespace {

using resilience::Operation;
using resilience::Urgency;
using wire::DispatchLetter;

enum Senders : unsigned { kNodes = 1, kOperators = 2, kClients = 4, kAsking = kNodes | kOperators | kClients };

struct Row {
  MessageClass is;
  unsigned senders = 0;  // whom it is for to send
};

constexpr Row kUnknown{{Urgency::kLow, Operation::kOther}, kAsking};

Senders kind_of(wire::Role role) {
  switch (role) {
    case wire::Role::kGate:
    case wire::Role::kManager:
    case wire::Role::kWorker: return kNodes;
    case wire::Role::kOperator: return kOperators;
    case wire::Role::kClient: return kClients;
  }
  return kClients;
}

// No default: a letter without a class does not compile.
Row row_of_letter(DispatchLetter::BodyCase letter) {
  switch (letter) {
    // What is measured, and how it ends: the account of a run.
    case DispatchLetter::kWindow: return {{Urgency::kCritical, Operation::kStatistics}, kNodes};
    case DispatchLetter::kEnd: return {{Urgency::kCritical, Operation::kProgress}, kNodes};
    // A worker that is not heard counts as lost, and its load would be given to others.
    case DispatchLetter::kReport: return {{Urgency::kCritical, Operation::kHeartbeat}, kNodes};
    // Who gets no more time is stopped.
    case DispatchLetter::kExtend: return {{Urgency::kCritical, Operation::kProgress}, kNodes};
    // All shares of a workflow begin at once, what is handed over is at its second, and what is to stop must stop.
    case DispatchLetter::kBegin:
    case DispatchLetter::kTakeOver:
    case DispatchLetter::kHandOver:
    case DispatchLetter::kStop:
    case DispatchLetter::kAdopt:
    case DispatchLetter::kRetire: return {{Urgency::kCritical, Operation::kDispatch}, kNodes};
    case DispatchLetter::kCancel: return {{Urgency::kCritical, Operation::kCancel}, kAsking};
    case DispatchLetter::kOffer:
    case DispatchLetter::kBundle: return {{Urgency::kHigh, Operation::kDispatch}, kNodes};
    case DispatchLetter::kSubmit: return {{Urgency::kHigh, Operation::kSubmit}, kAsking};
    case DispatchLetter::kWatchLive: return {{Urgency::kNormal, Operation::kStatistics}, kAsking};
    case DispatchLetter::kLive: return {{Urgency::kNormal, Operation::kProgress}, kNodes};
    case DispatchLetter::kWatch: return {{Urgency::kNormal, Operation::kStatus}, kAsking};
    case DispatchLetter::kFetchBundle: return {{Urgency::kNormal, Operation::kFetch}, kAsking};
    case DispatchLetter::kListJobs:
    case DispatchLetter::kListWorkers:
    case DispatchLetter::kListDatacenters: return {{Urgency::kLow, Operation::kStatus}, kAsking};
    case DispatchLetter::BODY_NOT_SET: return kUnknown;
  }
  return kUnknown;
}

Row row_of(uint16_t type, Bytes body) {
  switch (type) {
    case message_type::kMembershipStream: return {{Urgency::kCritical, Operation::kHeartbeat}, kNodes};
    case message_type::kLeadership:
    case message_type::kVote:
    case message_type::kKeyShare: return {{Urgency::kCritical, Operation::kHeartbeat}, kNodes};
    // Whoever has to mend a cluster must be heard when it is at its worst.
    case message_type::kAdmin: return {{Urgency::kCritical, Operation::kOther}, kOperators};
    // Registers of jobs and copies of their accounts.
    case message_type::kJobs: return {{Urgency::kCritical, Operation::kOther}, kNodes};
    case message_type::kCopies: return {{Urgency::kCritical, Operation::kFetch}, kNodes};
    case message_type::kContext: return {{Urgency::kHigh, Operation::kOther}, kAsking};
    case message_type::kDispatch: {
      const auto field = letter_field(body);
      return field ? row_of_letter(static_cast<DispatchLetter::BodyCase>(*field)) : kUnknown;
    }
    // What a piece belongs to is known when the whole is there, and is looked at again then.
    case message_type::kParcelPiece:
    case message_type::kParcelFetch: return {{Urgency::kHigh, Operation::kPiece}, kAsking};
    default: return kUnknown;
  }
}

constexpr uint32_t kLastLetter = DispatchLetter::kWatchLive;
constexpr int kFieldsMost = 16;  // a letter has one, and later versions may add some

// Nothing when it does not end within the bytes.
std::optional<uint64_t> take_varint(Bytes& bytes) {
  uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<uint64_t>(bytes[i]);
    value |= (byte & 0x7FU) << (7 * i);
    if ((byte & 0x80U) != 0) continue;
    bytes = bytes.subspan(i + 1);
    return value;
  }
  return std::nullopt;
}

bool skip(Bytes& bytes, uint64_t size) {
  if (size > bytes.size()) return false;
  bytes = bytes.subspan(size);
  return true;
}

}  // namespace

// The wire format is that of protocol buffers: a field is a number with a wire type, then what the type says. All
// letters are length-delimited; with another wire type their number means nothing to a parser either.
std::optional<uint32_t> letter_field(Bytes letter) {
  constexpr uint64_t kVarint = 0;
  constexpr uint64_t kFixed64 = 1;
  constexpr uint64_t kDelimited = 2;
  constexpr uint64_t kFixed32 = 5;
  std::optional<uint32_t> found;
  for (int fields = 0; !letter.empty(); ++fields) {
    const auto tag = take_varint(letter);
    // Of a longer tag a parser may see the last 32 bits only, and another field than this.
    if (!tag || *tag > UINT32_MAX || fields == kFieldsMost) return std::nullopt;
    const uint64_t number = *tag >> 3U;
    bool whole = false;
    switch (*tag & 7U) {
      case kVarint: whole = take_varint(letter).has_value(); break;
      case kFixed64: whole = skip(letter, 8); break;
      case kFixed32: whole = skip(letter, 4); break;
      case kDelimited: {
        const auto size = take_varint(letter);
        whole = size && skip(letter, *size);
        const bool is_letter = number >= 1 && number <= kLastLetter;
        if (is_letter && found) return std::nullopt;
        if (is_letter) found = static_cast<uint32_t>(number);
        break;
      }
      default: break;
    }
    if (!whole) return std::nullopt;
  }
  return found;
}

MessageClass class_of(uint16_t type, Bytes body, wire::Role sender) {
  const bool is_piece = type == message_type::kParcelPiece || type == message_type::kParcelFetch;
  // Of a node it may be of an account, which is never kept back.
  if (is_piece && kind_of(sender) == kNodes) return {Urgency::kCritical, Operation::kPiece};
  // What others ask of a leader of contexts is asked again; what leaders say to each other moves the leadership.
  if (type == message_type::kContext && kind_of(sender) == kNodes) return {Urgency::kCritical, Operation::kOther};
  const Row row = row_of(type, body);
  return (row.senders & kind_of(sender)) != 0 ? row.is : kUnknown.is;
}

}  // namespace bellwether::cluster
