#include "core/signature/keys.h"

#include <limits>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <optional>

#include "core/base/check.h"
#include "core/base/encoding.h"
#include "core/base/freed.h"

namespace bellwether::signature {
namespace {

using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Memory = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Context = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;

constexpr std::string_view kPrivate = "PRIVATE KEY-----";
constexpr const char* kHowToMake = "make one with: openssl genpkey -algorithm ed25519 -out ";

const unsigned char* raw(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

Memory memory_of(std::string_view text) {
  check(text.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()), "a file of keys is bounded");
  Memory memory(BIO_new_mem_buf(text.empty() ? "" : text.data(), static_cast<int>(text.size())));
  check(memory != nullptr, "there is memory for a key");
  return memory;
}

// OpenSSL asks a terminal for a password unless a callback answers; these keys have no password.
int no_password(char*, int, int, void*) { return -1; }

std::optional<PublicKey> public_part(const EVP_PKEY* key) {
  PublicKey out{};
  std::size_t size = out.size();
  if (EVP_PKEY_get_base_id(key) != EVP_PKEY_ED25519) return std::nullopt;
  if (EVP_PKEY_get_raw_public_key(key, out.data(), &size) != 1 || size != out.size()) return std::nullopt;
  return out;
}

}  // namespace

std::string name_of(const PublicKey& key) {
  // The prefix of the key in its DER form (RFC 8410).
  std::string der("\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", 12);
  for (const unsigned char byte : key) der += static_cast<char>(byte);
  return sha256_hex(der).substr(0, 16);
}

Result<std::vector<PublicKey>> read_public_keys(std::string_view pem, const std::string& name) {
  if (pem.size() > kMaxKeyFileBytes) return fail(Errc::kTooLarge, "'{}' is too large for a file of keys", name);
  if (pem.find(kPrivate) != std::string_view::npos) {
    return fail(Errc::kInvalid,
                "'{}' has a private key; keep it where you sign, and use its public key here: `openssl pkey -in '{}' "
                "-pubout` prints it",
                name, name);
  }
  const Memory memory = memory_of(pem);
  std::vector<PublicKey> out;
  while (const Key key{PEM_read_bio_PUBKEY(memory.get(), nullptr, &no_password, nullptr)}) {
    const auto one = public_part(key.get());
    if (!one) return fail(Errc::kInvalid, "'{}' has a key that is not Ed25519", name);
    if (out.size() == kMaxKeys) {
      return fail(Errc::kTooLarge, "'{}' has more than {} keys", name, kMaxKeys);
    }
    out.push_back(*one);
  }
  if (out.empty()) return fail(Errc::kInvalid, "'{}' has no public key in PEM", name);
  return out;
}

void SigningKey::Freed::operator()(evp_pkey_st* key) const { EVP_PKEY_free(key); }

SigningKey::SigningKey(evp_pkey_st* key) : key_(key) {}
SigningKey::SigningKey(SigningKey&&) noexcept = default;
SigningKey& SigningKey::operator=(SigningKey&&) noexcept = default;
SigningKey::~SigningKey() = default;

Result<SigningKey> SigningKey::read(std::string_view pem, const std::string& name) {
  if (pem.size() > kMaxKeyFileBytes) return fail(Errc::kTooLarge, "'{}' is too large for a key", name);
  if (pem.find("ENCRYPTED") != std::string_view::npos) {
    return fail(Errc::kInvalid,
                "the key in '{}' has a password: write it without one with `openssl pkey -in '{}' -out FILE`", name,
                name);
  }
  const Memory memory = memory_of(pem);
  SigningKey key(PEM_read_bio_PrivateKey(memory.get(), nullptr, &no_password, nullptr));
  if (key.key_ == nullptr) {
    return fail(Errc::kInvalid, "'{}' has no private key in PEM: {}FILE", name, kHowToMake);
  }
  const auto its_public = public_part(key.key_.get());
  if (!its_public) {
    return fail(Errc::kInvalid, "the key in '{}' is not Ed25519: {}FILE", name, kHowToMake);
  }
  key.public_key_ = *its_public;
  return key;
}

std::array<unsigned char, 64> SigningKey::sign(std::string_view bytes) const {
  const Context context(EVP_MD_CTX_new());
  std::array<unsigned char, 64> out{};
  std::size_t size = out.size();
  const bool done = context != nullptr &&
                    EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
                    EVP_DigestSign(context.get(), out.data(), &size, raw(bytes), bytes.size()) == 1;
  check(done && size == out.size(), "a key that was read signs");
  return out;
}

bool verify(const PublicKey& key, std::string_view bytes, const std::array<unsigned char, 64>& signature) {
  const Key its(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key.data(), key.size()));
  const Context context(EVP_MD_CTX_new());
  return its != nullptr && context != nullptr &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, its.get()) == 1 &&
         EVP_DigestVerify(context.get(), signature.data(), signature.size(), raw(bytes), bytes.size()) == 1;
}

}  // namespace bellwether::signature
