// The cookies of one virtual user (RFC 6265), with its limits. Costs one pointer while it is empty.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "core/http1/head.h"

namespace bellwether::http1 {

class CookieJar {
 public:
  static constexpr std::size_t kMaxCookieBytes = 4096;     // name and value
  static constexpr std::size_t kMaxAttributeBytes = 1024;  // a longer path, domain or date is ignored
  static constexpr std::size_t kMaxCookies = 300;          // the expired ones make room, then the oldest

  CookieJar();
  ~CookieJar();

  bool empty() const { return cookies_ == nullptr; }
  void clear() {
    if (cookies_ != nullptr) drop_all();
  }

  // Takes over every Set-Cookie of a response to a request for `target` on `host`. Cookies that the host may not set,
  // and malformed ones, are ignored, as RFC 6265 asks for.
  void store_all(const ResponseHead& head, std::string_view host, std::string_view target, WallTime now);
  void store(std::string_view set_cookie, std::string_view host, std::string_view target, WallTime now);

  // The value of the latest cookie of this name, for any host and path; nullptr when absent. Valid until the jar
  // changes.
  const std::string* find(std::string_view name) const;

  // Appends "a=1; b=2" for a request, nothing when no cookie applies: longer paths first, then older cookies first.
  // `own`: the pairs that the request brings; they come first, and replace the cookies of their names.
  void append_header(std::string_view host, std::string_view target, bool secure, WallTime now, std::string& out,
                     std::string_view own = {}) const;

 private:
  struct Cookie;
  struct Store;
  void drop_all();
  std::unique_ptr<Store> cookies_;  // never empty when it is there
};

// The pairs of a Cookie field without those that the response sets anew: from then on the jar knows better.
std::string without_cookies_of(std::string_view field, const ResponseHead& head);

}  // namespace bellwether::http1
