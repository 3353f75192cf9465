// Stores arbitrary lines as cookies: what is sent back fits into one header field, and only its own host gets it.
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "core/http1/cookies.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  using namespace bellwether::http1;
  constexpr WallTime kNow{1'700'000'000'000'000'000};
  std::string_view text(reinterpret_cast<const char*>(data), size);
  CookieJar jar;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
    jar.store(line, "www.example.org", "/dir/page?q", kNow);
  }
  std::string own;
  for (const char* target : {"/dir/page", "/dir", "/", "/other/path?x"}) {
    std::string header;
    jar.append_header("www.example.org", target, true, kNow, header);
    for (const char c : header)
      check((static_cast<unsigned char>(c) >= ' ' && c != '\x7f') || c == '\t', "fit to send");
    check(!jar.empty() || header.empty(), "an empty jar sends nothing");
    check(header.size() <= CookieJar::kMaxCookies * (CookieJar::kMaxCookieBytes + 2), "within the limits");
    own += header;
  }
  std::string foreign;
  for (const char* host : {"org", "example.com", "example.org.evil.com", "badexample.org", "127.0.0.1"}) {
    jar.append_header(host, "/dir/page", true, kNow, foreign);
  }
  check(foreign.empty(), "no cookie goes to another site");
  std::string late;
  jar.append_header("www.example.org", "/dir/page", true, WallTime{kNow.unix_ns + (1ll << 60)}, late);
  check(late.size() <= own.size(), "cookies only expire");
  return 0;
}
