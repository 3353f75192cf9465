#include "cluster/wire/crypto.h"

#include <bit>
#include <limits>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <utility>

#include "cluster/wire/big_endian.h"
#include "core/base/check.h"

namespace bellwether::wire {
namespace {

constexpr std::size_t kNonceBytes = 12;

const unsigned char* raw(Bytes bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }
unsigned char* raw(MutableBytes bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

int length_of(Bytes bytes) {
  check(bytes.size() <= std::numeric_limits<int>::max(), "messages are bounded");
  return static_cast<int>(bytes.size());
}

std::array<unsigned char, kNonceBytes> nonce_of(uint64_t number) {
  std::array<std::byte, kNonceBytes> nonce{};
  store_be(nonce.data() + kNonceBytes - sizeof number, number);
  return std::bit_cast<std::array<unsigned char, kNonceBytes>>(nonce);
}

Digest hmac(Bytes key, Bytes first, Bytes second, uint8_t last, bool with_last) {
  std::array<unsigned char, 512> joined;
  const std::size_t size = first.size() + second.size() + (with_last ? 1 : 0);
  check(size <= joined.size(), "what goes into a key derivation is short");
  if (!first.empty()) std::memcpy(joined.data(), first.data(), first.size());
  if (!second.empty()) std::memcpy(joined.data() + first.size(), second.data(), second.size());
  if (with_last) joined[size - 1] = last;
  Digest digest;
  unsigned made = 0;
  const auto* done = HMAC(EVP_sha256(), key.data(), length_of(key), joined.data(), size,
                          reinterpret_cast<unsigned char*>(digest.data()), &made);
  OPENSSL_cleanse(joined.data(), size);
  check(done != nullptr && made == digest.size(), "HMAC-SHA256 is there");
  return digest;
}

}  // namespace

Key::~Key() { wipe(bytes_); }

void wipe(MutableBytes bytes) { OPENSSL_cleanse(bytes.data(), bytes.size()); }

Digest sha256(Bytes bytes) {
  Digest digest;
  SHA256(raw(bytes), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

void hkdf_sha256(Bytes secret, Bytes salt, Bytes info, MutableBytes out) {
  check(out.size() <= 2 * sizeof(Digest), "two blocks are what is ever needed");
  std::array<std::byte, 32> no_salt{};
  std::array<std::byte, 1024> input;
  check(secret.size() <= input.size(), "a secret is bounded");
  // HMAC's own input is the secret here, which may be longer than what hmac() joins.
  Digest extracted;
  unsigned made = 0;
  const Bytes used_salt = salt.empty() ? Bytes(no_salt) : salt;
  const auto* done = HMAC(EVP_sha256(), used_salt.data(), length_of(used_salt), raw(secret), secret.size(),
                          reinterpret_cast<unsigned char*>(extracted.data()), &made);
  check(done != nullptr && made == extracted.size(), "HMAC-SHA256 is there");
  Digest block{};
  Bytes previous;
  uint8_t counter = 1;
  for (std::size_t filled = 0; filled < out.size(); ++counter) {
    block = hmac(extracted, previous, info, counter, true);
    const std::size_t n = std::min(block.size(), out.size() - filled);
    std::memcpy(out.data() + filled, block.data(), n);
    filled += n;
    previous = block;
  }
  wipe(extracted);
  wipe(block);
}

Aead::Aead(Direction direction, const Key& key) : direction_(direction), context_(EVP_CIPHER_CTX_new()) {
  check(context_ != nullptr, "memory for a key");
  const int good = EVP_CipherInit_ex(context_, EVP_aes_256_gcm(), nullptr, raw(key.bytes()), nullptr,
                                     direction == Direction::kSeal ? 1 : 0);
  check(good == 1, "AES-256-GCM is there");
}

Aead::Aead(Aead&& other) noexcept : direction_(other.direction_), context_(std::exchange(other.context_, nullptr)) {}

Aead& Aead::operator=(Aead&& other) noexcept {
  std::swap(direction_, other.direction_);
  std::swap(context_, other.context_);
  return *this;
}

Aead::~Aead() { EVP_CIPHER_CTX_free(context_); }

void Aead::set_key(const Key& key) {
  check(EVP_CipherInit_ex(context_, nullptr, nullptr, raw(key.bytes()), nullptr, -1) == 1, "a key can be set");
}

void Aead::seal(uint64_t number, Bytes also, MutableBytes text, std::span<std::byte, kTagBytes> tag) {
  check(direction_ == Direction::kSeal);
  const auto nonce = nonce_of(number);
  int done = 0;
  bool good = EVP_EncryptInit_ex(context_, nullptr, nullptr, nullptr, nonce.data()) == 1;
  good = good && (also.empty() || EVP_EncryptUpdate(context_, nullptr, &done, raw(also), length_of(also)) == 1);
  good = good && (text.empty() || EVP_EncryptUpdate(context_, raw(text), &done, raw(text), length_of(text)) == 1);
  unsigned char nothing[1];
  good = good && EVP_EncryptFinal_ex(context_, nothing, &done) == 1;
  good = good && EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_GET_TAG, kTagBytes, tag.data()) == 1;
  check(good, "sealing has no way to fail");
}

bool Aead::open(uint64_t number, Bytes also, MutableBytes text, std::span<const std::byte, kTagBytes> tag) {
  check(direction_ == Direction::kOpen);
  const auto nonce = nonce_of(number);
  std::array<std::byte, kTagBytes> expected;
  std::memcpy(expected.data(), tag.data(), kTagBytes);
  int done = 0;
  bool good = EVP_DecryptInit_ex(context_, nullptr, nullptr, nullptr, nonce.data()) == 1;
  good = good && (also.empty() || EVP_DecryptUpdate(context_, nullptr, &done, raw(also), length_of(also)) == 1);
  good = good && (text.empty() || EVP_DecryptUpdate(context_, raw(text), &done, raw(text), length_of(text)) == 1);
  good = good && EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_SET_TAG, kTagBytes, expected.data()) == 1;
  unsigned char nothing[1];
  good = good && EVP_DecryptFinal_ex(context_, nothing, &done) == 1;
  if (!good) wipe(text);
  return good;
}

}  // namespace bellwether::wire
