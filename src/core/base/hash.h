// Digests of bytes, for protocols and users that name them: MD5 and SHA-1 protect nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bellwether {

enum class HashKind : uint8_t { kMd5, kSha1, kSha256, kSha512 };

// The bytes of the digest: 16, 20, 32 or 64.
std::string hash_of(HashKind kind, std::string_view bytes);
// RFC 2104.
std::string hmac_of(HashKind kind, std::string_view key, std::string_view bytes);

}  // namespace bellwether
