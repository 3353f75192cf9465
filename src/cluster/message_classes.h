// What a message is to those who decide what is taken in (front_desk.h) and what is held back (peer_links.h): how
// urgent, and which limit it counts against. One table for all types of messages, and for all letters about jobs.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "resilience/request_limiter.h"
#include "resilience/shedding.h"
#include "wire/identity.h"

namespace bellwether::cluster {

struct MessageClass {
  resilience::Urgency urgency = resilience::Urgency::kLow;
  resilience::Operation operation = resilience::Operation::kOther;
  bool operator==(const MessageClass&) const = default;
};

// `body` is looked at only where the type alone does not tell, and only at its outermost fields. A message of a type
// that is not known, and one that whoever sends it has no business to send, are of the lowest class: it costs little to
// find out what is wrong with them, but that is no reason to let them pass before others.
MessageClass class_of(uint16_t type, Bytes body, wire::Role sender);

// The field of a DispatchLetter (proto/dispatch.proto) that says which letter it is; nothing when there is none, or
// more than one of which a parser would take the last.
std::optional<uint32_t> letter_field(Bytes letter);

}  // namespace bellwether::cluster
