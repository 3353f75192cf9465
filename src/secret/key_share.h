// What one holder keeps of a secret that was split (sharing.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/strong_id.h"
#include "secret/secret_bytes.h"

namespace bellwether::secret {

inline constexpr std::size_t kMostSecretBytes = 4096;
inline constexpr std::size_t kMostKeyShares = 255;
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

}  // namespace bellwether::secret
