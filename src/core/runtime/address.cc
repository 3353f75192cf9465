#include "core/runtime/address.h"

#include <arpa/inet.h>
#include <cstring>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/host_port.h"

namespace bellwether::runtime {
namespace {
constexpr std::array<uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
}

IpAddress IpAddress::v4(uint32_t host_order) {
  IpAddress address;
  std::memcpy(address.octets_.data(), kMapped.data(), kMapped.size());
  const uint32_t network = htonl(host_order);
  std::memcpy(address.octets_.data() + 12, &network, 4);
  return address;
}

IpAddress IpAddress::v6(const std::array<uint8_t, 16>& network_order) {
  IpAddress address;
  address.octets_ = network_order;
  return address;
}

Result<IpAddress> IpAddress::parse(std::string_view text) {
  BW_TRY(const auto octets, parse_ip(text));
  return v6(octets);
}

bool IpAddress::is_v4() const { return bellwether::is_v4(octets_); }

uint32_t IpAddress::v4_value() const {
  check(is_v4());
  uint32_t network = 0;
  std::memcpy(&network, octets_.data() + 12, 4);
  return ntohl(network);
}

std::string IpAddress::to_string() const {
  char text[INET6_ADDRSTRLEN];
  const bool four = is_v4();
  inet_ntop(four ? AF_INET : AF_INET6, octets_.data() + (four ? 12 : 0), text, sizeof text);
  return text;
}

Result<Endpoint> Endpoint::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const auto port = colon == std::string_view::npos ? std::nullopt : parse_u64(text.substr(colon + 1));
  if (port && *port > 65535) {
    return fail(Errc::kInvalid, "'{}' has port {}; a port is at most 65535", text, *port);
  }
  if (!port) {
    return fail(Errc::kInvalid, fmt::format("'{}' has no port; write for example 127.0.0.1:8080 or [::1]:8080", text));
  }
  std::string_view host = text.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  BW_TRY(auto address, IpAddress::parse(host));
  return Endpoint{address, static_cast<uint16_t>(*port)};
}

std::string Endpoint::to_string() const {
  const std::string host = address.to_string();
  return fmt::format("{}:{}", address.is_v4() ? host : fmt::format("[{}]", host), port);
}

}  // namespace bellwether::runtime
