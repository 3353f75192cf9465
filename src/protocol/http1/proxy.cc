#include "protocol/http1/proxy.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/host_port.h"

namespace bellwether::http1 {
namespace {

bool is_within(std::string_view host, std::string_view domain) {
  return host.size() > domain.size() && iequals(host.substr(host.size() - domain.size()), domain);
}

bool is_meant(std::string_view entry, std::string_view host) {
  if (entry == "*" || iequals(entry, host)) return true;
  return entry.starts_with('.') ? is_within(host, entry) : is_within(host, "." + std::string(entry));
}

}  // namespace

const Proxy* Proxies::find(bool tls, std::string_view host) const {
  const std::optional<Proxy>& one = tls ? https : http;
  if (!one) return nullptr;
  const bool direct =
      std::any_of(except.begin(), except.end(), [host](const std::string& entry) { return is_meant(entry, host); });
  return direct ? nullptr : &*one;
}

std::string connect_head(std::string_view host, uint16_t port, const Proxy& proxy) {
  const std::string authority = to_string(HostPort{std::string(host), port});
  std::string out = "CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n";
  if (!proxy.authorization.empty()) out += "Proxy-Authorization: " + proxy.authorization + "\r\n";
  out += "\r\n";
  return out;
}

}  // namespace bellwether::http1
