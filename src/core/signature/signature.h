// The signature of a compiled workflow, which stands behind its bytes in the same file, where the linker does not look.
// It covers all that decides the behaviour: the program, the version of the interface that it was built for, and the
// version of the product that signed it.
//
//   program                         the shared object, as the compiler wrote it
//   32  version of the product      that signed it: text, filled up with zeros
//    4  version of the interface    little-endian
//    8  bytes of the program        little-endian
//   32  public key                  Ed25519
//   64  signature                   Ed25519 (RFC 8032) of kContext, the program, and the four fields above
//   16  "bellwether-sig-1"
//
// This code checks that the key in the file has signed these bytes. The caller decides which keys to trust.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/signature/keys.h"

namespace bellwether::signature {

// Of a compiled program that scenarios mention, with its signature.
inline constexpr uint64_t kMaxProgramBytes = 8ULL << 20;
inline constexpr std::size_t kMaxVersionBytes = 32;  // of the product

struct Versions {
  uint32_t interface = 0;  // BELLWETHER_ABI_VERSION
  std::string product;     // at most kMaxVersionBytes bytes
};

// Whose it is, when read() has said that it is intact.
struct Signed {
  std::string_view program;  // the part of the bytes that is one
  Versions versions;
  PublicKey key{};
};

// The file of a signed program. Replaces an earlier signature.
std::string sign(std::string_view program, const Versions& versions, const SigningKey& key);

// Whether the bytes carry a signature block, good or not.
bool is_signed(std::string_view bytes);
// `name` for messages. kNotFound: no signature. kInvalid: a signature of other bytes.
Result<Signed> read(std::string_view bytes, const std::string& name);
// The same for a process that trusts these keys and can run programs of that version of the interface. kRefused: the
// key is not one of them, or the list is empty. kUnsupported: of another version. The message says what to do.
Result<Signed> admit(std::string_view bytes, const std::string& name, const std::vector<PublicKey>& trusted,
                     uint32_t interface);

}  // namespace bellwether::signature
