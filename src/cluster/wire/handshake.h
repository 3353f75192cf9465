// How two nodes authenticate each other before either of them acts on anything: a kernel for each side, without input
// and output. They exchange two frames, each an envelope (envelope.h) whose session is drawn for this connection:
//
//   opener   → hello     what it is; sealed with the secret that it uses
//   acceptor → welcome   what it is, authenticated together with the hello it answers; or a refusal
//
// From then on both sides have the keys of the connection (frame.h): HKDF-SHA256 of the secret, with both drawn
// sessions as salt and the digest of both frames in the info, so that they belong to exactly this exchange. The
// acceptor must not act on the opener's hello until a first frame opens with them: a hello may be a copy of an old one.
//
// The checks, in this order: the cluster, the environment, the major version, that it is not the node itself, the
// certificate's claims, the node's name among them (with a certificate only), the roles. A node that has not shown that
// it knows the secret gets no answer at all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/wire/envelope.h"
#include "cluster/wire/identity.h"
#include "cluster/wire/keyring.h"
#include "cluster/wire/refusal.h"
#include "core/base/bytes.h"
#include "core/message/message.h"

// What each end of a connection says of itself, and why one of them does not go on: the messages of the handshake
// (core/message/describe.h).

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
extern template const Message& message_of<wire::Announced>();
extern template const Message& message_of<wire::RefusedText>();
}  // namespace bellwether::message

namespace bellwether::wire {

// The claims of the other end's verified certificate, one entry for each URI; nothing: it has no certificate.
using Proof = std::optional<std::vector<Claims>>;

struct HandshakeSettings {
  Announced self;
  bool has_gates = true;  // whether the cluster is configured with gates: it decides on clients at managers
};

// The agreement of both ends.
struct Agreement {
  Announced peer;
  bool role_proven = false;  // by a certificate; else the role is the claim of a holder of the secret
  ProtocolVersion version;   // the lower one
  KeyId key = 0;             // the secret that the connection stands on
  Key send;
  Key receive;
};

struct Declined {
  Refusal refusal = Refusal::kNone;
  std::string detail;      // for the log of this node: the subject, the error, the remedy
  Mismatch mismatch = {};  // of a refusal that was decided here
};

using Agreed = tl::expected<Agreement, Declined>;

class Opener {
 public:
  // `session`: drawn for this connection.
  Opener(const HandshakeSettings& settings, const Keyring& keyring, const SessionId& session);

  // The text of the first frame.
  Bytes hello() const { return hello_; }
  // The text of the frame that answered; it is opened in place.
  Agreed on_answer(const Keyring& keyring, MutableBytes answer, const Proof& claims) const;

 private:
  const HandshakeSettings& settings_;
  SessionId session_;
  KeyId key_;
  std::vector<std::byte> hello_;
};

class Acceptor {
 public:
  struct Answer {
    std::vector<std::byte> frame;  // to be sent; empty: close without a word
    Agreed agreed;
  };
  // The text of the first frame, which is opened in place. `session`: drawn for this connection.
  static Answer on_hello(const HandshakeSettings& settings, const Keyring& keyring, MutableBytes hello,
                         const SessionId& session, const Proof& claims);
};

}  // namespace bellwether::wire
