#include "core/base/hash.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "core/base/check.h"

namespace bellwether {

namespace {

const EVP_MD* method_of(HashKind kind) {
  switch (kind) {
    case HashKind::kMd5: return EVP_md5();
    case HashKind::kSha1: return EVP_sha1();
    case HashKind::kSha256: return EVP_sha256();
    case HashKind::kSha512: return EVP_sha512();
  }
  return nullptr;
}

}  // namespace

std::string hash_of(HashKind kind, std::string_view bytes) {
  std::string out(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  const int made = EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(out.data()), &size,
                              method_of(kind), nullptr);
  check(made == 1, "the digests are part of OpenSSL");
  out.resize(size);
  return out;
}

std::string hmac_of(HashKind kind, std::string_view key, std::string_view bytes) {
  // OpenSSL takes a key of 0 bytes only with an address.
  const char* const at = key.empty() ? "" : key.data();
  std::string out(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  const auto* made =
      HMAC(method_of(kind), at, static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(bytes.data()),
           bytes.size(), reinterpret_cast<unsigned char*>(out.data()), &size);
  check(made != nullptr, "HMAC is part of OpenSSL");
  out.resize(size);
  return out;
}

}  // namespace bellwether
