#include "core/web/http_server.h"

#include <algorithm>
#include <array>
#include <span>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/http1/head.h"

namespace bellwether::web {
namespace {

using http1::Parse;
using http1::RequestHead;
using runtime::Cancellation;
using runtime::Io;
using runtime::Stream;
using runtime::task;

constexpr Duration kLinger = Duration::seconds(1);  // for a client that still sends unread data
constexpr std::size_t kPieceBytes = 4096;

const char* phrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 303: return "See Other";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 409: return "Conflict";
    case 411: return "Length Required";
    case 413: return "Content Too Large";
    case 421: return "Misdirected Request";
    case 431: return "Request Header Fields Too Large";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    default: return "";
  }
}

std::string head_of(const Answer& answer) {
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", answer.status, phrase(answer.status));
  text += fmt::format("Content-Type: {}\r\n", answer.type);
  text += fmt::format("Content-Length: {}\r\n", answer.body.size());
  text += "Connection: close\r\nX-Content-Type-Options: nosniff\r\n";
  for (const auto& [name, value] : answer.fields) text += fmt::format("{}: {}\r\n", name, value);
  return text + "\r\n";
}

std::string form_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low >= 0) {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

Answer refuse(int status, const std::string& why) { return {.status = status, .body = why + "\n"}; }

// Takes the head off `text` when it is complete. Nothing: more is needed. `refusal`: it is wrong.
std::optional<uint64_t> take_head(std::string& text, std::size_t& scan_from, const Limits& limits, Request& request,
                                  Answer& refusal) {
  RequestHead head;
  std::size_t consumed = 0;
  const char* reason = "";
  const Parse parsed = http1::parse_request_head(text, scan_from, head, consumed, reason);
  const bool too_long = parsed == Parse::kTooLarge || (parsed == Parse::kMore && text.size() > limits.head) ||
                        (parsed == Parse::kDone && consumed > limits.head);
  if (too_long) {
    refusal = refuse(431, "the head of the request is too large");
  } else if (parsed == Parse::kBad) {
    refusal = refuse(400, reason);
  }
  if (parsed != Parse::kDone || refusal.status != 0) return std::nullopt;
  if (head.framing == RequestHead::Framing::kChunked) refusal = refuse(411, "the request needs a Content-Length");
  if (head.content_length > limits.body) refusal = refuse(413, "the body of the request is too large");
  request.method = head.method;
  request.path = head.path;
  request.query = head.query;
  for (uint16_t i = 0; i < head.field_count; ++i) {
    request.fields.emplace_back(std::string(head.fields[i].name), std::string(head.fields[i].value));
  }
  const uint64_t length = head.content_length;
  text.erase(0, consumed);
  return length;
}

}  // namespace

std::string Request::field(std::string_view name) const {
  const std::string* found = nullptr;
  for (const auto& [other, value] : fields) {
    if (!iequals(other, name)) continue;
    if (found != nullptr && *found != value) return {};
    found = &value;
  }
  return found == nullptr ? std::string() : *found;
}

struct HttpServer::Connection {
  enum class State : unsigned char { kAnswered, kAsking, kAsked };  // in the order of giving way
  std::unique_ptr<Stream> stream;
  State state = State::kAsking;
};

HttpServer::HttpServer(runtime::Runtime& runtime, Handler& handler, Limits limits,
                       std::unique_ptr<runtime::Listener> listener)
    : runtime_(runtime), handler_(handler), limits_(limits), listener_(std::move(listener)) {}

HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::listen(runtime::Runtime& runtime, runtime::Endpoint at,
                                                       Handler& handler, Limits limits) {
  auto listener = runtime.listen(at, {.backlog = 64});
  if (!listener) {
    return fail(listener.error().code, "cannot listen on {}: {}", at.to_string(), listener.error().message);
  }
  return std::unique_ptr<HttpServer>(new HttpServer(runtime, handler, limits, std::move(*listener)));
}

task<void> HttpServer::serve(Cancellation* cancel) {
  runtime::Scope scope(cancel);
  while (auto stream = co_await runtime::accept_next(runtime_, *listener_, scope.cancellation())) {
    make_room();
    scope.spawn(converse(std::move(stream), scope.cancellation()));
  }
  co_await scope.join();
}

