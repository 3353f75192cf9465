// Connections between exchanges: those of one virtual user, in its session, or those that all users of a client share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/host_port.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/http1/cookies.h"
#include "core/http1/digest.h"
#include "core/http1/url.h"
#include "core/runtime/address.h"
#include "core/runtime/event.h"
#include "core/runtime/runtime.h"
#include "core/runtime/stream.h"
#include "core/runtime/tls.h"

namespace bellwether::http1 {

// The servers of one load thread: scheme, host and port, the proxy, and the needs of a new connection. An Origin lives
// as long as its table, so requests and connections point to it.

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

class SharedConnections;
struct Request;
struct Response;

// A connection to one origin. The holder of the pointer owns it: the session while it is idle, else an exchange.
struct Connection {
  std::unique_ptr<runtime::Stream> stream;
  const Origin* origin = nullptr;
  std::unique_ptr<Connection> next;     // in the session's list of idle connections
  SharedConnections* counts = nullptr;  // where it has one of a limited number of places
  bool used = false;                    // has carried an exchange: the server may have closed it since

  Connection() = default;
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
};

// The challenge of a server that is being answered, and how often it was.
struct DigestMemory {
  const Origin* origin = nullptr;
  DigestChallenge challenge;
  uint32_t count = 0;
};

// The state of one virtual user between requests: its idle connections and its cookies. Not shared with other virtual
// users, as with a browser profile. Costs a few bytes until it is used.
class Session {
 public:
  // An idle connection to this origin, the one used last, or nothing. A connection the server has closed meanwhile is
  // dropped on the way.
  std::unique_ptr<Connection> take_idle(const Origin& origin) {
    std::unique_ptr<Connection>* link = &idle_;
    while (*link != nullptr) {
      std::unique_ptr<Connection> connection = std::move(*link);
      link->swap(connection->next);  // swaps here need no destructor
      if (!connection->stream->idle_and_open()) continue;
      if (connection->origin == &origin) return connection;
      connection->next = std::move(*link);
      *link = std::move(connection);
      link = &(*link)->next;
    }
    return nullptr;
  }
  void put_idle(std::unique_ptr<Connection> connection) {
    connection->next.swap(idle_);
    idle_.swap(connection);
  }
  void close_idle() {
    while (idle_ != nullptr) idle_ = std::move(idle_->next);
  }
  // The TLS session with this origin, which its next connection resumes. Only the origins used last have one.
  std::shared_ptr<runtime::TlsSession> tls_session(const Origin& origin) {
    constexpr std::size_t kMaxSessions = 8;
    for (const auto& [known, session] : tls_sessions_) {
      if (known == &origin) return session;
    }
    if (tls_sessions_.size() == kMaxSessions) tls_sessions_.erase(tls_sessions_.begin());
    return tls_sessions_.emplace_back(&origin, std::make_shared<runtime::TlsSession>()).second;
  }
  ~Session() { close_idle(); }
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  CookieJar cookies;
  std::unique_ptr<DigestMemory> digest;
  const void* owner = nullptr;  // for an ExchangeWatch; nullptr: no virtual user
  uint32_t number = 0;          // picks its local address

 private:
  std::unique_ptr<Connection> idle_;
  std::vector<std::pair<const Origin*, std::shared_ptr<runtime::TlsSession>>> tls_sessions_;
};

// Connections of all users of one client. One thread. Outlives the connections.
class SharedConnections {
 public:
  // `most`: to each server at a time; 0: no limit.
  SharedConnections(runtime::Runtime& runtime, uint32_t most) : runtime_(runtime), most_(most) {}
  ~SharedConnections() { session_.close_idle(); }
  SharedConnections(const SharedConnections&) = delete;
  SharedConnections& operator=(const SharedConnections&) = delete;

  // The idle ones, and the sessions of TLS.
  Session& session() { return session_; }
  // A place among the connections to this server, once there is one, in the order of the calls. With the place may come
  // a connection; without its stream it is to be opened. nullptr: the deadline or the cancellation came first.
  runtime::task<std::unique_ptr<Connection>> take_place(const Origin& origin, Instant deadline,
                                                        runtime::Cancellation* cancel);
  // Gives it to the user that waits longest, or keeps it.
  void put(std::unique_ptr<Connection> connection);

 private:
  friend struct Connection;
  struct Server;
  // A user that waits. In the list of its server until its turn comes.
  struct Waiting {
    explicit Waiting(Server& server);
    ~Waiting() { leave(); }
    void leave();
    void get(std::unique_ptr<Connection> connection);
    static void give_up(void* self);
    std::unique_ptr<Connection> got;
    runtime::Event called;
    Server* at;  // nullptr: not in the list
    Waiting* before = nullptr;
    Waiting* behind = nullptr;
  };
  struct Server {
    const Origin* origin = nullptr;
    uint32_t open = 0;
    Waiting* first = nullptr;
    Waiting* last = nullptr;
  };
  Server& server_of(const Origin& origin);
  std::unique_ptr<Connection> new_place(Server& server);
  void give_back(const Origin& origin);

  runtime::Runtime& runtime_;
  uint32_t most_;
  std::vector<std::unique_ptr<Server>> servers_;
  Session session_;
};

// Makes the connections of one client: to the addresses of a server in turn, through its proxy, with TLS. One thread.
class Connector {
 public:
  explicit Connector(runtime::Runtime& runtime) : runtime_(runtime) {}

  // See Client::use_local().
  void use_local(std::vector<runtime::IpAddress> addresses);
  bool has_local() const { return !local_.empty(); }

  // A connection for the request: a new one, or one of `shared`, which may be nullptr. Its times and errors go into
  // `response`; nullptr: it failed.
  runtime::task<std::unique_ptr<Connection>> open(Session& session, SharedConnections* shared, const Request& request,
                                                  Response& response, Instant deadline, runtime::Cancellation* cancel);

 private:
  std::optional<runtime::IpAddress> local_for(bool v4, uint32_t number) const;
  runtime::task<bool> open_tunnel(Connection& connection, Origin& origin, Instant deadline, Response& response,
                                  runtime::Cancellation* cancel);

  runtime::Runtime& runtime_;
  std::vector<runtime::IpAddress> local_;  // those of IPv4 first
  std::size_t local_v4_ = 0;               // of these
};

}  // namespace bellwether::http1
