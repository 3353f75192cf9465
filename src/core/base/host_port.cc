#include "core/base/host_port.h"

#include "core/base/bytes.h"

namespace bellwether {

Result<HostPort> parse_host_port(std::string_view text, uint16_t default_port) {
  HostPort host{.host = {}, .port = default_port};
  std::string_view port;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return fail(Errc::kInvalid, "the ']' of the address is missing");
    host.host = text.substr(1, end - 1);
    if (end + 1 < text.size()) {
      if (text[end + 1] != ':') return fail(Errc::kInvalid, "']' must be followed by ':' and the port");
      port = text.substr(end + 2);
    }
  } else {
    const auto colon = text.find(':');
    if (colon != std::string_view::npos && text.find(':', colon + 1) != std::string_view::npos) {
      return fail(Errc::kInvalid, "write an IPv6 address in brackets: [{}]", text);
    }
    host.host = text.substr(0, colon);
    if (colon != std::string_view::npos) port = text.substr(colon + 1);
  }
  if (host.host.empty()) return fail(Errc::kInvalid, "the host is missing");
  if (port.data() != nullptr) {
    const auto number = parse_u64(port);
    if (!number || *number > 65535) return fail(Errc::kInvalid, "'{}' is not a port", port);
    if (*number == 0)
      return fail(Errc::kInvalid, "port 0 is no address that others can connect to: write a port from 1 to 65535");
    host.port = static_cast<uint16_t>(*number);
  }
  return host;
}

std::string to_string(const HostPort& place) {
  const bool v6 = place.host.find(':') != std::string::npos;
  return fmt::format("{}:{}", v6 ? fmt::format("[{}]", place.host) : place.host, place.port);
}

}  // namespace bellwether
