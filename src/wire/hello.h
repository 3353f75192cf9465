// What each end of a connection tells of itself, and the message that carries it (proto/handshake.proto).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "wire/envelope.h"
#include "wire/identity.h"
#include "wire/version.h"

namespace bellwether::wire {

inline constexpr std::size_t kHelloMax = 4096;  // bytes of a hello, a welcome or a refusal, sealed
inline constexpr uint32_t kRequestsMax = 65'536;

struct Announced {
  Identity identity;
  ProtocolVersion version = kVersion;
  Capabilities capabilities = Capabilities::of(kVersion);
  std::string software;              // for people; at most 128 bytes are kept
  std::optional<SessionId> session;  // of the datagrams that it sends
  uint32_t requests_max = 1024;      // it takes no more requests than so many at a time, at most 65,536
};

std::vector<std::byte> encode_hello(const Announced& announced);
// kProtocol, with the field that is missing or wrong. Fields and capabilities that are not known are ignored. The role
// is not looked at when the version is of another major, which may know other roles.
Result<Announced> decode_hello(Bytes bytes);

struct RefusedText {
  std::string reason;
  std::string detail;
};
std::vector<std::byte> encode_refused(const RefusedText& refused);
Result<RefusedText> decode_refused(Bytes bytes);

}  // namespace bellwether::wire
