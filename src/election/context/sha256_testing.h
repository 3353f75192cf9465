// SHA-256 for tests of a room that has none.
#pragma once

#include <openssl/evp.h>

#include "core/base/check.h"
#include "election/context/failover_state.h"

namespace bellwether::context_lead {

inline Digest sha256(Bytes bytes) {
  Digest digest{};
  const int done = EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr,
                              EVP_sha256(), nullptr);
  check(done == 1, "the library knows SHA-256");
  return digest;
}

}  // namespace bellwether::context_lead
