// Calls of an API over HTTP/1.1: a request with a body, the whole response, within a deadline. What stores need beside
// the client of core/http1: several servers that are one to the caller are tried in turn, all callers share a few
// connections, and a response may go on and on. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/http1/client.h"
#include "core/runtime/runtime.h"
#include "core/runtime/tls.h"
#include "election/store/store_url.h"
#include "election/store/turns.h"

namespace bellwether::store {

struct WebRequest {
  std::string method;
  std::string target;
  std::vector<std::string> fields;  // "Name: value", besides Host and Content-Length
  std::string body;
  // Carrying it out twice is as good as once: it may be sent again when a kept connection turns out to be closed.
  bool repeatable = false;
};

struct WebResponse {
  int status = 0;
  std::string body;
  Duration retry_after;  // as the server asks; zero when it does not
};

class WebWatch;

class WebClient {
 public:
  static constexpr std::size_t kConnectionsMax = 16;
  static constexpr std::size_t kStreamsMax = 64;
  static constexpr std::size_t kBodyMax = 32u << 20;

  // `tls`: null for plain HTTP.
  WebClient(runtime::Runtime& runtime, std::vector<HostPort> hosts, std::shared_ptr<runtime::TlsContext> tls);
  WebClient(const WebClient&) = delete;
  WebClient& operator=(const WebClient&) = delete;
  ~WebClient();

  // Any status is an answer. Errors name the server; after one, the request was perhaps carried out, and the next call
  // goes to the next server.
  runtime::task<Result<WebResponse>> call(WebRequest request, Instant deadline, runtime::Cancellation* cancel);
  // A call whose response with status 200 is handed to the watch line by line while it comes, over a connection of its
  // own, of which there are at most kStreamsMax (kExhausted). Its head must have come by `begin_by`; it is over when
  // the server or the watch ends it or when `deadline` passes, all of which are good ends. The body of a response that
  // comes with another status than 200 is given back.
  runtime::task<Result<WebResponse>> stream(WebRequest request, WebWatch& watch, Instant begin_by, Instant deadline,
                                            runtime::Cancellation* cancel);
  // The server that calls go to now.
  std::string where() const;
  // Calls go to another server from now on: this one cannot do what it should.
  void avoid();

 private:
  struct Server {
    HostPort at;
    http1::Origin origin;
    http1::Session session;  // its kept connections
  };
  // Calls go to this server from now on.
  void turn_to(std::size_t host);
  // To the server that calls go to, or else to the next that can be reached, which calls go to from then on.
  runtime::task<Result<std::unique_ptr<http1::Connection>>> dial_any(Instant deadline, runtime::Cancellation* cancel);
  std::string head_of(const WebRequest& request) const;

  runtime::Runtime& runtime_;
  std::shared_ptr<runtime::TlsContext> tls_;
  std::deque<Server> servers_;
  std::size_t host_ = 0;  // of servers_: where calls go
  Turns turns_{kConnectionsMax};
  std::size_t streams_ = 0;
  http1::Client client_;
  http1::BufferPool buffers_;  // of streams
};

}  // namespace bellwether::store