// An answered client needs its connection least; a client with a whole request is about to be answered.
void HttpServer::make_room() {
  if (connections_.size() < limits_.connections) return;
  Connection* gives_way =
      *std::min_element(connections_.begin(), connections_.end(),
                        [](const Connection* a, const Connection* b) { return a->state < b->state; });
  gives_way->stream->interrupt(Errc::kExhausted);
  connections_.remove(gives_way);
}

task<void> HttpServer::converse(std::unique_ptr<Stream> stream, Cancellation* cancel) {
  Connection connection{std::move(stream)};
  connections_.push_back(&connection);
  Request request;
  Answer answer{.status = 0};
  const bool asked = co_await receive(connection, request, answer, cancel);
  if (asked) {
    connection.state = Connection::State::kAsked;
    const bool with_body = request.method != "HEAD";
    if (answer.status == 0) answer = co_await handler_.answer(std::move(request), cancel);
    co_await send(connection, answer, with_body, cancel);
  }
  connections_.remove(&connection);
}

task<bool> HttpServer::receive(Connection& connection, Request& request, Answer& refusal, Cancellation* cancel) {
  const runtime::Within within(runtime_, *connection.stream, runtime_.read_clock() + limits_.receive, cancel);
  std::string text;
  std::size_t scan_from = 0;
  std::optional<uint64_t> length;
  while (!length) {
    const bool more = co_await read_more(connection, text);
    if (!more) co_return false;
    length = take_head(text, scan_from, limits_, request, refusal);
    if (refusal.status != 0) co_return true;
  }
  while (text.size() < *length) {
    const bool more = co_await read_more(connection, text);
    if (!more) co_return false;
  }
  text.resize(*length);
  request.body = std::move(text);
  co_return true;
}

task<bool> HttpServer::read_more(Connection& connection, std::string& text) {
  std::array<char, kPieceBytes> piece{};
  while (true) {
    const Io io = connection.stream->try_read(std::as_writable_bytes(std::span(piece)));
    if (io.kind == Io::Kind::kDone) {
      text.append(piece.data(), io.count);
      co_return connection.stream->interrupted() == Errc::kOk;
    }
    if (io.kind != Io::Kind::kWouldBlock) co_return false;
    const Errc why = co_await connection.stream->readable();
    if (why != Errc::kOk) co_return false;
  }
}

task<void> HttpServer::send(Connection& connection, const Answer& answer, bool with_body, Cancellation* cancel) {
  Stream& stream = *connection.stream;
  const runtime::Within within(runtime_, stream, runtime_.read_clock() + limits_.send, cancel);
  const std::string head = head_of(answer);
  Errc sent = co_await runtime::write_all(stream, as_bytes(head));
  if (sent == Errc::kOk && with_body) sent = co_await runtime::write_all(stream, as_bytes(answer.body));
  if (sent != Errc::kOk || stream.interrupted() != Errc::kOk) {
    stream.reset_when_closed();
    co_return;
  }
  stream.finish_writing();
  connection.state = Connection::State::kAnswered;
  // Closing with bytes unread would break the connection, and the client might lose the answer.
  const runtime::Within linger(runtime_, stream, runtime_.read_clock() + kLinger, cancel);
  std::string rest;
  while (true) {
    rest.clear();
    const bool more = co_await read_more(connection, rest);
    if (!more) co_return;
  }
}

std::vector<std::pair<std::string, std::string>> form_fields(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> fields;
  while (!text.empty()) {
    const std::string_view one = take_until(text, '&');
    const auto equals = one.find('=');
    if (one.empty()) continue;
    const std::string_view value = equals == std::string_view::npos ? std::string_view() : one.substr(equals + 1);
    fields.emplace_back(form_decoded(one.substr(0, equals)), form_decoded(value));
  }
  return fields;
}

task<Result<runtime::Endpoint>> endpoint_of(runtime::Runtime& runtime, std::string at, Cancellation* cancel) {
  const auto colon = at.rfind(':');
  const auto port = colon == std::string::npos ? std::nullopt : parse_u64(std::string_view(at).substr(colon + 1));
  std::string host = at.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (!port || *port > 65535 || host.empty()) {
    co_return fail(Errc::kInvalid, "'{}' is not an address with a port; write HOST:PORT, such as 127.0.0.1:9464", at);
  }
  BW_CO_TRY(const auto addresses, co_await runtime.resolve(host, cancel));
  if (addresses.empty()) co_return fail(Errc::kNotFound, "'{}' has no address", host);
  co_return runtime::Endpoint{addresses.front(), static_cast<uint16_t>(*port)};
}

