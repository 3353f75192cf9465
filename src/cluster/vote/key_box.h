// Seals bytes to a public key that was made for one purpose and is forgotten afterwards (X25519, RFC 7748): whatever
// was recorded on the way, nobody can open it later, not even with all that the two nodes keep on their disks.
//
//   key     HKDF-SHA256(X25519, salt = public key of the sender + public key of the receiver, info = "bellwether key
//           share 1")
//   sealed  AES-256-GCM with number 0 and the context, and its tag
//
// Who the keys belong to is not said here: the messages that carry them are signed.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "cluster/vote/key_share_codec.h"
#include "secret/secret_bytes.h"
#include "wire/crypto.h"

struct evp_pkey_st;

namespace bellwether::cluster {

class BoxKey {
 public:
  // Drawn anew. kIo: there is no randomness.
  static Result<BoxKey> draw();
  const BoxPublicKey& public_key() const { return public_key_; }
  // From this key to another one. At most once for each pair of keys. kRefused: `to` is no key.
  Result<std::string> seal(const BoxPublicKey& to, std::string_view context, Bytes bytes) const;
  // Opens what was sealed to this key. kRefused: it was not, or for another context.
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

}  // namespace bellwether::cluster
