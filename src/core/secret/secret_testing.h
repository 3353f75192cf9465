// For tests: randomness from a seed, and secrets split with it.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "core/base/prng.h"
#include "core/secret/sharing.h"

namespace bellwether::secret {

inline auto seeded(uint64_t seed) {
  return [prng = Prng(seed)](MutableBytes into) mutable -> Status {
    for (std::byte& byte : into) byte = static_cast<std::byte>(prng.below(256));
    return {};
  };
}

inline SecretBytes secret_of(std::string_view text) { return SecretBytes::copy_of(as_bytes(text)); }

inline Splitting split_text(std::string_view text, SplitRule rule, uint64_t seed = 1, SecretId id = SecretId(7)) {
  auto split_up = split(id, secret_of(text), rule, seeded(seed));
  check(split_up.has_value(), "a test splits what can be split");
  return std::move(*split_up);
}

// On purpose: the type itself is not copied.
inline KeyShare copy_of(const KeyShare& share) {
  return {share.secret, share.salt, share.index, SecretBytes::copy_of(share.value.bytes())};
}

// Key shares of these indices.
inline std::vector<KeyShare> pick(const Splitting& from, std::initializer_list<std::size_t> indices) {
  std::vector<KeyShare> out;
  for (const std::size_t index : indices) out.push_back(copy_of(from.shares[index - 1]));
  return out;
}

inline std::string text_of(const Result<SecretBytes>& secret) {
  return secret ? std::string(as_text(secret->bytes())) : "error: " + secret.error().message;
}

}  // namespace bellwether::secret
