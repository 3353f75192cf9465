// Calls of an API over HTTP/1.1: a request with a body, the whole response, within a deadline. Connections are kept and
// shared by all callers; several servers that are one to the caller are tried in turn. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "protocol/http1/client_buffer.h"
#include "runtime/runtime.h"
#include "runtime/tls.h"
#include "store/store_url.h"
#include "store/turns.h"

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

class WebClient {
 public:
  static constexpr std::size_t kConnectionsMax = 16;
  static constexpr std::size_t kBodyMax = 32u << 20;

  // `tls`: null for plain HTTP.
  WebClient(runtime::Runtime& runtime, std::vector<HostPort> hosts, std::shared_ptr<runtime::TlsContext> tls);
  WebClient(const WebClient&) = delete;
  WebClient& operator=(const WebClient&) = delete;
  ~WebClient();

  // Any status is an answer. Errors name the server; after one, the request was perhaps carried out, and the next call
  // goes to the next server.
  runtime::task<Result<WebResponse>> call(WebRequest request, Instant deadline, runtime::Cancellation* cancel);
  // The server that calls go to now.
  std::string where() const;
  // Calls go to another server from now on: this one cannot do what it should.
  void avoid();

 private:
  struct Attempt;
  runtime::task<Result<std::unique_ptr<runtime::Stream>>> dial_any(Instant deadline, runtime::Cancellation* cancel);
  runtime::task<Result<WebResponse>> exchange(runtime::Stream& stream, std::string bytes, Instant deadline,
                                              runtime::Cancellation* cancel, bool& heard, bool& reusable);
  std::string bytes_of(const WebRequest& request) const;
  std::unique_ptr<runtime::Stream> take_idle();

  runtime::Runtime& runtime_;
  std::vector<HostPort> hosts_;
  std::shared_ptr<runtime::TlsContext> tls_;
  std::size_t host_ = 0;
  std::vector<std::unique_ptr<runtime::Stream>> idle_;  // to the present server
  Turns turns_{kConnectionsMax};
  http1::BufferPool buffers_;
};

}  // namespace bellwether::store
