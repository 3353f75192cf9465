// Calls of an API over HTTP/1.1: a request with a body, the whole response, within a deadline. It adds to the client of
// core/http1: several servers that count as one and are tried in turn, a few connections that all callers share, and
// endless responses. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/http1/client.h"
#include "core/http1/client_reader.h"
#include "core/runtime/event.h"
#include "core/runtime/runtime.h"
#include "core/runtime/tls.h"
#include "election/store/store_url.h"
#include "election/store/turns.h"

namespace bellwether::store {

// Splits an endless response into lines as it comes: the form in which etcd and Kubernetes report changes. Takes bytes
// in pieces of any size; no socket, no clock.
class LineReader {
 public:
  static constexpr std::size_t kMaxLine = 4u << 20;

  explicit LineReader(http1::BufferPool& pool) : reader_(pool, false, true, UINT64_MAX) {}

  // Where to put the next bytes.
  MutableBytes space() { return reader_.space(); }
  // `count` bytes were put there. kProtocol: this is no response, or its line is longer than kMaxLine. Nothing is to be
  // asked of it afterwards.
  Status received(std::size_t count) { return take(reader_.received(count)); }
  // The peer has closed the connection. kClosed: in the middle of the response.
  Status ended() { return take(reader_.ended()); }

  int status() const { return reader_.has_head() ? reader_.head().status : 0; }  // 0 until the head has come
  // The response has ended; its rest is in next().
  bool over() const { return over_; }
  // The next whole line without its end; the last one needs none.
  std::optional<std::string> next();

 private:
  Status take(http1::ResponseReader::State state);

  http1::ResponseReader reader_;
  bool over_ = false;
  std::string text_;  // of the body, from `begin_` on
  std::size_t begin_ = 0;
};

// Waits for changes that a server reports in an endless response. One connection, opened at the first wait, stays open
// between two waits so that no change is lost. It is replaced from time to time, because a dead connection is silent,
// and reopened after any error with growing pauses. Changes are only hints: the waiting caller also polls, and polling
// is its only way while the connection is down. One thread.
class WebWatch {
 public:
  // The longest life of a connection, and how long the beginning of its response may take.
  static constexpr Duration kLife = Duration::seconds(60);
  static constexpr Duration kBeginWithin = Duration::seconds(5);

  enum class Word : uint8_t {
    kNothing,  // not about the key, or known already
    kChanged,  // something happened, or may have
    kEnd,      // this connection brings nothing more
  };
  // The request to the server and the meaning of its lines. Outlives the watch.
  class Source {
   public:
    virtual ~Source() = default;
    // Asks, and hands lines to the watch until the end, which `times` limit as in WebClient::stream().
    virtual runtime::task<Status> listen(WebWatch& watch, Instant begin_by, Instant deadline) = 0;
    virtual Word hear(std::string_view line) = 0;
  };

  WebWatch(runtime::Runtime& runtime, Source& source) : runtime_(runtime), source_(source) {}
  WebWatch(const WebWatch&) = delete;
  WebWatch& operator=(const WebWatch&) = delete;

  // One line of the server's reports; false ends the call.
  bool on_line(std::string_view line);

  // As StoreKey::changed(). Being cancelled closes the connection.
  runtime::task<bool> changed(runtime::Cancellation* cancel);
  // As StoreKey::watch_refused().
  const std::string& refused() const { return refused_; }

 private:
  runtime::Runtime& runtime_;
  Source& source_;
  bool may_have_ = false;  // something changed, or perhaps did, since the last report
  std::string refused_;
  runtime::Event woken_;
  runtime::task<void> keeping_;  // last: it uses everything above
};

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
  static constexpr std::size_t kMaxConnections = 16;
  static constexpr std::size_t kMaxStreams = 64;
  static constexpr std::size_t kMaxBody = 32u << 20;

  // `tls`: null for plain HTTP.
  WebClient(runtime::Runtime& runtime, std::vector<HostPort> hosts, std::shared_ptr<runtime::TlsContext> tls);
  WebClient(const WebClient&) = delete;
  WebClient& operator=(const WebClient&) = delete;
  ~WebClient();

  // Any status is an answer. Errors name the server; after one, the request was perhaps carried out, and the next call
  // goes to the next server.
  runtime::task<Result<WebResponse>> call(WebRequest request, Instant deadline, runtime::Cancellation* cancel);
  // Hands a response with status 200 to the watch, line by line as it comes, over a separate connection, of which at
  // most kMaxStreams exist (kExhausted). Its head must come by `begin_by`. The call ends well when the server or the
  // watch ends it or when `deadline` passes. Returns the body of a response with any other status.
  runtime::task<Result<WebResponse>> stream(WebRequest request, WebWatch& watch, Instant begin_by, Instant deadline,
                                            runtime::Cancellation* cancel);
  // The server that calls go to now.
  std::string where() const;
  // Sends calls to another server from now on: this one is unusable.
  void avoid();

 private:
  struct Server {
    HostPort at;
    http1::Origin origin;
    http1::Session session;  // its kept connections
  };
  // Calls go to this server from now on.
  void turn_to(std::size_t host);
  // To the current server of the calls, or else to the next reachable one, which becomes the current one.
  runtime::task<Result<std::unique_ptr<http1::Connection>>> dial_any(Instant deadline, runtime::Cancellation* cancel);
  std::string head_of(const WebRequest& request) const;

  runtime::Runtime& runtime_;
  std::shared_ptr<runtime::TlsContext> tls_;
  std::deque<Server> servers_;
  std::size_t host_ = 0;  // of servers_: where calls go
  Turns turns_{kMaxConnections};
  std::size_t streams_ = 0;
  http1::Client client_;
  http1::BufferPool buffers_;  // of streams
};

}  // namespace bellwether::store
