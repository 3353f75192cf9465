#include "core/secret/commitment.h"

#include <algorithm>
#include <openssl/evp.h>
#include <string.h>  // explicit_bzero, which compilers do not leave out
#include <string>
#include <string_view>
#include <utility>

#include "core/base/check.h"

namespace bellwether::secret {
namespace {

constexpr std::string_view kShareContext = "bellwether key share 1\n";
constexpr std::string_view kSecretContext = "bellwether key secret 1\n";

// Piece by piece, without a copy of a secret; the library wipes its own state.
class Hash {
 public:
  Hash() : context_(EVP_MD_CTX_new()) {
    check(context_ != nullptr && EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) == 1, "SHA-256 is there");
  }
  Hash(const Hash&) = delete;
  ~Hash() { EVP_MD_CTX_free(context_); }

  Hash& put(Bytes bytes) {
    check(EVP_DigestUpdate(context_, bytes.data(), bytes.size()) == 1, "a digest goes on");
    return *this;
  }
  Hash& put(uint64_t number, int bytes) {
    for (int i = bytes - 1; i >= 0; --i) {
      const auto byte = static_cast<std::byte>(number >> (8 * i));
      put(Bytes(&byte, 1));
    }
    return *this;
  }
  Hash& put(const SplitHead& head) {
    return put(head.secret.value(), 8)
        .put(head.salt)
        .put(head.rule.threshold, 1)
        .put(head.rule.shares, 1)
        .put(head.secret_bytes, 2);
  }
  Digest digest() {
    Digest out;
    check(EVP_DigestFinal_ex(context_, reinterpret_cast<unsigned char*>(out.data()), nullptr) == 1, "a digest ends");
    return out;
  }

 private:
  EVP_MD_CTX* context_;
};

std::string name_of(std::size_t index) { return fmt::format("key share {}", index); }
std::string name_of(SecretId secret) { return fmt::format("secret {}", secret.value()); }

}  // namespace

SecretBytes::SecretBytes(std::size_t size) : data_(std::make_unique<std::byte[]>(size)), size_(size) {}

SecretBytes SecretBytes::copy_of(Bytes bytes) {
  SecretBytes copy(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.data_.get());
  return copy;
}

SecretBytes::SecretBytes(SecretBytes&& other) noexcept
    : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}

SecretBytes& SecretBytes::operator=(SecretBytes&& other) noexcept {
  SecretBytes taken(std::move(other));
  std::swap(data_, taken.data_);
  std::swap(size_, taken.size_);
  return *this;
}

SecretBytes::~SecretBytes() {
  if (data_ != nullptr) explicit_bzero(data_.get(), size_);
}

Status check_split(std::size_t secret_bytes, SplitRule rule) {
  if (secret_bytes == 0)
    return fail(Errc::kInvalid, "a secret to split must have at least one byte; this one is empty");
  if (secret_bytes > kMaxSecretBytes) {
    return fail(Errc::kTooLarge,
                "a secret to split may have at most {} bytes; this one has {}: split a key, and encrypt the secret "
                "with that key",
                kMaxSecretBytes, secret_bytes);
  }
  if (rule.shares == 0) return fail(Errc::kInvalid, "a secret must be split into at least one key share, not 0");
  if (rule.shares > kMaxKeyShares) {
    return fail(Errc::kTooLarge, "a secret can be split into at most {} key shares, not {}", kMaxKeyShares,
                rule.shares);
  }
  if (rule.threshold == 0 || rule.threshold > rule.shares) {
    return fail(Errc::kInvalid,
                "the threshold of a secret must be between 1 and its number of key shares, {}; it is {}", rule.shares,
                rule.threshold);
  }
  return {};
}

Digest digest_of_secret(const SplitHead& head, Bytes value) {
  return Hash().put(as_bytes(kSecretContext)).put(head).put(value).digest();
}

Digest digest_of_share(const SplitHead& head, uint8_t index, Bytes value) {
  return Hash().put(as_bytes(kShareContext)).put(head).put(index, 1).put(value).digest();
}

Result<Commitment> Commitment::make(const SplitHead& head, const Digest& of_secret, std::vector<Digest> of_shares) {
  BW_RETURN_IF_ERROR(check_split(head.secret_bytes, head.rule));
  if (of_shares.size() != head.rule.shares) {
    return fail(Errc::kInvalid, "a commitment must have a digest for each of its {} key shares; this one has {}",
                head.rule.shares, of_shares.size());
  }
  return Commitment(head, of_secret, std::move(of_shares));
}

Status Commitment::check(const KeyShare& share) const {
  const std::string name = name_of(share.index);
  if (share.secret != head_.secret) {
    return fail(Errc::kRefused, "{} belongs to {}, not to {}", name, name_of(share.secret), name_of(head_.secret));
  }
  if (share.salt != head_.salt) {
    return fail(Errc::kRefused, "{} belongs to another split of {}: give its node the key share of this split", name,
                name_of(head_.secret));
  }
  if (share.index == 0 || share.index > of_shares_.size()) {
    return fail(Errc::kInvalid, "{} does not exist; the key shares are 1 to {}", name, of_shares_.size());
  }
  if (share.value.size() != head_.secret_bytes + kBlindBytes) {
    return fail(Errc::kInvalid, "{} has {} bytes; expected {}", name, share.value.size(),
                head_.secret_bytes + kBlindBytes);
  }
  const auto fits = [&](std::size_t index) {
    return digest_of_share(head_, static_cast<uint8_t>(index), share.value.bytes()) == of_shares_[index - 1];
  };
  if (fits(share.index)) return {};
  for (std::size_t other = 1; other <= of_shares_.size(); ++other) {
    if (fits(other)) return fail(Errc::kInvalid, "{} has a wrong index: it is {}", name, name_of(other));
  }
  return fail(Errc::kInvalid, name + " does not match its commitment: it was changed");
}

bool Commitment::is_secret(Bytes secret_with_blind) const {
  return secret::digest_of_secret(head_, secret_with_blind) == of_secret_;
}

}  // namespace bellwether::secret
