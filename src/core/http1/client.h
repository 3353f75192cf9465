// The HTTP/1.1 client of the load path: one exchange at a time on each connection, which is kept alive between
// exchanges; redirects, cookies, timeouts; every phase timed, every failure typed. An exchange on a kept connection
// allocates nothing. Each load thread has its own client.
//
// Through a proxy, http goes in absolute form, which the author of the request writes. https goes in a tunnel, which
// opens with the connection.
//
// An answered challenge (401) is a part of the exchange, like a redirect: only its outcome is the response.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/callback.h"
#include "core/base/time.h"
#include "core/http1/client_connections.h"
#include "core/http1/client_reader.h"
#include "core/http1/error_kind.h"
#include "core/runtime/runtime.h"

namespace bellwether::http1 {

// Limits of one exchange.
struct CallLimits {
  Duration timeout = Duration::seconds(60);  // of the whole exchange, redirects included
  Duration connect_timeout = Duration::seconds(10);
  Duration tls_timeout = Duration::seconds(10);
  Duration first_byte_timeout = Duration::seconds(60);  // sent → first byte of the response
  uint64_t body_bytes_max = 64ull << 20;
  uint16_t redirects_max = 10;  // the next redirect is the response
};

// Credentials for digest authentication (RFC 7616).
struct DigestUser {
  std::string_view name;
  std::string_view password;
};

// A request in the bytes that go over the wire. All views must stay valid until the exchange has ended.
struct Request {
  Origin* origin = nullptr;
  std::string_view method;
  std::string_view target;  // path and query; for cookies and redirects
  std::string_view head;  // request line and fields, each with its line end, without the empty line that ends the head
  std::string_view body;
  std::string_view whole;  // head, empty line and body in one piece, where prepared; else empty
  const CallLimits* limits = nullptr;
  const DigestUser* digest = nullptr;  // answers a challenge of the origin, and from then on comes with the answer
  HeadMemory* heads = nullptr;         // of earlier responses to such requests; may be left out
  const Proxies* proxies = nullptr;    // of the origin, and of redirects; nullptr: none
  const TlsSettings* tls = nullptr;    // of redirects to https; nullptr: those of the origin
  bool want_body = false;              // keep (and decode) the body for checks and extraction; else it is only counted
  bool fresh = false;                  // uses a new connection, and closes it afterwards
  bool once = false;                   // is never repeated, also when a kept connection turns out closed
};

struct Response {
  http1::ErrorKind error = http1::ErrorKind::kNone;
  int status = 0;              // 0 when there was no response
  const char* detail = "";     // for kProtocol and the like: the fault
  Instant started;             // when the exchange began (before connecting)
  Instant sent;                // when the (first) request was handed to its connection
  Instant first_byte;          // when the first byte of the response was seen; none: no byte came
  Instant done;                // when the last byte was seen, or the exchange failed
  Duration dns, connect, tls;  // of new connections of this exchange; zero when one was reused
  Duration sending;            // until the last byte was handed over; zero when one call took all
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
  uint16_t connections = 0;  // opened by this exchange
  uint16_t redirects = 0;
  int proxy_status = 0;            // kProxy: the proxy's status, 0 for an answer that is not HTTP
  uint16_t attempts = 0;           // requests sent: with redirects, and again after a kept connection turned out closed
  uint16_t repeats = 0;            // of these, those that were sent again
  const Origin* origin = nullptr;  // of the last request, after redirects
  std::string_view target;         // of the same; valid while the request's is
  std::unique_ptr<std::string> moved_to;  // that target after redirects

