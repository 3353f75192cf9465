// Digests and codings of bytes, for protocols and users that name them, and files that their digest names. MD5 and
// SHA-1 protect nothing.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // of OpenSSL

namespace bellwether {

enum class HashKind : uint8_t { kMd5, kSha1, kSha256, kSha512 };

// The bytes of the digest: 16, 20, 32 or 64.
std::string hash_of(HashKind kind, std::string_view bytes);
// RFC 2104.
std::string hmac_of(HashKind kind, std::string_view key, std::string_view bytes);

// The functions on bytes that scenarios and scripts name. Digests are hexadecimal digits.
enum class Transform : uint8_t {
  kMd5,  // the digests are in the order of HashKind
  kSha1,
  kSha256,
  kSha512,
  kBase64,
  kBase64Url,     // RFC 4648 §5, without padding: as in URLs and tokens
  kBase64Decode,  // of both forms
  kHex,
  kHexDecode,
  kUrl,  // percent-encoded
  kHmac  // needs a key and a digest: hmac_of()
};
// Nothing when the bytes are no hexadecimal digits. REQUIRES not kHmac.
std::optional<std::string> transformed(Transform how, std::string_view bytes);

// SHA-256 (FIPS 180-4) of bytes that come in pieces. Of one text: sha256_hex() in encoding.h.
bool is_sha256_hex(std::string_view text);

class Sha256 {
 public:
  Sha256();
  void add(std::string_view bytes);
  // The 64 digits. Once, after all bytes.
  std::string hex();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

// A file by its content: what a bundle, a store of files and messages about files say of it.
struct FileRef {
  std::string sha256;  // of its bytes, 64 hexadecimal digits in lower case
  uint64_t size = 0;
  auto operator<=>(const FileRef&) const = default;
};

}  // namespace bellwether
