#include "membership/endpoint.h"

#include <algorithm>
#include <charconv>

namespace bellwether::membership {
namespace {

constexpr std::array<uint8_t, 12> kV4Prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

struct Run {
  int begin = 8;
  int length = 0;
};

// The longest run of two or more zero groups, the first of equals.
Run longest_zero_run(const std::array<uint16_t, 8>& groups) {
  Run best;
  for (int i = 0; i < 8;) {
    int end = i;
    while (end < 8 && groups[static_cast<std::size_t>(end)] == 0) ++end;
    if (end - i > best.length && end - i >= 2) best = {i, end - i};
    i = std::max(end, i + 1);
  }
  return best;
}

}  // namespace

Endpoint Endpoint::v4(std::array<uint8_t, 4> address, uint16_t port) {
  Endpoint endpoint;
  std::copy(kV4Prefix.begin(), kV4Prefix.end(), endpoint.ip.begin());
  std::copy(address.begin(), address.end(), endpoint.ip.begin() + 12);
  endpoint.port = port;
  return endpoint;
}

bool Endpoint::is_v4() const { return std::equal(kV4Prefix.begin(), kV4Prefix.end(), ip.begin()); }

std::string to_string(const Endpoint& endpoint) {
  std::array<char, 8> piece{};
  std::string text;
  if (endpoint.is_v4()) {
    for (std::size_t i = 12; i < 16; ++i) text += (i > 12 ? "." : "") + std::to_string(endpoint.ip[i]);
    return text + ":" + std::to_string(endpoint.port);
  }
  std::array<uint16_t, 8> groups{};
  for (std::size_t i = 0; i < 8; ++i)
    groups[i] = static_cast<uint16_t>(endpoint.ip[2 * i] << 8 | endpoint.ip[2 * i + 1]);
  const Run zeros = longest_zero_run(groups);
  text = "[";
  for (int i = 0; i < 8;) {
    if (i == zeros.begin) {
      text += "::";
      i += zeros.length;
      continue;
    }
    if (i > 0 && text.back() != ':') text += ":";
    const auto written =
        std::to_chars(piece.data(), piece.data() + piece.size(), groups[static_cast<std::size_t>(i++)], 16);
    text.append(piece.data(), written.ptr);
  }
  return text + "]:" + std::to_string(endpoint.port);
}

}  // namespace bellwether::membership
