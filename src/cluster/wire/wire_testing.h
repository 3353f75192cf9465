// What the tests of the wire have in common: bytes, secrets, nodes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/wire/handshake.h"
#include "core/base/check.h"

namespace bellwether::wire {

inline std::vector<std::byte> bytes_of(std::string_view text) { return {as_bytes(text).begin(), as_bytes(text).end()}; }

inline std::vector<std::byte> from_hex(std::string_view hex) {
  const auto digit = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(digit(hex[i]) * 16 + digit(hex[i + 1])));
  }
  return bytes;
}

inline std::string to_hex(Bytes bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte b : bytes) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4U];
    text += kDigits[std::to_integer<unsigned>(b) & 15U];
  }
  return text;
}

inline Secret secret_of(std::string text) {
  auto made = Secret::take(std::move(text));
  check(made.has_value(), "the secrets of tests are good");
  return std::move(*made);
}

inline Keyring keyring_of(std::string text = "a secret for tests, 7Q") { return Keyring(secret_of(std::move(text))); }

inline HandshakeSettings node_of(const std::string& node, Role role) {
  HandshakeSettings settings;
  settings.self.identity = {"flock", "test", "dc1", node, role};
  settings.self.software = "bellwether test";
  return settings;
}

constexpr WallTime wall_ms(int64_t ms) { return {ms * 1'000'000}; }

}  // namespace bellwether::wire
