#include "core/base/host_port.h"

#include <algorithm>
#include <arpa/inet.h>
#include <idn2.h>
#include <memory>

#include "core/base/bytes.h"

namespace bellwether {
namespace {

bool is_below(std::string_view host, std::string_view domain) {
  return host.size() > domain.size() && iequals(host.substr(host.size() - domain.size()), domain);
}

bool is_meant(std::string_view entry, std::string_view host) {
  if (entry == "*" || iequals(entry, host)) return true;
  return entry.starts_with('.') ? is_below(host, entry) : is_below(host, "." + std::string(entry));
}

}  // namespace

const Proxy* Proxies::find(bool tls, std::string_view host) const {
  const std::optional<Proxy>& one = tls ? https : http;
  if (!one) return nullptr;
  const bool direct = std::ranges::any_of(except, [host](const std::string& entry) { return is_meant(entry, host); });
  return direct ? nullptr : &*one;
}

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

std::string_view without_place(const HostPort& place, std::string_view error) {
  const std::string begin = fmt::format("connecting to {}: ", to_string(place));
  if (error.starts_with(begin)) error.remove_prefix(begin.size());
  return error;
}

namespace {
constexpr std::array<uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
}

Result<std::array<uint8_t, 16>> parse_ip(std::string_view text) {
  const std::string copy(text);
  const bool whole = copy.find('\0') == std::string::npos;  // inet_pton sees the whole text
  std::array<uint8_t, 16> out{};
  if (whole && inet_pton(AF_INET6, copy.c_str(), out.data()) == 1) return out;
  std::copy(kMapped.begin(), kMapped.end(), out.begin());
  if (whole && inet_pton(AF_INET, copy.c_str(), out.data() + kMapped.size()) == 1) return out;
  return fail(Errc::kInvalid, "'{}' is no IP address; write for example 127.0.0.1 or ::1", copy);
}

bool is_v4(const std::array<uint8_t, 16>& ip) { return std::equal(kMapped.begin(), kMapped.end(), ip.begin()); }

Result<std::string> ascii_host(std::string_view name) {
  std::string text(name);
  if (std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return text;
  char* made = nullptr;
  const int result = idn2_to_ascii_8z(text.c_str(), &made, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
  const std::unique_ptr<char, void (*)(void*)> owner(made, idn2_free);
  if (result != IDN2_OK) return fail(Errc::kInvalid, "'{}' is no name of a host: {}", name, idn2_strerror(result));
  return std::string(made);
}

}  // namespace bellwether
