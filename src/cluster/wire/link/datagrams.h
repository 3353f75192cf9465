// Sealed datagrams between nodes, over UDP. Each goes alone: it may be lost, delayed, repeated and reordered by the
// network, and is opened, counted or refused. A refused one changes nothing.
//
// In order of cost: the size, the header, the replay window, the rate of the source, and only then crypto. A first
// datagram between two nodes, and the first after either of them has started again, costs one round trip more: the
// receiver answers it with a challenge (envelope.h), and the sender sends it again with the requested tag. Only nodes
// that know the secret get challenges. A datagram does not name its receiver, so an overheard one can be shown to
// another node: messages that matter name their addressee.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "cluster/wire/envelope.h"
#include "cluster/wire/handshake.h"
#include "cluster/wire/identity.h"
#include "cluster/wire/link/refusal_watch.h"
#include "cluster/wire/rate_limit.h"
#include "core/base/callback.h"
#include "core/runtime/runtime.h"

namespace bellwether::link {

// `sender`: node_hash() of its name. The view is good during the call.
using DatagramHandler = Callback<void(const runtime::Endpoint& from, uint64_t sender, Bytes text)>;

struct DatagramSettings {
  wire::Identity self;
  std::size_t size_max = 1400;     // bytes of a whole datagram; the default fits every network unfragmented
  wire::RateLimits rate;           // of datagrams that do not open: authentic ones cost nothing
  std::size_t peers_max = 16'384;  // senders and receivers that are remembered
};

class Datagrams {
 public:
  // `runtime`, `keyring` and `refusals` outlive it. kExists when the port is taken.
  static Result<std::unique_ptr<Datagrams>> bind(runtime::Runtime& runtime, runtime::Endpoint at,
                                                 DatagramSettings settings, const wire::Keyring& keyring,
                                                 RefusalWatch& refusals);

  runtime::Endpoint local() const { return socket_->local(); }
  // For the hellos of this node's connections.
  const wire::SessionId& session() const { return session_; }
  // The bytes that one datagram carries.
  std::size_t text_max() const { return settings_.size_max - wire::kEnvelopeOverhead; }

  // kTooLarge, or the socket's error; a lost datagram is no error.
  Status send(runtime::Endpoint to, Bytes text);
  // Opens datagrams until cancelled, or until the socket fails.
  runtime::task<Status> receive(DatagramHandler handler, runtime::Cancellation* cancel);
  // A connection's handshake has shown that this node is there now: it needs no challenge. Nothing is kept of nodes
  // that only ask.
  void introduce(const wire::Announced& peer);

  struct Counts {
    uint64_t sent = 0;
    uint64_t sent_bytes = 0;  // whole datagrams
    uint64_t received = 0;    // authentic ones
    uint64_t received_bytes = 0;
    uint64_t opened = 0;      // tries to open one, in vain or not: the cost in crypto
    uint64_t derived = 0;     // keys for that; each costs several times as much
    uint64_t challenges = 0;  // sent
    uint64_t sent_again = 0;  // because of a challenge
  };
  const Counts& counts() const { return counts_; }

 private:
  Datagrams(runtime::Runtime& runtime, DatagramSettings settings, const wire::Keyring& keyring, RefusalWatch& refusals,
            std::unique_ptr<runtime::UdpSocket> socket);
  // One node that receives datagrams.
  struct Receiver {
    uint64_t tag = 0;             // the one that it asked for
    wire::SessionId session;      // of its last challenge,
    uint64_t challenge = 0;       // and its number
    Instant sent;                 // when,
    std::vector<std::byte> last;  // and the last datagram to it
  };
  wire::Refusal take(const runtime::Endpoint& from, MutableBytes datagram, wire::EnvelopeHeader& header);
  wire::Refusal take_challenge(const runtime::Endpoint& from, const wire::EnvelopeHeader& header, Bytes text);
  void challenge(const runtime::Endpoint& to, const wire::SessionId& session);
  Status seal_and_send(runtime::Endpoint to, wire::EnvelopeHeader::Kind kind, uint64_t tag, Bytes text);
  Receiver& receiver(const runtime::Endpoint& to);
  wire::Refusal open(const wire::EnvelopeHeader& header, MutableBytes datagram);

  struct KnownKey {
    wire::EnvelopeHeader header;  // its key, sender and session made the key
    wire::Key key;
  };

  runtime::Runtime& runtime_;
  DatagramSettings settings_;
  const wire::Keyring& keyring_;
  RefusalWatch& refusals_;
  std::unique_ptr<runtime::UdpSocket> socket_;
  wire::SessionId session_;
  uint64_t cluster_;
  uint64_t own_;
  uint64_t number_ = 0;
  wire::KeyId sealing_with_ = 0;
  std::optional<wire::Aead> sealers_[2];  // of datagrams, of challenges
  std::optional<wire::Aead> opener_;
  std::unordered_map<uint64_t, KnownKey> known_;  // of senders that have proven themselves, by tag of the session
  wire::RateLimiter rate_;
  wire::ReplayGuard replay_;
  std::map<runtime::Endpoint, Receiver> receivers_;
  std::vector<std::byte> out_;
  Counts counts_;
};

}  // namespace bellwether::link
