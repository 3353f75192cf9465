// What each end of a connection says of itself, and why one of them does not go on: the messages of the handshake
// (core/message/describe.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/wire/envelope.h"
#include "cluster/wire/identity.h"
#include "core/base/bytes.h"
#include "core/message/message.h"

namespace bellwether::wire {

// The version of the protocol between nodes, MAJOR.MINOR, and the additions of each minor. Nodes of different majors do
// not talk; nodes of different minors use the features that both announce and the lower minor knows.
struct ProtocolVersion {
  uint32_t major = 0;
  uint32_t minor = 0;
  auto operator<=>(const ProtocolVersion&) const = default;
};

// The version of this build. Defined alone in its source, so that a test can link a node of another version.
extern const ProtocolVersion kVersion;

std::string to_string(ProtocolVersion version);

enum class Capability : uint8_t { kCancellation, kBatchedStats, kClientReconnection, kFenceTokens };
inline constexpr std::size_t kCapabilities = 4;

std::string_view to_string(Capability capability);  // "cancellation", "batched_stats", …
ProtocolVersion brought_by(Capability capability);

class Capabilities {
 public:
  Capabilities() = default;
  // All that a version knows.
  static Capabilities of(ProtocolVersion version);
  // Those whose names are known here; others are of a newer minor and do not matter.
  template <class Names>
  static Capabilities named(const Names& names) {
    Capabilities some;
    for (const auto& name : names) some.add(name);
    return some;
  }

  bool has(Capability capability) const { return (bits_ >> static_cast<unsigned>(capability) & 1U) != 0; }
  Capabilities both(Capabilities other) const { return Capabilities(bits_ & other.bits_); }
  std::vector<std::string> names() const;
  bool operator==(const Capabilities&) const = default;

 private:
  explicit Capabilities(uint32_t bits) : bits_(bits) {}
  void add(std::string_view name);
  uint32_t bits_ = 0;
};

// The common features of two ends. Nothing when they must not talk: their majors differ.
struct Common {
  ProtocolVersion version;
  Capabilities capabilities;
};
std::optional<Common> common(ProtocolVersion ours, Capabilities our_capabilities, ProtocolVersion theirs,
                             Capabilities their_capabilities);

inline constexpr std::size_t kHelloMax = 4096;  // bytes of a hello, a welcome or a refusal, sealed
inline constexpr uint32_t kRequestsMax = 65'536;

struct Announced {
  Identity identity;
  ProtocolVersion version = kVersion;
  std::vector<std::string> capabilities = Capabilities::of(kVersion).names();
  std::string software;              // for people; at most 128 bytes are kept
  std::optional<SessionId> session;  // of the datagrams that it sends
  uint32_t requests_max = 1024;      // the most requests that it takes at a time, at most 65,536
};

// kProtocol, with the field that is missing or wrong. Unknown fields and capabilities are ignored. Of a hello of
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
