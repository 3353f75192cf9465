#include "core/http1/url.h"

#include "core/base/bytes.h"

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

// RFC 3986 §5.2.4.
std::string remove_dot_segments(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    if (path.starts_with("../")) {
      path.remove_prefix(3);
    } else if (path.starts_with("./")) {
      path.remove_prefix(2);
    } else if (path.starts_with("/./")) {
      path.remove_prefix(2);
    } else if (path == "/.") {
      path = "/";
    } else if (path.starts_with("/../") || path == "/..") {
      path = path == "/.." ? std::string_view("/") : path.substr(3);
      const std::size_t slash = out.rfind('/');
      out.resize(slash == std::string::npos ? 0 : slash);
    } else if (path == "." || path == "..") {
      path = {};
    } else {
      const std::size_t next = path.find('/', 1);
      out += path.substr(0, next);
      path = next == std::string_view::npos ? std::string_view{} : path.substr(next);
    }
  }
  return out;
}

bool has_scheme(std::string_view reference) {
  const std::size_t end = reference.find_first_of(":/?#");
  return end != std::string_view::npos && end > 0 && reference[end] == ':';
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

std::string resolve(const Url& base, std::string_view reference) {
  reference = reference.substr(0, reference.find('#'));
  if (has_scheme(reference)) return std::string(reference);
  const std::string scheme = base.tls ? "https:" : "http:";
  if (reference.starts_with("//")) return scheme + std::string(reference);
  const std::string root = fmt::format("{}//{}", scheme, base.authority);
  const std::string_view base_target = base.path_and_query;
  const std::string_view base_path = base_target.substr(0, base_target.find('?'));
  if (reference.empty()) return root + base.path_and_query;
  if (reference.starts_with('?')) return root + std::string(base_path) + std::string(reference);

  const std::string_view path = reference.substr(0, reference.find('?'));
  const std::string_view query = reference.substr(path.size());
  const std::string merged = path.starts_with('/')
                                 ? std::string(path)
                                 : std::string(base_path.substr(0, base_path.rfind('/') + 1)) + std::string(path);
  return root + remove_dot_segments(merged) + std::string(query);
}

}  // namespace bellwether::http1
