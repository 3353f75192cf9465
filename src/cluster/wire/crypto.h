// The two primitives of the wire: HKDF-SHA256 (RFC 5869) makes keys out of a secret, AES-256-GCM (NIST SP 800-38D)
// seals and opens. The caller guarantees that a key seals at most one message with each number; numbers make the
// nonces.
//
// Keys are wiped from memory when they end. OpenSSL does the work; it allocates when a key is set, not for a message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/bytes.h"

struct evp_cipher_ctx_st;

namespace bellwether::wire {

inline constexpr std::size_t kTagBytes = 16;

// 32 bytes of a key; wiped when it ends.
class Key {
 public:
  Key() = default;
  Key(const Key&) = default;
  Key& operator=(const Key&) = default;
  ~Key();
  MutableBytes bytes() { return bytes_; }
  Bytes bytes() const { return bytes_; }

 private:
  std::array<std::byte, 32> bytes_{};
};

using Digest = std::array<std::byte, 32>;

Digest sha256(Bytes bytes);
// Fills `out`, of at most 64 bytes. REQUIRES at most 1,024 bytes of `secret`, and 479 of `info`, or 511 if `out` has at
// most 32. An empty `salt` counts as 32 zeros.
void hkdf_sha256(Bytes secret, Bytes salt, Bytes info, MutableBytes out);
// Overwrites in a way that the compiler does not leave out.
void wipe(MutableBytes bytes);

// One key, for sealing or for opening. One thread at a time. After a move, the one before can only be assigned or end.
class Aead {
 public:
  enum class Direction : uint8_t { kSeal, kOpen };
  Aead(Direction direction, const Key& key);
  Aead(Aead&& other) noexcept;
  Aead& operator=(Aead&& other) noexcept;
  ~Aead();

  // Changes the key, at the cost of its schedule.
  void set_key(const Key& key);

  // Encrypts `text` where it is and writes the tag. The tag also proves `also`, which stays readable. `number` must
  // never have been used with this key. REQUIRES kSeal.
  void seal(uint64_t number, Bytes also, MutableBytes text, std::span<std::byte, kTagBytes> tag);
  // Decrypts `text` where it is. False: it, `also` or the number are not what was sealed; `text` is wiped then.
  // REQUIRES kOpen.
  [[nodiscard]] bool open(uint64_t number, Bytes also, MutableBytes text, std::span<const std::byte, kTagBytes> tag);

 private:
  Direction direction_;
  evp_cipher_ctx_st* context_;
};

}  // namespace bellwether::wire
