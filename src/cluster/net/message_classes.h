// The class of a message, for admission (message_router.h) and for holding requests back (peer_links.h): who may send
// it, how urgent it is, and which limit it counts against. One table of the types of messages (message_classes.cc); the
// classes of messages about jobs stand in their description.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cluster/wire/identity.h"
#include "core/base/bytes.h"
#include "core/resilience/overload.h"
#include "core/resilience/request_limiter.h"

namespace bellwether::message {
struct Message;
}

namespace bellwether::cluster {

// The types of messages between nodes (cluster/wire/session.h), a hundred for each concern. A number that was used is
// never used for something else.

namespace message_type {
inline constexpr uint16_t kMembershipStream = 100;  // request: a view, or a part of it; its answer likewise
inline constexpr uint16_t kLeadership = 200;        // one-way: between voters
inline constexpr uint16_t kVote = 201;              // one-way: of a scored vote (cluster/vote/vote_codec.h)
inline constexpr uint16_t kKeyShare = 202;          // one-way: of the key of an admin (vote/vote_codec.h)
inline constexpr uint16_t kAdmin = 300;             // request of an operator (cluster/node/admin_messages.h)
inline constexpr uint16_t kJobs = 400;              // one-way: about registers of jobs (cluster/register/small.h)
inline constexpr uint16_t kDispatch = 500;    // requests and one-way: messages about jobs (jobs/dispatch/messages.h)
inline constexpr uint16_t kChunk = 700;       // request: a chunk of a larger one (cluster/net/chunks.h)
inline constexpr uint16_t kChunkFetch = 701;  // request: a chunk of an answer
inline constexpr uint16_t kContext = 800;     // requests and one-way: of context leadership
inline constexpr uint16_t kBlobs = 600;       // request: about blobs of jobs (cluster/register/large.h)
}  // namespace message_type

struct MessageClass {
  resilience::Urgency urgency = resilience::Urgency::kLow;
  resilience::Operation operation = resilience::Operation::kOther;
  bool operator==(const MessageClass&) const = default;
};

class MessageClasses {
 public:
  // `messages`: the description of messages about jobs, which the room of jobs supplies; nullptr: no message is known
  // here.
  explicit MessageClasses(const message::Message* messages = nullptr) : messages_(messages) {}

  // Whether a role may send it; nothing: no such message exists. A message that is not allowed here is refused. Reads
  // `body` only where the type alone does not decide, and only its outermost fields.
  std::optional<bool> may_send(uint16_t type, Bytes body, wire::Role sender) const;
  // A message of an unknown type, and one that its sender may not send, are of the lowest class: it costs little to
  // find out what is wrong with them, but they must not pass before others.
  MessageClass class_of(uint16_t type, Bytes body, wire::Role sender) const;
  // For people: "message 200 (leadership)", "message 500 (stop)", "message 9999".
  std::string name(uint16_t type, Bytes body) const;

 private:
  const message::Message* messages_;
};

}  // namespace bellwether::cluster
