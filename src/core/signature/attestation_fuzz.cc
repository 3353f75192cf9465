// Bytes as an attestation: text that is accepted under one key is refused under others, and is the one form of its
// content.
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "core/signature/attestation.h"
#include "core/signature/signature_testing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  static const signature::SigningKey key = std::move(*signature::SigningKey::read(signature::kTestKey, "test"));
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto opened = signature::open_attestation(text, key.public_key());
  check(opened.has_value() || !opened.error().message.empty(), "an attestation, or why not");
  if (opened) {
    check(signature::attest(*opened, key) == std::string(text), "there is one form of each");
    signature::PublicKey other = key.public_key();
    other[0] ^= 1U;
    check(!signature::open_attestation(text, other), "another key has not signed it");
    check(!signature::why_not(*opened, opened->cluster, opened->node, opened->not_after), "it counts for whom it says");
  }
  return 0;
}
