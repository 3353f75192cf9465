#include "core/http1/cookies.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/encoding.h"

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
  return std::ranges::any_of(text,
                             [](char c) { return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f'; });
}

int64_t days_from_civil(int64_t year, int64_t month, int64_t day) {  // H. Hinnant's algorithm
  year -= month <= 2;
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const int64_t yoe = year - era * 400;
  const int64_t doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

// Takes `least` to `most` digits off `text`, which another digit may not follow.
std::optional<int64_t> take_digits(std::string_view& text, std::size_t least, std::size_t most) {
  std::size_t size = 0;
  int64_t number = 0;
  for (; size < text.size() && is_digit(text[size]); ++size) {
    if (size == most) return std::nullopt;
    number = number * 10 + (text[size] - '0');
  }
  if (size < least) return std::nullopt;
  text.remove_prefix(size);
  return number;
}

// h:m:s at the front of a token, in seconds. Its parts may be out of their range: then it is -1.
std::optional<int64_t> time_of(std::string_view token) {
  std::array<int64_t, 3> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) {
      if (!token.starts_with(':')) return std::nullopt;
      token.remove_prefix(1);
    }
    const auto part = take_digits(token, 1, 2);
    if (!part) return std::nullopt;
    parts[i] = *part;
  }
  const bool good = parts[0] <= 23 && parts[1] <= 59 && parts[2] <= 59;
  return good ? parts[0] * 3600 + parts[1] * 60 + parts[2] : -1;
}

std::optional<int64_t> month_of(std::string_view token) {
  static constexpr std::array<std::string_view, 12> kMonths{"jan", "feb", "mar", "apr", "may", "jun",
                                                            "jul", "aug", "sep", "oct", "nov", "dec"};
  for (std::size_t i = 0; i < kMonths.size(); ++i) {
    if (iequals(token.substr(0, 3), kMonths[i])) return static_cast<int64_t>(i) + 1;
  }
  return std::nullopt;
}

bool is_date_delimiter(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte == 0x09 || (byte >= 0x20 && byte <= 0x2f) || (byte >= 0x3b && byte <= 0x40) ||
         (byte >= 0x5b && byte <= 0x60) || (byte >= 0x7b && byte <= 0x7e);
}

// The date of RFC 6265 §5.1.1: its parts may stand in any order. Seconds since 1970.
std::optional<int64_t> parse_date(std::string_view text) {
  std::optional<int64_t> day, month, year, seconds;
  while (!text.empty()) {
    std::size_t end = 0;
    while (end < text.size() && !is_date_delimiter(text[end])) ++end;
    const std::string_view token = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::string_view digits = token;
    if (!seconds && (seconds = time_of(token))) continue;
    if (!day && (day = take_digits(digits, 1, 2))) continue;
    if (!month && (month = month_of(token))) continue;
    if (!year) year = take_digits(digits, 2, 4);
  }
  if (!day || !month || !year || !seconds || *seconds < 0) return std::nullopt;
  if (*year < 100) *year += *year < 70 ? 2000 : 1900;
  const int64_t first = days_from_civil(*year, *month, 1);
  const int64_t next = *month == 12 ? days_from_civil(*year + 1, 1, 1) : days_from_civil(*year, *month + 1, 1);
  if (*year < 1601 || *day < 1 || *day > next - first) return std::nullopt;
  return (first + *day - 1) * 86400 + *seconds;
}

int64_t expiry(WallTime now, int64_t seconds_from_now) {
  constexpr int64_t kLongest = 400ll * 86400;  // as browsers cap it
  // The past is all the same; a date centuries ago would not fit into nanoseconds.
  return now.unix_ns + std::clamp<int64_t>(seconds_from_now, -1, kLongest) * 1'000'000'000;
}

// Max-Age, also with more digits than a number holds. Nothing when it is to be ignored (§5.2.2).
std::optional<int64_t> delta_seconds(std::string_view value) {
  const bool negative = value.starts_with('-');
  const std::string_view digits = value.substr(negative ? 1 : 0);
  if (digits.empty() || !std::ranges::all_of(digits, is_digit)) return std::nullopt;
  const auto seconds = static_cast<int64_t>(std::min<uint64_t>(parse_u64(digits).value_or(UINT64_MAX), 1u << 31));
  return negative ? -seconds : seconds;
}

// The pairs of a Cookie field, one after the other; `text` loses them.
std::string_view take_pair(std::string_view& text) { return trim(take_until(text, ';')); }

std::string_view name_in(std::string_view pair) { return trim(pair.substr(0, pair.find('='))); }

