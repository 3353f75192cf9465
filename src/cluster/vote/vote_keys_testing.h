// For tests: a key of Ed25519 for each number, with no other use.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "cluster/vote/vote_codec.h"
#include "core/base/check.h"
#include "core/base/encoding.h"
#include "core/signature/keys.h"

namespace bellwether::cluster {

// PKCS #8 (RFC 8410): what comes before the 32 bytes of the key is always the same.
inline signature::SigningKey test_signing_key(unsigned char number) {
  const std::string head("\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20", 16);
  const std::string pem = "-----BEGIN PRIVATE KEY-----\n" +
                          base64_of(head + std::string(32, static_cast<char>(number))) +
                          "\n-----END PRIVATE KEY-----\n";
  auto key = signature::SigningKey::read(pem, "test");
  check(key.has_value(), "the keys of tests are good");
  return std::move(*key);
}

// The seal of the node with this key. Each of the names has the key of its place.
inline VoteSeal test_seal(unsigned char number, std::string group = "flock", std::string_view names = "abc") {
  std::map<std::string, signature::PublicKey> keys;
  for (const char name : names) {
    const auto place = static_cast<unsigned char>(keys.size() + 1);
    keys.emplace(std::string(1, name), test_signing_key(place).public_key());
  }
  return {std::move(group), test_signing_key(number), std::move(keys)};
}

}  // namespace bellwether::cluster
