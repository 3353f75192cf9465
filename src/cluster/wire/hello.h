// What each end of a connection says of itself, and why one of them does not go on: the messages of the handshake
// (core/message/describe.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/wire/envelope.h"
#include "cluster/wire/identity.h"
#include "core/base/bytes.h"
#include "core/message/message.h"

namespace bellwether::wire {

// The version of the protocol between nodes, MAJOR.MINOR. Nodes of different majors do not talk. A minor only adds
// fields and messages (docs/contributing/wire.md): it shows operators which nodes are older, and no code asks for it.
struct ProtocolVersion {
  uint32_t major = 0;
  uint32_t minor = 0;
  auto operator<=>(const ProtocolVersion&) const = default;
};

// The version of this build. Defined alone in its source, so that a test can link a node of another version.
extern const ProtocolVersion kVersion;

std::string to_string(ProtocolVersion version);

inline constexpr std::size_t kMaxHello = 4096;  // bytes of a hello, a welcome or a refusal, sealed
inline constexpr uint32_t kMaxRequests = 65'536;

struct Announced {
  Identity identity;
  ProtocolVersion version = kVersion;
  std::string software;              // for people; at most 128 bytes are kept
  std::optional<SessionId> session;  // of the datagrams that it sends
  uint32_t requests_max = 1024;      // the most requests that it takes at a time, at most 65,536
};

// kProtocol, with the field that is missing or wrong. Unknown fields are ignored. Of a hello of
// another major, which may have other rules, only the version, the cluster and the environment are read.
Result<Announced> decode_hello(Bytes bytes);

// Only nodes that know the secret can read it.
struct RefusedText {
  std::string reason;  // a short stable name: "cluster", "environment", "version", "role", …
  std::string detail;  // for people
};

}  // namespace bellwether::wire

namespace bellwether::message {
template <>
const Message& message_of<wire::Announced>();
template <>
const Message& message_of<wire::RefusedText>();
}  // namespace bellwether::message
