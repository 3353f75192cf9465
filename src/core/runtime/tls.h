// TLS 1.2 and 1.3 over any stream, by OpenSSL. Encryption reads and writes the stream below directly, so it needs no
// additional copy and works over simulated connections too.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/runtime/runtime.h"

struct ssl_ctx_st;
struct ssl_session_st;

namespace bellwether::runtime {

enum class TlsVersion : uint8_t { k12, k13 };

struct TlsClientOptions {
  bool verify = true;
  bool check_name = true;        // the certificate must be for the name that is connected to; false: any trusted one
  std::string ca_file;           // PEM; empty: the system's certificates
  std::string ca_pem;            // the certificates themselves; ca_file then only names them in messages
  std::string certificate_file;  // PEM, with its chain: shown on the server's request; empty: none
  std::string key_file;          // PEM, of that certificate
  std::string certificate_pem;   // the same themselves; the files then only name them in messages
  std::string key_pem;
  std::vector<std::string> alpn;  // in order of preference
  TlsVersion min_version = TlsVersion::k12;
  TlsVersion max_version = TlsVersion::k13;
  bool resume = false;  // connections may resume a TlsSession
};

struct TlsServerOptions {
  std::string certificate_file;  // PEM, with its chain
  std::string key_file;          // PEM
  std::vector<std::string> alpn;
  // PEM file of the certificates that a client's must be issued by; one without such a certificate is refused. Empty:
  // clients show none.
  std::string client_ca_file = {};
};

// The latest session of a client with one server, for its next connection to resume. Used by one thread.
struct TlsSession {
  TlsSession() = default;
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;
  ssl_session_st* latest = nullptr;  // owned; nullptr: none yet
};

// Settings shared by many connections. Immutable; may be used by several threads.
class TlsContext {
 public:
  // Errors: kTls, naming the file and its fault.
  static Result<std::shared_ptr<TlsContext>> client(const TlsClientOptions& options);
  static Result<std::shared_ptr<TlsContext>> server(const TlsServerOptions& options);
  // A server with a key and a certificate made for the occasion, valid for these names and addresses for a day on
  // either side of now. For tests and demonstrations.
  static Result<std::shared_ptr<TlsContext>> self_signed_server(const std::vector<std::string>& names,
                                                                const std::vector<std::string>& alpn);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // The server's own certificate, for clients to trust. Empty for a client.
  std::string certificate_pem() const;
  bool verifies() const { return verify_; }
  bool checks_name() const { return check_name_; }
  ssl_ctx_st* native() const { return context_; }

 private:
  TlsContext() = default;
  Status set_alpn(const std::vector<std::string>& names, bool server);
  ssl_ctx_st* context_ = nullptr;
  bool verify_ = false;
  bool check_name_ = true;
  std::vector<unsigned char> alpn_;  // in wire form
};

// Shakes hands over `below` and gives the secured stream. `server_name` is sent (unless it is an address) and, when the
// context verifies, the certificate must be for it. Errors: kTls with the reason, kTimeout, kCancelled, kReset.
// `session`, if any, is resumed if the server still knows it, and then replaced by the sessions that the server offers.
//
// Of the resulting stream: kEnd is the peer's close_notify. A connection that ends without one is kReset, because an
// attacker on the way could have cut it. After kWouldBlock, a write must be tried again with at least the same bytes.
// To be sure that close_notify leaves, call finish_writing() when the stream is writable.
task<Result<std::unique_ptr<Stream>>> tls_connect(Runtime& runtime, std::unique_ptr<Stream> below,
                                                  std::shared_ptr<TlsContext> context, std::string server_name,
                                                  Duration timeout, Cancellation* cancel,
                                                  std::shared_ptr<TlsSession> session = nullptr);
task<Result<std::unique_ptr<Stream>>> tls_accept(Runtime& runtime, std::unique_ptr<Stream> below,
                                                 std::shared_ptr<TlsContext> context, Duration timeout,
                                                 Cancellation* cancel);

// After kTls: the fault, in OpenSSL's words ("tlsv1 alert unknown ca"); else empty. Where the other end refuses the
// certificate of this one, TLS 1.3 reports it only after the handshake, with the first read. REQUIRES a stream of
// tls_connect() or tls_accept().
std::string tls_failure(const Stream& secured);

// The URIs among the alternative names of the certificate that the other end has shown and that was verified; none when
// it showed none or when it was not verified. REQUIRES a stream of tls_connect() or tls_accept().
std::vector<std::string> tls_peer_uris(const Stream& secured);

}  // namespace bellwether::runtime
