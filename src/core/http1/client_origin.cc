#include "core/http1/client_origin.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/host_port.h"

namespace bellwether::http1 {
namespace {

bool is_within(std::string_view host, std::string_view domain) {
  return host.size() > domain.size() && iequals(host.substr(host.size() - domain.size()), domain);
}

bool is_meant(std::string_view entry, std::string_view host) {
  if (entry == "*" || iequals(entry, host)) return true;
  return entry.starts_with('.') ? is_within(host, entry) : is_within(host, "." + std::string(entry));
}

bool goes_through(const Origin& origin, const Proxy* proxy) {
  if (proxy == nullptr || !origin.proxy) return proxy == nullptr && !origin.proxy;
  return *origin.proxy == *proxy;
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
  std::string out = fmt::format("CONNECT {} HTTP/1.1\r\nHost: {}\r\n", authority, authority);
  if (!proxy.authorization.empty()) out += fmt::format("Proxy-Authorization: {}\r\n", proxy.authorization);
  out += "\r\n";
  return out;
}

TlsSettings TlsSettings::for_another_server() const {
  TlsSettings out = *this;
  out.server_name.clear();
  out.certificate_pem = out.key_pem = nullptr;
  return out;
}

Result<Origin*> OriginTable::find(bool tls, std::string_view host, uint16_t port, const TlsSettings& settings,
                                  const Proxy* proxy) {
  for (const auto& origin : origins_) {
    if (origin->tls == tls && origin->port == port && iequals(origin->host, host) &&
        (!tls || origin->tls_settings == settings) && goes_through(*origin, proxy)) {
      return origin.get();
    }
  }
  auto origin = std::make_unique<Origin>();
  origin->tls = tls;
  origin->host = std::string(host);
  origin->port = port;
  if (proxy != nullptr) origin->proxy = *proxy;
  if (auto address = runtime::IpAddress::parse(origin->next_hop())) {
    origin->literal = true;
    origin->address = *address;
  }
  for (const HostOverride& one : overrides_) {
    if (origin->proxy || !iequals(one.host, host)) continue;
    origin->literal = true;
    origin->address = one.to.address;
    origin->other_port = one.to.port;
  }
  if (tls) {
    origin->tls_settings = settings;
    BW_TRY(origin->tls_context, context_for(settings));
  }
  origins_.push_back(std::move(origin));
  return origins_.back().get();
}

Result<std::shared_ptr<runtime::TlsContext>> OriginTable::context_for(const TlsSettings& settings) {
  for (const auto& [known, context] : contexts_) {
    if (known == settings) return context;
  }
  runtime::TlsClientOptions options;
  options.verify = settings.verify;
  options.ca_file = settings.ca_name;
  if (settings.ca_pem != nullptr) options.ca_pem = *settings.ca_pem;
  options.certificate_file = settings.certificate_name;
  options.key_file = settings.key_name;
  if (settings.certificate_pem != nullptr) {
    options.certificate_pem = *settings.certificate_pem;
    options.key_pem = *settings.key_pem;
  }
  options.min_version = settings.min_version;
  options.max_version = settings.max_version;
  options.resume = settings.resume;
  options.alpn = {"http/1.1"};
  auto context = runtime::TlsContext::client(options);
  if (context) contexts_.emplace_back(settings, *context);
  return context;
}

}  // namespace bellwether::http1
