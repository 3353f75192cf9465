#include "core/http1/cookies.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "core/base/bytes.h"

namespace bellwether::http1 {

struct CookieJar::Cookie {
  std::string name;
  std::string value;
  std::string domain;  // lower case
  std::string path;
  bool host_only = true;
  bool secure = false;
  int64_t expires_ns = INT64_MAX;
};

struct CookieJar::Store : std::vector<Cookie> {};

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = ascii_lower(c);
  return out;
}

bool is_ip(std::string_view host) {
  return host.find(':') != std::string_view::npos || host.find_first_not_of("0123456789.") == std::string_view::npos;
}

// RFC 6265 §5.1.3.
bool domain_matches(std::string_view host, std::string_view domain) {
  if (iequals(host, domain)) return true;
  return host.size() > domain.size() && iequals(host.substr(host.size() - domain.size()), domain) &&
         host[host.size() - domain.size() - 1] == '.' && !is_ip(host);
}

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

// RFC 6265 §5.1.4.
std::string_view default_path(std::string_view target) {
  const std::string_view path = path_of(target);
  const std::size_t slash = path.rfind('/');
  return path.empty() || path.front() != '/' || slash == 0 ? std::string_view("/") : path.substr(0, slash);
}

bool path_matches(std::string_view request, std::string_view cookie) {
  if (!request.starts_with(cookie)) return false;
  return request.size() == cookie.size() || cookie.back() == '/' || request[cookie.size()] == '/';
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f'; });
}

int64_t days_from_civil(int64_t year, int64_t month, int64_t day) {  // H. Hinnant's algorithm
  year -= month <= 2;
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const int64_t yoe = year - era * 400;
  const int64_t doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

// The date of RFC 6265 §5.1.1, in its usual forms: its parts may stand in any order. Seconds since 1970.
std::optional<int64_t> parse_date(std::string_view text) {
  static constexpr std::array<std::string_view, 12> kMonths{"jan", "feb", "mar", "apr", "may", "jun",
                                                            "jul", "aug", "sep", "oct", "nov", "dec"};
  std::optional<int64_t> day, month, year, seconds;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(" ,-\t");
    const std::string_view token = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!seconds && token.size() >= 5 && token.find(':') != std::string_view::npos) {
      const std::size_t first = token.find(':');
      const std::size_t second = token.find(':', first + 1);
      if (second == std::string_view::npos) return std::nullopt;
      const auto h = parse_u64(token.substr(0, first));
      const auto m = parse_u64(token.substr(first + 1, second - first - 1));
      const auto s = parse_u64(token.substr(second + 1));
      if (!h || !m || !s || *h > 23 || *m > 59 || *s > 60) return std::nullopt;
      seconds = static_cast<int64_t>(*h * 3600 + *m * 60 + *s);
    } else if (const auto number = parse_u64(token); number && *number < 10000) {
      if (!day && token.size() <= 2) {
        day = static_cast<int64_t>(*number);
      } else if (!year) {
        const auto value = static_cast<int64_t>(*number);
        year = value < 70 ? value + 2000 : (value < 100 ? value + 1900 : value);
      }
    } else if (!month && token.size() >= 3) {
      for (std::size_t i = 0; i < kMonths.size(); ++i) {
        if (iequals(token.substr(0, 3), kMonths[i])) month = static_cast<int64_t>(i) + 1;
      }
    }
  }
  if (!day || !month || !year || !seconds || *day < 1 || *day > 31 || *year < 1601) return std::nullopt;
  return days_from_civil(*year, *month, *day) * 86400 + *seconds;
}

int64_t expiry(WallTime now, int64_t seconds_from_now) {
  constexpr int64_t kLongest = 400ll * 86400;  // as browsers cap it
  // The past is all the same; a date centuries ago would not fit into nanoseconds.
  return now.unix_ns + std::clamp<int64_t>(seconds_from_now, -1, kLongest) * 1'000'000'000;
}

}  // namespace

CookieJar::CookieJar() = default;
CookieJar::~CookieJar() = default;
void CookieJar::drop_all() { cookies_.reset(); }

void CookieJar::store_all(const ResponseHead& head, std::string_view host, std::string_view target, WallTime now) {
  for (uint16_t i = 0; i < head.field_count; ++i) {
    if (iequals(head.fields[i].name, "set-cookie")) store(head.fields[i].value, host, target, now);
  }
}

