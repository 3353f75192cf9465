#include "target/routes.h"

#include <brotli/encode.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/units.h"

namespace bellwether::target {

Faults::Faults(const FaultOptions& options, Instant start)
    : options_(options),
      start_(start),
      any_(options.latency_high > Duration::zero() || options.stall_every > Duration::zero() ||
           options.error_rate > 0) {}

Instant Faults::answer_at(Instant arrival, Prng& prng) const {
  Instant when = arrival;
  if (options_.latency_high > Duration::zero()) when += prng.between(options_.latency_low, options_.latency_high);
  return after_stall(options_, start_, when);
}

Instant after_stall(const FaultOptions& options, Instant start, Instant when) {
  if (options.stall_every <= Duration::zero() || when < start) return when;
  const Duration into = Duration::nanos((when - start).ns() % options.stall_every.ns());
  const bool stalled = into >= options.stall_every - options.stall_for;
  return stalled ? when + (options.stall_every - into) : when;
}

namespace {

constexpr Item kItems[] = {
    {1, "anvil", "49.90"},  {2, "bell", "12.50"},   {3, "candle", "3.20"}, {4, "drum", "129.00"},
    {5, "easel", "64.75"},  {6, "fiddle", "310.0"}, {7, "globe", "87.30"}, {8, "hammer", "21.99"},
    {9, "inkwell", "9.10"}, {10, "jug", "14.40"},
};

constexpr std::string_view kJson =
    R"({"id":42,"name":"Bellwether","tags":["load","test","target"],"active":true,"score":98.6,)"
    R"("owner":{"id":7,"name":"Ada","address":{"city":"London","zip":"W1J 7NT"}},)"
    R"("counts":[1,2,3,5,8,13],"next":null})"
    "\n";

// Long and regular enough that compression pays.
std::string prose() {
  std::string text;
  for (int line = 1; line <= 100; ++line) {
    text += fmt::format("line {}: the bellwether leads the flock, and its bell tells where it is\n", line);
  }
  return text;
}

std::string gzip(std::string_view text) {
  constexpr int kGzipWindow = 15 + 16;  // the largest window, in gzip's framing
  z_stream stream{};
  check(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  check(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string brotli(std::string_view text) {
  std::size_t size = BrotliEncoderMaxCompressedSize(text.size());
  std::string out(size, '\0');
  check(BrotliEncoderCompress(BROTLI_DEFAULT_QUALITY, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_TEXT, text.size(),
                              reinterpret_cast<const uint8_t*>(text.data()), &size,
                              reinterpret_cast<uint8_t*>(out.data())) == BROTLI_TRUE);
  out.resize(size);
  return out;
}

std::string items_json() {
  std::string text = "[";
  for (const Item& item : kItems) text += (text.size() == 1 ? "" : ",") + to_json(item);
  return text + "]\n";
}

Ready make(std::string_view path, std::string_view methods, std::string_view fields, std::string_view body) {
  Ready ready{path, methods, "HTTP/1.1 200 OK\r\n", 0};
  ready.bytes += fmt::format("{}\r\nContent-Length: {}\r\n\r\n", fields, body.size());
  ready.head_size = ready.bytes.size();
  ready.bytes += body;
  return ready;
}

constexpr std::string_view kRead = "GET, HEAD";
constexpr std::string_view kJsonType = "Content-Type: application/json";
constexpr std::string_view kTextType = "Content-Type: text/plain; charset=utf-8";

using Kind = Answer::Kind;
using Then = Answer::Then;

constexpr uint64_t kMaxBytes = 1ULL << 30;
constexpr uint64_t kMaxLines = 10'000'000;
constexpr uint64_t kMaxRedirects = 1000;
constexpr Duration kMaxDelay = Duration::hours(1);
constexpr std::size_t kLongField = 128 * 1024;  // twice what clients commonly accept
constexpr std::size_t kMaxLoginText = 256;

std::string_view reason_of(int status) {
  switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 204: return "No Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 413: return "Content Too Large";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    default: return "Status";
  }
}

Answer text_answer(std::string text) {
  Answer answer;
  answer.text = std::move(text);
  return answer;
}

Answer counted(Kind kind, std::string_view number, uint64_t most, std::string_view type) {
  const auto count = parse_u64(number);
  if (!count || *count > most) return error_answer(400, fmt::format("the path ends in a number from 0 to {}", most));
  Answer answer;
  answer.kind = kind;
  answer.count = *count;
  answer.type = type;
  return answer;
}

Answer status_answer(std::string_view number) {
  const auto status = parse_u64(number);
  if (!status || *status < 200 || *status > 599) return error_answer(400, "the path ends in a status from 200 to 599");
  Answer answer = text_answer(fmt::format("{{\"status\":{}}}\n", *status));
  answer.status = static_cast<int>(*status);
  return answer;
}

Answer redirect_answer(std::string_view number) {
  const auto left = parse_u64(number);
  if (!left || *left > kMaxRedirects) return error_answer(400, "the path ends in a number from 0 to 1000");
  if (*left == 0) return text_answer("{\"arrived\":true}\n");
  Answer answer = text_answer("");
  answer.status = 302;
  answer.fields = fmt::format("Location: /redirect/{}\r\n", *left - 1);
  return answer;
}

Answer delay_answer(std::string_view span) {
  const auto delay = parse_duration(span);
  if (!delay || *delay > kMaxDelay) return error_answer(400, "the path ends in a time such as 50ms, up to 1h");
  Answer answer = text_answer("{\"delayed\":true}\n");
  answer.delay = *delay;
  return answer;
}

Answer item_answer(std::string_view number) {
  const Item* item = Catalogue::item(parse_u64(number).value_or(0));
  return item == nullptr ? error_answer(404, "there is no such item") : text_answer(to_json(*item) + "\n");
}

Answer headers_answer(const http1::RequestHead& head) {
  std::string text = "{";
  for (uint16_t i = 0; i < head.field_count; ++i) {
    text += i == 0 ? "\"" : ",\"";
    append_json_string(text, head.fields[i].name);
    text += "\":\"";
    append_json_string(text, head.fields[i].value);
    text += '"';
  }
  return text_answer(text + "}\n");
}

Answer cookies_answer(const http1::RequestHead& head) {
  std::string text = "{\"cookie\":\"";
  append_json_string(text, head.header("cookie"));
  Answer answer = text_answer(text + "\"}\n");
  answer.fields = "Set-Cookie: seen=1; Path=/\r\nSet-Cookie: flavour=oat; Path=/cookies; HttpOnly\r\n";
  return answer;
}

Answer raw(std::string_view text, Then then) {
  Answer answer;
  answer.kind = Kind::kRaw;
  answer.text = text;
  answer.then = then;
  return answer;
}

Answer fault_answer(std::string_view name) {
  if (name == "reset") return raw("", Then::kReset);
  if (name == "close") return raw("", Then::kClose);
  if (name == "hang") return raw("", Then::kHang);
  if (name == "truncate")
    return raw("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nthe rest is missing", Then::kClose);
  if (name == "garbage") return raw("\x01\x02 this is not HTTP \xff\xfe\r\n\r\n", Then::kClose);
  if (name == "bad-length") return raw("HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nbody", Then::kClose);
  if (name == "bad-chunk") {
    return raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngood\r\nzz\r\nbad\r\n0\r\n\r\n",
               Then::kClose);
  }
  if (name == "long-header") {
    return raw(fmt::format("HTTP/1.1 200 OK\r\nX-Long: {}\r\nContent-Length: 0\r\n\r\n", std::string(kLongField, 'x')),
               Then::kClose);
  }
  if (name == "bad-gzip") {
    Answer answer = text_answer("this was never compressed");
    answer.fields = "Content-Encoding: gzip\r\n";
    return answer;
  }
  return error_answer(404, "there is no such fault");
}

Answer of_kind(Kind kind) {
  Answer answer;
  answer.kind = kind;
  return answer;
}

Answer refused(std::string_view allowed) {
  Answer answer = error_answer(405, "this method is not for this path");
  answer.fields = fmt::format("Allow: {}\r\n", allowed);
  return answer;
}

// The text of a member of a JSON object; empty when there is none, or it is not text.
std::string text_of(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

std::string_view Ready::answer_to(std::string_view method) const {
  if (methods.starts_with("GET")) {
    if (method == "GET") return bytes;
    if (method == "HEAD") return std::string_view(bytes).substr(0, head_size);
  }
  return methods.ends_with("POST") && method == "POST" ? std::string_view(bytes) : std::string_view();
}

const Catalogue& Catalogue::get() {
  static const Catalogue* const catalogue = new Catalogue;
  return *catalogue;
}

Catalogue::Catalogue()
    : ready_{
          make("/", kRead, kTextType, "This is Bellwether's target: a server to try load tests on.\n"),
          make("/json", kRead, kJsonType, kJson),
          make("/items", kRead, kJsonType, items_json()),
          make("/cart", "GET, HEAD, POST", kJsonType, "{\"items\":[{\"id\":2,\"amount\":1}],\"total\":12.50}\n"),
          make("/pay", "POST", kJsonType, "{\"paid\":true}\n"),
          make("/gzip", kRead, std::string(kTextType) + "\r\nContent-Encoding: gzip", gzip(prose())),
          make("/br", kRead, std::string(kTextType) + "\r\nContent-Encoding: br", brotli(prose())),
      } {}

const Item* Catalogue::item(uint64_t id) {
  for (const Item& item : kItems) {
    if (item.id == id) return &item;
  }
  return nullptr;
}

std::string to_json(const Item& item) {
  return fmt::format("{{\"id\":{},\"name\":\"{}\",\"price\":{}}}", item.id, item.name, item.price);
}

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
}

Answer error_answer(int status, std::string_view what) {
  Answer answer = text_answer(fmt::format("{{\"error\":\"{}\"}}\n", what));
  answer.status = status;
  return answer;
}

Answer answer_to(const http1::RequestHead& head) {
  const std::string_view path = head.path;
  if (const Ready* ready = Catalogue::get().find(path)) {
    if (ready->answer_to(head.method).empty()) return refused(ready->methods);
    Answer answer = of_kind(Kind::kReady);
    answer.ready = ready;
    return answer;
  }
  if (path == "/login") return head.method == "POST" ? of_kind(Kind::kLogin) : refused("POST");
  if (path == "/echo") {
    Answer answer = of_kind(Kind::kEcho);
    answer.type = "application/octet-stream";
    return answer;
  }
  if (path == "/headers") return headers_answer(head);
  if (path == "/cookies") return cookies_answer(head);
  const std::size_t slash = path.find('/', 1);
  if (slash == std::string_view::npos) return error_answer(404, "there is no such path");
  const std::string_view group = path.substr(0, slash);
  const std::string_view rest = path.substr(slash + 1);
  if (group == "/bytes") return counted(Kind::kFill, rest, kMaxBytes, "application/octet-stream");
  if (group == "/stream") return counted(Kind::kLines, rest, kMaxLines, "text/plain; charset=utf-8");
  if (group == "/status") return status_answer(rest);
  if (group == "/redirect") return redirect_answer(rest);
  if (group == "/delay") return delay_answer(rest);
  if (group == "/items") return item_answer(rest);
  if (group == "/fault") return fault_answer(rest);
  return error_answer(404, "there is no such path");
}

void answer_login(std::string_view body, Prng& prng, Answer& answer) {
  const auto login = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  const std::string user = login.is_object() ? text_of(login, "user") : std::string();
  if (user.empty() || user.size() > kMaxLoginText || text_of(login, "pass").empty()) {
    answer = error_answer(401, "send {user, pass} as JSON");
    return;
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string token;
  for (uint64_t random = prng.next(); token.size() < 16; random >>= 4) token += kHex[random & 15];
  answer = text_answer(fmt::format("{{\"token\":\"{}\",\"user\":{}}}\n", token, nlohmann::json(user).dump()));
  answer.fields = fmt::format("Set-Cookie: session={}; Path=/; HttpOnly\r\n", token);
}

bool is_bodiless(int status) { return status == 204 || status == 304; }

void append_head(std::string& out, const Answer& answer, std::string_view framing, std::string_view connection) {
  out += "HTTP/1.1 ";
  out += std::to_string(answer.status);
  out += ' ';
  out += reason_of(answer.status);
  out += "\r\n";
  if (!is_bodiless(answer.status)) {
    out += "Content-Type: ";
    out += answer.type;
    out += "\r\n";
  }
  out += framing;
  out += answer.fields;
  out += connection;
  out += "\r\n";
}

}  // namespace bellwether::target
