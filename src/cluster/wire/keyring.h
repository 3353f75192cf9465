// The secrets that a node knows, and the one it seals with. A cluster changes its secret without losing a message in
// three rounds, each finished on all nodes before the next one begins: learn the new one, use the new one, forget the
// old one. A node opens messages that were sealed with any known secret.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/wire/crypto.h"
#include "core/base/bytes.h"
#include "core/base/result.h"

namespace bellwether::wire {

inline constexpr std::size_t kMinSecret = 16;  // characters
inline constexpr std::size_t kMaxSecret = 1024;

// The secret that the nodes of a cluster share. It is refused when it is short or easy to guess, kept in memory that is
// not swapped and not dumped where the system allows, wiped when it ends, and never printed.
class Secret {
 public:
  // Takes the text over and wipes it. kInvalid names the error and repeats none of the text.
  static Result<Secret> take(std::string&& text);
  Secret(Secret&& other) noexcept;
  Secret& operator=(Secret&& other) noexcept;
  Secret(const Secret&) = delete;
  ~Secret();

  Bytes bytes() const { return {data_, size_}; }

 private:
  Secret(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  std::byte* data_;
  std::size_t size_;
};

// Names a secret and reveals nothing about it: the first bytes of a separate derivation.
using KeyId = uint32_t;

class Keyring {
 public:
  static constexpr std::size_t kMaxSecrets = 4;  // secrets

  // `first` is in use.
  explicit Keyring(Secret first);

  // Also opens with this secret from now on. kExhausted when there are four. One that is known already changes nothing.
  Result<KeyId> learn(Secret secret);
  // Seals with this one from now on. kNotFound when it is not known.
  Status use(KeyId id);
  // Messages of this secret no longer open. kNotFound; kInvalid for the one in use.
  Status forget(KeyId id);

  KeyId in_use() const { return entries_.front().id; }
  bool knows(KeyId id) const { return find(id) != nullptr; }
  std::vector<KeyId> ids() const;  // the one in use first

  // A key of the secret `id` for a purpose: HKDF-SHA256. Nothing when it is not known.
  std::optional<Key> derive(KeyId id, Bytes salt, Bytes info) const;

 private:
  struct Entry {
    KeyId id;
    Secret secret;
  };
  const Entry* find(KeyId id) const;
  std::vector<Entry> entries_;  // the one in use first
};

// "3f29a1c0": the name of a secret for people.
std::string key_name(KeyId id);

}  // namespace bellwether::wire