void CookieJar::store(std::string_view set_cookie, std::string_view host, std::string_view target, WallTime now) {
  const std::string_view pair = set_cookie.substr(0, set_cookie.find(';'));
  std::string_view attributes = set_cookie.substr(pair.size());
  const std::size_t equals = pair.find('=');
  if (equals == std::string_view::npos || pair.size() > kCookieBytesMax) return;
  Cookie cookie;
  cookie.name = std::string(trim(pair.substr(0, equals)));
  cookie.value = std::string(trim(pair.substr(equals + 1)));
  if (cookie.name.empty() || has_control(cookie.name) || has_control(cookie.value)) return;
  cookie.domain = lower(host);
  cookie.path = std::string(default_path(target));

  bool has_max_age = false;
  while (!attributes.empty()) {
    attributes.remove_prefix(1);
    const std::string_view item = attributes.substr(0, attributes.find(';'));
    attributes.remove_prefix(item.size());
    const std::size_t eq = item.find('=');
    const std::string_view name = trim(item.substr(0, eq));
    std::string_view value = eq == std::string_view::npos ? std::string_view{} : trim(item.substr(eq + 1));
    if (value.size() > kAttributeBytesMax) continue;
    if (iequals(name, "secure")) {
      cookie.secure = true;
    } else if (iequals(name, "path")) {
      if (value.starts_with('/')) cookie.path = std::string(value);
    } else if (iequals(name, "max-age")) {
      const bool negative = value.starts_with('-');
      const auto seconds = parse_u64(negative ? value.substr(1) : value);
      if (!seconds) continue;
      has_max_age = true;
      cookie.expires_ns =
          negative || *seconds == 0 ? 0 : expiry(now, static_cast<int64_t>(std::min<uint64_t>(*seconds, 1u << 31)));
    } else if (iequals(name, "expires") && !has_max_age) {
      if (const auto date = parse_date(value)) cookie.expires_ns = expiry(now, *date - now.unix_ns / 1'000'000'000);
    } else if (iequals(name, "domain") && !value.empty()) {
      if (value.starts_with('.')) value.remove_prefix(1);
      // A host may widen a cookie to a parent domain, but not to a whole top-level domain, and never beyond itself.
      const bool single_label = value.find('.') == std::string_view::npos && !iequals(value, host);
      if (single_label || !domain_matches(host, value)) return;
      cookie.domain = lower(value);
      cookie.host_only = false;
    }
  }

  if (cookies_ == nullptr) {
    if (cookie.expires_ns <= now.unix_ns) return;
    cookies_ = std::make_unique<Store>();
  }
  auto same = std::find_if(cookies_->begin(), cookies_->end(), [&](const Cookie& other) {
    return other.name == cookie.name && other.domain == cookie.domain && other.path == cookie.path;
  });
  const bool expired = cookie.expires_ns <= now.unix_ns;
  if (same != cookies_->end()) {
    if (expired) {
      cookies_->erase(same);
      if (cookies_->empty()) cookies_.reset();
    } else {
      *same = std::move(cookie);  // keeps its age, as RFC 6265 asks for
    }
    return;
  }
  if (expired) return;
  if (cookies_->size() == kCookiesMax) cookies_->erase(cookies_->begin());
  cookies_->push_back(std::move(cookie));
}

const std::string* CookieJar::find(std::string_view name) const {
  if (cookies_ == nullptr) return nullptr;
  for (auto cookie = cookies_->rbegin(); cookie != cookies_->rend(); ++cookie) {
    if (cookie->name == name) return &cookie->value;
  }
  return nullptr;
}

void CookieJar::append_header(std::string_view host, std::string_view target, bool secure, WallTime now,
                              std::string& out) const {
  if (cookies_ == nullptr) return;
  const std::string_view path = path_of(target);
  std::vector<const Cookie*> sent;
  for (const Cookie& cookie : *cookies_) {
    const bool host_fits = cookie.host_only ? iequals(host, cookie.domain) : domain_matches(host, cookie.domain);
    if (host_fits && path_matches(path, cookie.path) && (secure || !cookie.secure) && cookie.expires_ns > now.unix_ns) {
      sent.push_back(&cookie);
    }
  }
  std::stable_sort(sent.begin(), sent.end(),
                   [](const Cookie* a, const Cookie* b) { return a->path.size() > b->path.size(); });
  bool first = true;
  for (const Cookie* cookie : sent) {
    if (!first) out += "; ";
    first = false;
    out += cookie->name;
    out += '=';
    out += cookie->value;
  }
}

}  // namespace bellwether::http1
