// The key that only an elected admin has, at one node: the node keeps a key share and sends it to the admin that it has
// promised to follow. An elected node collects the key shares of the others and reconstructs the key
// (core/secret/sharing.h).
//
// A key share leaves a node for one term only, when this node's promise in that term is durable, and only sealed to a
// key that the admin has drawn for the term and signed (BoxKey, vote_codec.h). So it needs nothing of the links: a node
// that has the secret of the cluster, or takes an admin's place on the network, learns nothing. False key shares are
// refused by the name of their signer. One thread, that of its runtime.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/net/message_router.h"
#include "cluster/net/peer_links.h"
#include "cluster/net/vote_view.h"
#include "cluster/vote/vote_codec.h"
#include "cluster/wire/crypto.h"
#include "core/base/bytes.h"
#include "core/base/callback.h"
#include "core/runtime/scope.h"
#include "core/secret/sharing.h"
#include "election/term_of_office.h"

struct evp_pkey_st;

namespace bellwether::cluster {

// Seals bytes to a public key that was made for one purpose and is forgotten afterwards (X25519, RFC 7748): a recorded
// message cannot be opened later, not even with all that the two nodes keep on their disks.
//
//   key     HKDF-SHA256(X25519, salt = public key of the sender + public key of the receiver, info = "bellwether key
//           share 1")
//   sealed  AES-256-GCM with number 0 and the context, and its tag
//
// It does not say who owns the keys: the messages that carry them are signed.
class BoxKey {
 public:
  // Drawn anew. kIo: no randomness.
  static Result<BoxKey> draw();
  const BoxPublicKey& public_key() const { return public_key_; }
  // From this key to another one. At most once for each pair of keys. kRefused: `to` is no key.
  Result<std::string> seal(const BoxPublicKey& to, std::string_view context, Bytes bytes) const;
  // Opens bytes that were sealed to this key. kRefused: they were sealed to another key or for another context.
  Result<secret::SecretBytes> open(const BoxPublicKey& from, std::string_view context, std::string_view sealed) const;

 private:
  struct Freed {
    void operator()(evp_pkey_st* key) const;
  };
  using Held = std::unique_ptr<evp_pkey_st, Freed>;
  BoxKey(Held key, const BoxPublicKey& public_key) : key_(std::move(key)), public_key_(public_key) {}
  Result<wire::Key> agree(const BoxPublicKey& with, const BoxPublicKey& sender, const BoxPublicKey& receiver) const;

  Held key_;
  BoxPublicKey public_key_{};
};

// The material that one node keeps. REQUIRES a key share that the commitment checks.
struct KeyHolding {
  secret::Commitment commitment;
  secret::KeyShare share;
};

struct KeyRecoverySettings {
  std::string group;                 // the subject of the vote: key shares of one group are invalid in another
  std::string self;                  // name
  std::vector<std::string> members;  // all names, this one's too
  Duration again;                    // between requests to nodes that have sent nothing
  Duration limit;                    // to collect enough
};

class KeyRecovery final : private Service {
 public:
  // May call the replica back.
  struct Owner {
    // Whether this node follows that admin in that term, by a promise that is durable and has not run out.
    Callback<bool(const std::string& admin, election::Term term)> follows;
    // The key, once, or why it is missing. The replica has it no more.
    Callback<void(election::Term term, Result<secret::SecretBytes> key)> on_key;
    Callback<void(const std::string& text)> on_warning;
  };

  // All must outlive it.
  KeyRecovery(runtime::Runtime& runtime, PeerLinks& links, MessageRouter& router, Addresses addresses,
              const VoteSeal& seal, KeyRecoverySettings settings, KeyHolding holding, Owner owner);
  ~KeyRecovery() override;
  KeyRecovery(const KeyRecovery&) = delete;
  KeyRecovery& operator=(const KeyRecovery&) = delete;

  // This node was elected: asks the others, until Owner::on_key() or stop(). `scope` belongs to the caller.
  void collect(election::Term term, runtime::Scope& scope);
  // Not elected any more. The collected key shares are wiped.
  void stop();

  // For people: the node that collects key shares, or did last, and its progress.
  std::optional<VoteView::Keys> view() const;
  // Key shares and messages about them that were refused, of all terms.
  uint64_t refused() const { return refused_; }

 private:
  struct Collecting {
    election::Term term;
    BoxKey key;
    secret::Collector collector;
    std::map<std::string, std::string> refused;
  };

  void on_message(link::Connection& connection, const wire::Inbound& message) override;
  void on_asked(const std::string& admin, const KeyShareRequest& request);
  void on_answer(const std::string& from, const KeyShareAnswer& answer);
  runtime::task<void> keep_asking(election::Term term, runtime::Cancellation* cancel);
  void take(const std::string& from, Result<secret::KeyShare> share);
  void refuse(const std::string& from, const std::string& why);
  void look();
  void finish(Result<secret::SecretBytes> key);
  void tell(bool asks);
  void send(const std::string& to, const KeyShareMessage& message);
  std::string why_too_few() const;
  std::string context(const std::string& admin, const std::string& holder, election::Term term) const;

  runtime::Runtime& runtime_;
  PeerLinks& links_;
  MessageRouter& router_;
  Addresses addresses_;
  const VoteSeal& seal_;
  KeyRecoverySettings settings_;
  KeyHolding holding_;
  Owner owner_;
  std::optional<Collecting> collecting_;
  std::map<std::string, uint8_t> heard_;  // the index of the key share of each node that has sent a good one
  struct Seen {
    election::Term term;
    std::string admin;
    KeyProgress progress;
  };
  std::optional<Seen> seen_;
  uint64_t refused_ = 0;
};

}  // namespace bellwether::cluster
