// The servers of one load thread: scheme, host and port, the proxy, and the needs of a new connection. An Origin lives
// as long as its table, so requests and connections point to it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/http1/url.h"
#include "core/runtime/address.h"
#include "core/runtime/tls.h"

namespace bellwether::http1 {

// The proxies that requests go through (RFC 9110, section 3.7): http in absolute form, https in a tunnel.
struct Proxy {
  std::string host;  // a name or an address, without brackets
  uint16_t port = 0;
  std::string authorization;  // the value of Proxy-Authorization; empty: none. A secret
  bool operator==(const Proxy&) const = default;
};

struct Proxies {
  std::optional<Proxy> http;
  std::optional<Proxy> https;
  std::vector<std::string> except;  // lower case: hosts with all below them, and domains, which begin with a dot;
                                    // "*": all

  // nullptr: straight to the server. Valid as long as this object stays where it is.
  const Proxy* find(bool tls, std::string_view host) const;
};

// The head of the request that opens a tunnel, whole. `host` without brackets.
std::string connect_head(std::string_view host, uint16_t port, const Proxy& proxy);

struct TlsSettings {
  bool verify = true;
  // PEM; null: the system's. The same certificates are one object: settings are compared for each request.
  std::shared_ptr<const std::string> ca_pem = nullptr;
  std::string ca_name = {};  // for messages
  // Of the client, PEM: shown on the server's request; null: none.
  std::shared_ptr<const std::string> certificate_pem = nullptr;
  std::shared_ptr<const std::string> key_pem = nullptr;
  std::string certificate_name = {};  // for messages
  std::string key_name = {};
  std::string server_name = {};  // asked for and verified in place of the host; empty: the host
  runtime::TlsVersion min_version = runtime::TlsVersion::k12;
  runtime::TlsVersion max_version = runtime::TlsVersion::k13;
  bool resume = false;  // a new connection of a user resumes the user's last session
  bool operator==(const TlsSettings&) const = default;
  // The settings for another server: its name is its host, and it gets no certificate.
  TlsSettings for_another_server() const;
};

struct Origin {
  bool tls = false;
  std::string host;
  uint16_t port = 0;
  TlsSettings tls_settings;
  std::shared_ptr<runtime::TlsContext> tls_context;  // set when tls
  std::optional<Proxy> proxy;                        // none: connections go straight to the host
  bool literal = false;                              // next_hop() is an IP address: no name to resolve
  runtime::IpAddress address;                        // literal only
  uint32_t next_address = 0;                         // turns through the addresses of a name
  uint16_t other_port = 0;                           // of a HostOverride; 0: none

  // The name that the server's certificate must have.
  const std::string& tls_name() const { return tls_settings.server_name.empty() ? host : tls_settings.server_name; }
  // The host that connections go to.
  const std::string& next_hop() const { return proxy ? proxy->host : host; }
  uint16_t next_hop_port() const { return proxy ? proxy->port : (other_port != 0 ? other_port : port); }
};

// Connections to a host go to this address, and to its port unless that is 0.
struct HostOverride {
  std::string host;
  runtime::Endpoint to;
};

class OriginTable {
 public:
  // Of direct connections. Before the first find().
  void override_hosts(std::vector<HostOverride> hosts) { overrides_ = std::move(hosts); }
  // The origin of these settings, made at first use; `proxy`: of connections to it, nullptr: none. Fails when the CA
  // certificates cannot be read. Looking up a known origin allocates nothing.
  Result<Origin*> find(bool tls, std::string_view host, uint16_t port, const TlsSettings& settings,
                       const Proxy* proxy = nullptr);

 private:
  Result<std::shared_ptr<runtime::TlsContext>> context_for(const TlsSettings& settings);
  std::vector<HostOverride> overrides_;
  std::vector<std::unique_ptr<Origin>> origins_;
  std::vector<std::pair<TlsSettings, std::shared_ptr<runtime::TlsContext>>> contexts_;
};

}  // namespace bellwether::http1
