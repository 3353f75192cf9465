// What each end of a connection tells of itself, and why one of them does not go on: the messages of the
// handshake (core/message/describe.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/wire/envelope.h"
#include "cluster/wire/identity.h"
#include "cluster/wire/version.h"
#include "core/base/bytes.h"
#include "core/message/message.h"

namespace bellwether::wire {

inline constexpr std::size_t kHelloMax = 4096;  // bytes of a hello, a welcome or a refusal, sealed
inline constexpr uint32_t kRequestsMax = 65'536;

struct Announced {
  Identity identity;
  ProtocolVersion version = kVersion;
  std::vector<std::string> capabilities = Capabilities::of(kVersion).names();
  std::string software;              // for people; at most 128 bytes are kept
  std::optional<SessionId> session;  // of the datagrams that it sends
  uint32_t requests_max = 1024;      // it takes no more requests than so many at a time, at most 65,536
};

// kProtocol, with the field that is missing or wrong. Fields and capabilities that are not known are ignored. Of one of
// another major, which may have other rules, only the version, the cluster and the environment are read.
Result<Announced> decode_hello(Bytes bytes);

// Only somebody who knows the secret can read it.
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
