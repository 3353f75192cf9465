// The public data of a split secret: enough to verify each of its key shares, and the secret, when they come. It
// reveals nothing about the secret, even a short one, because each digest also covers random bytes that are as secret.
// An attacker who can replace the commitment can replace the secret: it must come from a trusted source.
//
//   head            id (8 bytes), salt (16), threshold (1), number of key shares (1), bytes of the secret (2)
//   of a key share  SHA-256("bellwether key share 1\n", head, index (1), value)
//   of the secret   SHA-256("bellwether key secret 1\n", head, secret, blind)
//
// All numbers are big-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/base/strong_id.h"

namespace bellwether::secret {

// One holder's piece of a secret that was split (sharing.h).

// Bytes that must not be found later: wiped when they end, moved but never copied, and without a way to print them.
// They are in ordinary memory: their owner ensures that the process is not swapped out or dumped.
class SecretBytes {
 public:
  SecretBytes() = default;
  explicit SecretBytes(std::size_t size);  // zeros
  static SecretBytes copy_of(Bytes bytes);
  // A moved-from object is empty.
  SecretBytes(SecretBytes&& other) noexcept;
  SecretBytes& operator=(SecretBytes&& other) noexcept;
  SecretBytes(const SecretBytes&) = delete;
  SecretBytes& operator=(const SecretBytes&) = delete;
  ~SecretBytes();

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Bytes bytes() const { return {data_.get(), size_}; }
  MutableBytes bytes() { return {data_.get(), size_}; }

 private:
  std::unique_ptr<std::byte[]> data_;
  std::size_t size_ = 0;
};

template <class Stream>
Stream& operator<<(Stream& stream, const SecretBytes& bytes) = delete;

inline constexpr std::size_t kMaxSecretBytes = 4096;
inline constexpr std::size_t kMaxKeyShares = 255;
inline constexpr std::size_t kBlindBytes = 32;  // random ones, which are split together with the secret

using SecretId = StrongId<struct SecretTag, uint64_t>;
// Drawn for each splitting of a secret, and public: key shares of two splittings do not go together.
using Salt = std::array<std::byte, 16>;

struct KeyShare {
  SecretId secret;
  Salt salt{};
  uint8_t index = 0;  // x of the point, from 1
  SecretBytes value;  // y of each byte of the secret, then of each of the blind
};

using Digest = std::array<std::byte, 32>;

struct SplitRule {
  std::size_t threshold = 0;  // how many key shares give the secret. 1 HIDES NOTHING: each of them is the secret
  std::size_t shares = 0;     // how many there are
};
// Errors: kInvalid, kTooLarge: no secret, a threshold that cannot be reached, or sizes beyond the limits.
Status check_split(std::size_t secret_bytes, SplitRule rule);

struct SplitHead {
  SecretId secret;
  Salt salt{};
  SplitRule rule;
  std::size_t secret_bytes = 0;
};
// `value`: the secret with its blind, of which the digest is, or that of key share `index`.
Digest digest_of_secret(const SplitHead& head, Bytes value);
Digest digest_of_share(const SplitHead& head, uint8_t index, Bytes value);

class Commitment {
 public:
  // Errors: as check_split(); kInvalid: not as many digests as key shares.
  static Result<Commitment> make(const SplitHead& head, const Digest& of_secret, std::vector<Digest> of_shares);

  // Whether it is the key share that was committed to. The message of an error names it. Errors: kRefused: of another
  // secret or splitting; kInvalid: it has no such index, another size, the index of another one, or was changed.
  Status check(const KeyShare& share) const;
  bool is_secret(Bytes secret_with_blind) const;

  const SplitHead& head() const { return head_; }
  const Digest& digest_of_secret() const { return of_secret_; }
  const std::vector<Digest>& digests_of_shares() const { return of_shares_; }  // that of index 1 first

 private:
  Commitment(const SplitHead& head, const Digest& of_secret, std::vector<Digest> of_shares)
      : head_(head), of_secret_(of_secret), of_shares_(std::move(of_shares)) {}

  SplitHead head_;
  Digest of_secret_;
  std::vector<Digest> of_shares_;
};

}  // namespace bellwether::secret