  // REQUIRES status != 0. Valid until the buffer is given up.
  const ResponseHead& head() const { return buffer->head; }
  // Of the last request, while its target is valid; empty when there was none.
  std::string url() const;
  std::string_view body;  // when wanted; decoded; ResponseBuffer::kSlack readable bytes behind it
  BufferPool::Lease buffer;
};

// Sees all that goes over the wire: each request, redirects and repetitions too, and what came of it. On the client's
// thread.
struct ExchangeWatch {
  bool bodies = false;  // keep the body of each response
  Callback<void(const Session& session, const Origin& origin, std::string_view request)> sent;
  // A status of 0: no response, and `response.error` says why.
  Callback<void(const Session& session, const Response& response)> received;
};

// The end of the time in which a client may send, for load that an owner can end. On the client's thread.
struct SendLimit {
  Instant until = Instant::never();  // before it, the client sends without a question
  // Called at `now`, at or after `until`. False: the client may send, and `until` is later now. True: it may never send
  // again.
  Callback<bool(Instant now)> is_over;
};

class ResponseReader;

class Client {
 public:
  // `watch` and `limit` may be nullptr; they must outlive the client.
  explicit Client(runtime::Runtime& runtime, const ExchangeWatch* watch = nullptr, const SendLimit* limit = nullptr)
      : runtime_(runtime), watch_(watch), limit_(limit) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Sends the request, follows redirects, and fills in `response`. All arguments must stay valid until it returns.
  // Failures are in response.error. kInterrupted: `cancel` was cancelled, or the limit is over; nothing more is sent,
  // also no redirect and no repetition.
  runtime::task<void> exchange(Session& session, const Request& request, Response& response,
                               runtime::Cancellation* cancel);

  // All sessions of this client share its connections: at most `most` to each server at a time (0: no limit), and other
  // sessions wait. Call it before the first exchange.
  void share_connections(uint32_t most) { shared_ = std::make_unique<SharedConnections>(runtime_, most); }

  // New connections start from these addresses of this machine, in turn by the number of the session. A server of an
  // address family without one of them cannot be reached. Empty: the kernel chooses.
  void use_local(std::vector<runtime::IpAddress> addresses) { connector_.use_local(std::move(addresses)); }
  bool has_local() const { return connector_.has_local(); }

  OriginTable& origins() { return origins_; }

 private:
  struct Attempt;
  // Costs one comparison until the limit is near.
  bool is_over(Instant now) const { return limit_ != nullptr && now >= limit_->until && limit_->is_over(now); }
  runtime::task<void> exchange_once(Session& session, const Request& request, Response& response, Instant deadline,
                                    runtime::Cancellation* cancel);
  void keep(Session& session, const Request& request, Response& response, ResponseReader& reader,
            std::unique_ptr<Connection> connection);
  runtime::task<void> exchange_authenticated(Session& session, const Request& request, Response& response,
                                             Instant deadline, runtime::Cancellation* cancel);
  std::string_view bytes_to_send(const Session& session, const Request& request);
  void put_cookies(const CookieJar& cookies, const Request& request);

  runtime::Runtime& runtime_;
  const ExchangeWatch* watch_;
  const SendLimit* limit_;
  OriginTable origins_;
  std::unique_ptr<SharedConnections> shared_;  // null: each session has its own
  BufferPool buffers_;
  Connector connector_{runtime_};
  std::string scratch_;  // a request put together for sending; only until the first write returns
};

// The request after a redirect (RFC 9110 §15.4, and browsers): 301, 302 and 303 turn every method except GET and HEAD
// into GET without a body; 307 and 308 repeat the request. Credentials stay with their origin.

inline bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// Owns the bytes of the next request.
struct RedirectedRequest {
  bool valid = false;  // false: `location` is no http or https URL
  bool tls = false;
  uint16_t port = 0;
  std::string host;
  std::string method;
  std::string target;
  std::string head;
  std::string body;

  // A view of it, without its origin. Valid while this object stays where it is.
  Request request(const CallLimits& limits, bool want_body) const;
};

// REQUIRES a redirect that names a location. Keeps the cookies of the request, except those that the redirect sets
// anew. A location without a host keeps a Host header that the user chose.
RedirectedRequest follow_redirect(const Request& request, const ResponseHead& redirect);

}  // namespace bellwether::http1
