// A small HTTP/1.1 server for pages that people and scrapers ask for now and then: one request a connection, each with
// a limit of time and size. A client that is slow, stuck or sends without end loses its connection, and never holds up
// another one. The number of connections is limited. At the limit, a connection that has its answer gives way, else the
// one that has had the longest to send its request. Not for load: see the target.
//
// A server belongs to one runtime and its thread. A guard says which requests may read and act.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/runtime/runtime.h"
#include "core/runtime/scope.h"

namespace bellwether::web {

struct Request {
  std::string method;
  std::string path;   // as sent, without the query
  std::string query;  // without the question mark
  std::string body;
  std::vector<std::pair<std::string, std::string>> fields;

  // The only field of this name, in any case; empty when absent, or several that differ.
  std::string field(std::string_view name) const;
};

struct Answer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> fields = {};  // beside the usual ones; no line ends within
};

class Handler {
 public:
  virtual ~Handler() = default;
  // Several at a time. Should end soon after `cancel`.
  virtual runtime::task<Answer> answer(Request request, runtime::Cancellation* cancel) = 0;
};

struct Limits {
  std::size_t head = 16 * 1024;  // bytes; at most 64 KiB
  std::size_t body = 64 * 1024;
  std::size_t connections = 64;
  Duration receive = Duration::seconds(5);  // for a whole request to arrive
  Duration send = Duration::seconds(5);     // for a whole answer to leave
};

class HttpServer {
 public:
  // `runtime` and `handler` must outlive it. kExists when the port is taken.
  static Result<std::unique_ptr<HttpServer>> listen(runtime::Runtime& runtime, runtime::Endpoint at, Handler& handler,
                                                    Limits limits);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  runtime::Endpoint local() const { return listener_->local(); }
  // Until cancelled, and then until all pending connections have ended.
  runtime::task<void> serve(runtime::Cancellation* cancel);

 private:
  struct Connection;
  HttpServer(runtime::Runtime& runtime, Handler& handler, Limits limits, std::unique_ptr<runtime::Listener> listener);
  void make_room();
  runtime::task<void> converse(std::unique_ptr<runtime::Stream> stream, runtime::Cancellation* cancel);
  // False: nothing to answer. `refusal` has a status when the request is wrong.
  runtime::task<bool> receive(Connection& connection, Request& request, Answer& refusal, runtime::Cancellation* cancel);
  runtime::task<bool> read_more(Connection& connection, std::string& text);
  runtime::task<void> send(Connection& connection, const Answer& answer, bool with_body, runtime::Cancellation* cancel);

  runtime::Runtime& runtime_;
  Handler& handler_;
  Limits limits_;
  std::unique_ptr<runtime::Listener> listener_;
  std::list<Connection*> connections_;  // the oldest first
};

// "a=1&b=%2F+2" as names and values, decoded (application/x-www-form-urlencoded); a bad escape stays as it is.
std::vector<std::pair<std::string, std::string>> form_fields(std::string_view text);

// HOST:PORT, "[::1]:80" and the like, as an endpoint; a host by name is resolved, until `cancel`. kInvalid with an
// example.
runtime::task<Result<runtime::Endpoint>> endpoint_of(runtime::Runtime& runtime, std::string at,
                                                     runtime::Cancellation* cancel = nullptr);

// The rights to read and act through the web page of the leases. A browser sends requests of any page that its user has
// open, so a request alone proves nothing. Pure.
//
//   - The Host must be a name that the page is served under: a foreign name that resolves to this machine (DNS
//     rebinding) is refused.
//   - Requests that act come by POST, from the page itself: an Origin must be the page, and the form carries a secret
//     that only the page knows.
//   - With an operator's secret, every request carries it: as `Authorization: Bearer SECRET`, or as the password of
//     basic authentication, which browsers ask for. A program with the bearer form needs no form secret.

struct GuardRules {
  std::vector<std::string> hosts;  // "127.0.0.1:8461", in lower case; empty: any, which needs `bearer`
  std::string form_secret;         // drawn at the start
  std::string bearer;              // empty: not required
};

class RequestGuard {
 public:
  explicit RequestGuard(GuardRules rules) : rules_(std::move(rules)) {}

  // The answer to a request that may not be read, or nothing.
  std::optional<Answer> against_reading(const Request& request) const;
  // The same for a request that acts; `form_secret`: from its form.
  std::optional<Answer> against_acting(const Request& request, const std::string& form_secret) const;
  const std::string& form_secret() const { return rules_.form_secret; }

 private:
  GuardRules rules_;
};

// Takes equal time for every first difference.
bool same_secret(const std::string& a, const std::string& b);

// The names that a page on `at` may be asked for under: of the loopback all its names, and `more`, each with the port,
// or without one where a browser says none.
std::vector<std::string> names_of_page(const runtime::Endpoint& at, const std::vector<std::string>& more);
bool is_loopback(const runtime::IpAddress& address);

}  // namespace bellwether::web
