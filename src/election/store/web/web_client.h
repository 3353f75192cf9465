// Calls of an API over HTTP/1.1: a request with a body, the whole response, within a deadline. Connections are kept and
// shared by all callers; several servers that are one to the caller are tried in turn. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/http1/client_buffer.h"
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

// What comes of a response that goes on and on.
class LineSink {
 public:
  virtual ~LineSink() = default;
  // One line of a response with status 200; false ends the call.
  virtual bool on_line(std::string_view line) = 0;
};

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
  // A call whose response is handed on line by line while it comes, over a connection of its own, of which there are at
  // most kStreamsMax (kExhausted). Its head must have come by `begin_by`; it is over when the server or the sink ends
  // it or when `deadline` passes, all of which are good ends. The body of a response that comes with another status
  // than 200 is given back.
  runtime::task<Result<WebResponse>> stream(WebRequest request, LineSink& sink, Instant begin_by, Instant deadline,
                                            runtime::Cancellation* cancel);
  // The server that calls go to now.
  std::string where() const;
  // Calls go to another server from now on: this one cannot do what it should.
  void avoid();

 private:
  struct Attempt;
  // Calls go to this server from now on.
  void turn_to(std::size_t host);
  // To the server that calls go to, or else to the next that can be reached, which calls go to from then on.
  runtime::task<Result<std::unique_ptr<runtime::Stream>>> dial_any(Instant deadline, runtime::Cancellation* cancel);
  runtime::task<Result<WebResponse>> exchange(runtime::Stream& stream, std::string bytes, Instant deadline,
                                              runtime::Cancellation* cancel, bool& heard, bool& reusable);
  // `bytes` must outlive it.
  static runtime::task<Status> send(runtime::Stream& stream, std::string_view bytes, const std::string& server);
  runtime::task<Status> follow(Attempt& attempt, LineSink& sink, Instant deadline, WebResponse& response);
  std::string bytes_of(const WebRequest& request) const;
  std::unique_ptr<runtime::Stream> take_idle();

  runtime::Runtime& runtime_;
  std::vector<HostPort> hosts_;
  std::shared_ptr<runtime::TlsContext> tls_;
  std::size_t host_ = 0;
  std::vector<std::unique_ptr<runtime::Stream>> idle_;  // to the present server
  Turns turns_{kConnectionsMax};
  std::size_t streams_ = 0;
  http1::BufferPool buffers_;
};

}  // namespace bellwether::store
