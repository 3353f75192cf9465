// Digests and codings of bytes, for protocols and users that name them: MD5 and SHA-1 protect nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

}  // namespace bellwether
