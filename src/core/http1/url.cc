#include "core/http1/url.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/host_port.h"

namespace bellwether::http1 {
namespace {

bool has_forbidden(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7f) return true;
  }
  return false;
}

bool take_scheme(std::string_view& rest, bool& tls) {
  const std::size_t end = rest.find("://");
  if (end == std::string_view::npos) return false;
  const std::string_view scheme = rest.substr(0, end);
  tls = iequals(scheme, "https");
  if (!tls && !iequals(scheme, "http")) return false;
  rest.remove_prefix(end + 3);
  return true;
}

bool split_authority(std::string_view authority, bool tls, UrlView& out) {
  if (authority.find('@') != std::string_view::npos) return false;
  std::string_view port;
  bool has_port = false;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return false;
    out.host = authority.substr(1, close - 1);
    if (out.host.find(':') == std::string_view::npos) return false;
    if (out.host.find_first_not_of("0123456789abcdefABCDEF:.") != std::string_view::npos) return false;
    const std::string_view after = authority.substr(close + 1);
    if (!after.empty() && after.front() != ':') return false;
    has_port = !after.empty();
    if (has_port) port = after.substr(1);
  } else {
    const std::size_t colon = authority.find(':');
    out.host = authority.substr(0, colon);
    has_port = colon != std::string_view::npos;
    if (has_port) port = authority.substr(colon + 1);
    if (out.host.find_first_of("[]\\<>\"%^`{|}") != std::string_view::npos) return false;
  }
  if (out.host.empty() || out.host.size() > 253) return false;
  out.port = tls ? 443 : 80;
  if (has_port && !port.empty()) {
    const auto number = parse_u64(port);
    if (!number || *number == 0 || *number > 65535) return false;
    out.port = static_cast<uint16_t>(*number);
  }
  return true;
}

// The size of the scheme before its colon; 0: none.
std::size_t scheme_size(std::string_view reference) {
  std::size_t size = 0;
  while (size < reference.size() &&
         (is_letter(reference[size]) || (size > 0 && is_word_of(reference.substr(size, 1), "+-.")))) {
    ++size;
  }
  return size < reference.size() && reference[size] == ':' ? size : 0;
}

// The reference without the characters that browsers ignore and without its fragment, with slashes for backslashes
// before the query.
std::string cleaned(std::string_view reference) {
  const auto is_blank = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
  while (!reference.empty() && is_blank(reference.front())) reference.remove_prefix(1);
  while (!reference.empty() && is_blank(reference.back())) reference.remove_suffix(1);
  std::string out(reference.substr(0, reference.find('#')));
  std::erase_if(out, [](char c) { return c == '\t' || c == '\r' || c == '\n'; });
  std::replace(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(std::min(out.find('?'), out.size())), '\\', '/');
  return out;
}

// Percent-encodes what must not be sent: controls, spaces, bytes above ASCII, and `others`. Escapes stay.
void append_encoded(std::string_view text, std::string_view others, std::string& out) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7f && others.find(c) == std::string_view::npos) {
      out += c;
    } else {
      append_percent_encoded({&c, 1}, out);
    }
  }
}

// How many dots a segment of a path is, also when they are escaped: 1, 2, or 0 for any other segment.
int dots_of(std::string_view segment) {
  int dots = 0;
  while (!segment.empty() && dots < 3) {
    const bool plain = segment.front() == '.';
    if (!plain && !iequals(segment.substr(0, 3), "%2e")) return 0;
    segment.remove_prefix(plain ? 1 : 3);
    ++dots;
  }
  return dots < 3 ? dots : 0;
}

// REQUIRES a path that begins with a slash.
std::string normal_path(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view segment = path.substr(0, path.find('/'));
    path.remove_prefix(segment.size());
    const int dots = dots_of(segment);
    if (dots == 2) out.resize(out.empty() ? 0 : out.rfind('/'));
    if (dots == 0) {
      out += '/';
      append_encoded(segment, "\"#<>?^`{}", out);
    } else if (path.empty()) {
      out += '/';
    }
  }
  return out;
}

