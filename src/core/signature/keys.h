// The keys that compiled workflows are signed with: Ed25519 (RFC 8032), in PEM as `openssl genpkey -algorithm ed25519`
// and `openssl pkey -pubout` write them. Pure: the caller has the text of the file.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

struct evp_pkey_st;

namespace bellwether::signature {

using PublicKey = std::array<unsigned char, 32>;

inline constexpr std::size_t kMaxKeys = 256;              // of one trust list
inline constexpr std::size_t kMaxKeyFileBytes = 1 << 20;  // of one file

// The name that people compare: the first 16 hexadecimal digits of the output of `openssl pkey -pubin -in FILE -outform
// DER | sha256sum`.
std::string name_of(const PublicKey& key);

// The public keys of a PEM file, one or more. `name` for messages. kInvalid for a private key too, which has no
// business where signatures are checked; kTooLarge.
Result<std::vector<PublicKey>> read_public_keys(std::string_view pem, const std::string& name);

// The private key. It stays on the machine of its owner.
class SigningKey {
 public:
  // kInvalid for everything but one private key of Ed25519 without a password.
  static Result<SigningKey> read(std::string_view pem, const std::string& name);
  SigningKey(SigningKey&&) noexcept;
  SigningKey& operator=(SigningKey&&) noexcept;
  ~SigningKey();

  const PublicKey& public_key() const { return public_key_; }
  std::array<unsigned char, 64> sign(std::string_view bytes) const;

 private:
  struct Freed {
    void operator()(evp_pkey_st* key) const;
  };
  explicit SigningKey(evp_pkey_st* key);

  std::unique_ptr<evp_pkey_st, Freed> key_;
  PublicKey public_key_{};
};

// Whether it is the signature of these bytes by that key.
bool verify(const PublicKey& key, std::string_view bytes, const std::array<unsigned char, 64>& signature);

}  // namespace bellwether::signature