namespace {

constexpr uint16_t kHttpPort = 80;  // which browsers leave out of the Host

// The text behind "Bearer " or "Basic ".
std::optional<std::string> credentials(const std::string& field, std::string_view scheme) {
  const std::string_view text = field;
  if (text.size() <= scheme.size() || !iequals(text.substr(0, scheme.size()), scheme) || text[scheme.size()] != ' ') {
    return std::nullopt;
  }
  return std::string(trim(text.substr(scheme.size() + 1)));
}

bool carries(const Request& request, const std::string& secret) {
  const std::string field = request.field("Authorization");
  if (const auto bearer = credentials(field, "Bearer")) return same_secret(*bearer, secret);
  const auto basic = credentials(field, "Basic");
  if (!basic) return false;
  const std::string pair = bytes_of_base64(*basic);
  const auto colon = pair.find(':');
  return colon != std::string::npos && same_secret(pair.substr(colon + 1), secret);
}

Answer guard_answer(int status, const std::string& why) { return {.status = status, .body = why + "\n"}; }

}  // namespace

bool same_secret(const std::string& a, const std::string& b) {
  unsigned different = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) different |= static_cast<unsigned char>(a[i] ^ b[i]);
  return different == 0;
}

std::optional<Answer> RequestGuard::against_reading(const Request& request) const {
  const std::string host = lower_case(request.field("Host"));
  if (!rules_.hosts.empty() && std::find(rules_.hosts.begin(), rules_.hosts.end(), host) == rules_.hosts.end()) {
    return guard_answer(421, "this server does not serve that host name; permit it with --name HOST");
  }
  if (!rules_.bearer.empty() && !carries(request, rules_.bearer)) {
    Answer answer =
        guard_answer(401, "authentication is required: Authorization: Bearer SECRET, or the secret as password");
    answer.fields.emplace_back("WWW-Authenticate", "Basic realm=\"bellwether\", charset=\"UTF-8\"");
    return answer;
  }
  return std::nullopt;
}

std::optional<Answer> RequestGuard::against_acting(const Request& request, const std::string& form_secret) const {
  if (auto wrong = against_reading(request)) return wrong;
  const std::string host = lower_case(request.field("Host"));
  const std::string origin = lower_case(request.field("Origin"));
  const bool many =
      std::ranges::count_if(request.fields, [](const auto& field) { return iequals(field.first, "Origin"); }) > 1;
  const bool foreign = !origin.empty() && origin != "http://" + host && origin != "https://" + host;
  if (many || foreign) return guard_answer(403, "this request comes from another page");
  if (const std::string from = request.field("Sec-Fetch-Site"); !from.empty() && from != "same-origin") {
    return guard_answer(403, "this request comes from another page");
  }
  // No page can make a browser send this without having been let in by us.
  if (!rules_.bearer.empty() && credentials(request.field("Authorization"), "Bearer")) return std::nullopt;
  if (!same_secret(form_secret, rules_.form_secret)) {
    return guard_answer(403, "the form is not from this page, or the server was restarted since: reload the page");
  }
  return std::nullopt;
}

bool is_loopback(const runtime::IpAddress& address) {
  if (address.is_v4()) return (address.v4_value() >> 24U) == 127;
  return address == *runtime::IpAddress::parse("::1");
}

std::vector<std::string> names_of_page(const runtime::Endpoint& at, const std::vector<std::string>& more) {
  const std::string port = fmt::format(":{}", at.port);
  const std::string here = lower_case(at.to_string());
  std::vector<std::string> hosts{here.substr(0, here.size() - port.size())};
  if (is_loopback(at.address)) hosts.insert(hosts.end(), {"localhost", "127.0.0.1", "[::1]"});
  std::vector<std::string> names;
  for (const std::string& host : hosts) {
    names.push_back(host + port);
    if (at.port == kHttpPort) names.push_back(host);
  }
  for (const std::string& name : more) {
    names.push_back(lower_case(name) + port);
    names.push_back(lower_case(name));  // behind a proxy, which has the usual port
  }
  return names;
}

}  // namespace bellwether::web