// The host and port of a reference. False when it names none that can be reached.
bool take_authority(std::string_view authority, Url& out) {
  if (authority.find('@') != std::string_view::npos) return false;
  std::string text(authority);
  if (!authority.starts_with('[')) {
    const std::string_view host = authority.substr(0, authority.find(':'));
    const auto plain = percent_decoded(host);
    if (!plain || has_forbidden(*plain) || plain->find_first_of(":/?#@") != std::string::npos) return false;
    auto ascii = ascii_host(*plain);
    if (!ascii) return false;
    text = *ascii + std::string(authority.substr(host.size()));
  }
  UrlView view;
  if (!split_authority(text, out.tls, view)) return false;
  out.host = lower_case(view.host);
  out.port = view.port;
  return true;
}

}  // namespace

Errc split_url(std::string_view text, UrlView& out) {
  if (has_forbidden(text)) return Errc::kInvalid;
  std::string_view rest = text.substr(0, text.find('#'));
  if (!take_scheme(rest, out.tls)) return Errc::kInvalid;
  const std::size_t end = rest.find_first_of("/?");
  out.authority = rest.substr(0, end);
  out.target = end == std::string_view::npos ? std::string_view{} : rest.substr(end);
  return split_authority(out.authority, out.tls, out) ? Errc::kOk : Errc::kInvalid;
}

Result<Url> parse_url(std::string_view text) {
  UrlView view;
  if (split_url(text, view) != Errc::kOk) {
    const std::string shown = fmt::format("'{}'", text.substr(0, 200));
    if (has_forbidden(text)) {
      return fail(Errc::kInvalid, shown + " holds a space or control character; write it percent-encoded");
    }
    if (text.find('@') < text.find('/', text.find("://") + 3)) {
      return fail(Errc::kInvalid, shown + " holds a user name; send an Authorization header instead");
    }
    return fail(Errc::kInvalid, shown + " is no URL; write for example http://127.0.0.1:8080/path");
  }
  Url url;
  url.tls = view.tls;
  url.host = std::string(view.host);
  url.port = view.port;
  url.authority = std::string(view.authority);
  url.path_and_query = view.target.starts_with('/') ? std::string(view.target) : "/" + std::string(view.target);
  return url;
}

std::string authority_of(bool tls, std::string_view host, uint16_t port) {
  const bool six = host.find(':') != std::string_view::npos;
  std::string out = six ? fmt::format("[{}]", host) : std::string(host);
  if (port != (tls ? 443 : 80)) out += fmt::format(":{}", port);
  return out;
}

Result<Url> resolve(const Url& base, std::string_view reference) {
  const std::string text = cleaned(reference);
  std::string_view rest = text;
  Url url = base;
  bool names_host = false;
  if (const std::size_t scheme = scheme_size(rest); scheme != 0) {
    url.tls = iequals(rest.substr(0, scheme), "https");
    if (!url.tls && !iequals(rest.substr(0, scheme), "http")) {
      return fail(Errc::kUnsupported, "'{}' is neither http nor https", rest.substr(0, 200));
    }
    names_host = url.tls != base.tls;
    rest.remove_prefix(scheme + 1);
  }
  names_host |= rest.starts_with("//");
  if (names_host) {
    while (rest.starts_with('/')) rest.remove_prefix(1);
    const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
    if (!take_authority(authority, url)) return fail(Errc::kInvalid, "'{}' is no host", authority.substr(0, 200));
    rest.remove_prefix(authority.size());
  }
  const std::string_view base_target = base.path_and_query;
  const std::string_view base_path = base_target.substr(0, base_target.find('?'));
  const std::string_view path = rest.substr(0, rest.find('?'));
  const std::string_view query = rest.substr(path.size());
  std::string target;
  if (names_host || path.starts_with('/')) {
    target = normal_path(path.empty() ? std::string_view("/") : path);
  } else if (path.empty()) {
    target = normal_path(base_path);
    if (rest.empty()) append_encoded(base_target.substr(base_path.size()), "\"#<>'", target);
  } else {
    target = normal_path(std::string(base_path.substr(0, base_path.rfind('/') + 1)) + std::string(path));
  }
  append_encoded(query, "\"#<>'", target);
  url.path_and_query = std::move(target);
  url.authority = authority_of(url.tls, url.host, url.port);
  return url;
}

}  // namespace bellwether::http1
