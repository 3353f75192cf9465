#include "target/catalogue.h"

#include <brotli/encode.h>
#include <zlib.h>

#include "core/base/check.h"

namespace bellwether::target {
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

}  // namespace bellwether::target