bool names_cookie(std::string_view field, std::string_view name) {
  while (!field.empty()) {
    if (name_in(take_pair(field)) == name) return true;
  }
  return false;
}

}  // namespace

std::string without_cookies_of(std::string_view field, const ResponseHead& head) {
  std::string out;
  while (!field.empty()) {
    const std::string_view pair = take_pair(field);
    const bool is_set = std::any_of(head.fields.begin(), head.fields.begin() + head.field_count, [&](const Field& one) {
      return iequals(one.name, "set-cookie") && name_in(one.value.substr(0, one.value.find(';'))) == name_in(pair);
    });
    if (is_set || pair.empty()) continue;
    if (!out.empty()) out += "; ";
    out += pair;
  }
  return out;
}

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
  if (equals == std::string_view::npos || pair.size() > kMaxCookieBytes) return;
  Cookie cookie;
  cookie.name = std::string(trim(pair.substr(0, equals)));
  cookie.value = std::string(trim(pair.substr(equals + 1)));
  if (cookie.name.empty() || has_control(cookie.name) || has_control(cookie.value)) return;
  cookie.domain = lower_case(host);
  cookie.path = std::string(default_path(target));

  // Of attributes given twice the last one counts, also where it is a path or a domain that cannot be used (§5.3).
  std::string_view path;
  std::string_view domain;
  std::optional<int64_t> max_age;
  while (!attributes.empty()) {
    attributes.remove_prefix(1);
    const std::string_view item = attributes.substr(0, attributes.find(';'));
    attributes.remove_prefix(item.size());
    const std::size_t eq = item.find('=');
    const std::string_view name = trim(item.substr(0, eq));
    const std::string_view value = eq == std::string_view::npos ? std::string_view{} : trim(item.substr(eq + 1));
    if (value.size() > kMaxAttributeBytes) continue;
    if (iequals(name, "secure")) {
      cookie.secure = true;
    } else if (iequals(name, "path")) {
      path = value;
    } else if (iequals(name, "max-age")) {
      if (const auto seconds = delta_seconds(value)) max_age = seconds;
    } else if (iequals(name, "expires")) {
      if (const auto date = parse_date(value)) cookie.expires_ns = expiry(now, *date - now.unix_ns / 1'000'000'000);
    } else if (iequals(name, "domain") && !value.empty()) {
      domain = value;
    }
  }
  if (max_age) cookie.expires_ns = *max_age <= 0 ? 0 : expiry(now, *max_age);
  if (path.starts_with('/')) cookie.path = std::string(path);
  if (domain.starts_with('.')) domain.remove_prefix(1);
  if (!domain.empty()) {
    // A host may widen a cookie to a parent domain, but not to a whole top-level domain, and never beyond itself.
    const bool single_label = domain.find('.') == std::string_view::npos && !iequals(domain, host);
    if (single_label || !domain_matches(host, domain)) return;
    cookie.domain = lower_case(domain);
    cookie.host_only = false;
  }

  if (cookies_ == nullptr) {
    if (cookie.expires_ns <= now.unix_ns) return;
    cookies_ = std::make_unique<Store>();
  }
  auto same = std::ranges::find_if(*cookies_, [&](const Cookie& other) {
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
  if (cookies_->size() == kMaxCookies) {
    std::erase_if(*cookies_, [now](const Cookie& one) { return one.expires_ns <= now.unix_ns; });
    if (cookies_->size() == kMaxCookies) cookies_->erase(cookies_->begin());
  }
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
                              std::string& out, std::string_view own) const {
  if (cookies_ == nullptr) {
    out += own;
    return;
  }
  const std::string_view path = path_of(target);
  std::vector<const Cookie*> sent;
  for (const Cookie& cookie : *cookies_) {
    const bool host_fits = cookie.host_only ? iequals(host, cookie.domain) : domain_matches(host, cookie.domain);
    if (host_fits && path_matches(path, cookie.path) && (secure || !cookie.secure) && cookie.expires_ns > now.unix_ns &&
        !names_cookie(own, cookie.name)) {
      sent.push_back(&cookie);
    }
  }
  std::ranges::stable_sort(sent, [](const Cookie* a, const Cookie* b) { return a->path.size() > b->path.size(); });
  out += own;
  bool first = own.empty();
  for (const Cookie* cookie : sent) {
    if (!first) out += "; ";
    first = false;
    out += cookie->name;
    out += '=';
    out += cookie->value;
  }
}

}  // namespace bellwether::http1
