#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/host_port.h"
#include "load/plan/compile/compile.h"
#include "load/plan/compile/template.h"

namespace bellwether::plan {
namespace {

// The length of "http://" or "https://" at the front, or 0.
std::size_t scheme_length(std::string_view url) {
  for (const std::string_view scheme : {std::string_view("http://"), std::string_view("https://")}) {
    if (iequals(url.substr(0, scheme.size()), scheme)) return scheme.size();
  }
  return 0;
}

std::string_view leading_literal(const Template& url) {
  const bool has = !url.pieces.empty() && url.pieces.front().kind == Piece::Kind::kLiteral;
  return has ? std::string_view(url.pieces.front().literal) : std::string_view();
}

void prepend_base(Template& url, std::string_view base) {
  while (base.ends_with('/')) base.remove_suffix(1);
  Template joined;
  append_literal(joined, base);
  if (!leading_literal(url).starts_with('/') && !leading_literal(url).starts_with('?')) append_literal(joined, "/");
  for (Piece& piece : url.pieces) append_piece(joined, std::move(piece), Place::kUrl);
  url = std::move(joined);
}

void drop_fragment(Template& url) {
  for (std::size_t i = 0; i < url.pieces.size(); ++i) {
    const std::size_t hash = url.pieces[i].literal.find('#');
    if (hash == std::string::npos) continue;
    url.pieces[i].literal.resize(hash);
    url.pieces.resize(i + 1);
    return;
  }
}

// The characters that a URL may contain unchanged; a % counts as the begin of an escape that the user wrote.
bool is_url_character(char c) {
  constexpr std::string_view kForbidden = " \"<>\\^`{|}";
  const auto byte = static_cast<unsigned char>(c);
  return byte > 0x20 && byte < 0x7f && kForbidden.find(c) == std::string_view::npos;
}

std::string encode_forbidden(std::string_view text) {
  std::string out;
  for (const char c : text) out += is_url_character(c) ? std::string(1, c) : escape_url({&c, 1});
  return out;
}

Status check_port(std::string_view port) {
  const auto number = parse_u64(port);
  if (number && *number >= 1 && *number <= 65535) return {};
  return fail(Errc::kInvalid, "'{}' is no port from 1 to 65535", port);
}

// `authority`: host, [v6], with an optional port. Complete unless `continues` with a value known only at run time.
Status check_authority(std::string_view authority, bool continues) {
  if (authority.find('@') != std::string_view::npos) {
    return fail(
        Errc::kUnsupported,
        "a URL cannot carry a user name or a password; a scenario has the key 'auth' for them: auth: {basic: {user: "
        "NAME, password: SECRET}}; the command line takes --header 'Authorization: …'");
  }
  if (!authority.empty() && !is_word_of(authority, "-._~%[]:")) {
    return fail(Errc::kInvalid, "'{}' is no host", authority);
  }
  if (continues) return {};
  std::string_view host = authority;
  std::string_view rest;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return fail(Errc::kInvalid, "']' is missing after the address of the host");
    host = authority.substr(1, close - 1);
    rest = authority.substr(close + 1);
  } else {
    host = authority.substr(0, authority.find(':'));
    rest = authority.substr(host.size());
  }
  if (host.empty()) return fail(Errc::kInvalid, "the URL names no host");
  if (rest.empty()) return {};
  if (rest.front() != ':') return fail(Errc::kInvalid, "'{}' is no host", authority);
  return check_port(rest.substr(1));
}

// Writes the host of `url`, which stands at `begin` and before `end`, in the letters of the DNS, and moves `end`.
Status convert_host(std::string& url, std::size_t begin, std::size_t& end) {
  const std::string host = url.substr(begin, std::min(url.find(':', begin), end) - begin);
  BW_TRY(const std::string ascii, ascii_host(host));
  url.replace(begin, host.size(), ascii);
  end += ascii.size() - host.size();
  return {};
}

}  // namespace

bool append_link(std::string_view link, std::string& url) {
  link = link.substr(0, link.find('#'));
  if (scheme_length(link) > 0) {
    url.clear();
  } else if (url.empty()) {
    return false;
  } else if (url.ends_with('/') && (link.starts_with('/') || link.starts_with('?'))) {
    url.pop_back();
  }
  url += encode_forbidden(link);
  return true;
}

std::string_view query_start(std::string_view url) { return url.find('?') == std::string_view::npos ? "?" : "&"; }

Status complete_url(Template& url, std::string_view base) {
  const bool is_link = !url.pieces.empty() && (url.pieces.front().kind == Piece::Kind::kSlot ||
                                               url.pieces.front().kind == Piece::Kind::kGiven);
  if (scheme_length(leading_literal(url)) == 0) {
    const std::string_view written = leading_literal(url);
    const std::size_t scheme_end = written.find("://");
    if (scheme_end != std::string_view::npos && scheme_end < written.find_first_of("/?#")) {
      return fail(Errc::kUnsupported, fmt::format("'{}' is not supported; the URL must begin with http:// or https://",
                                                  written.substr(0, scheme_end)));
    }
    if (!base.empty()) prepend_base(url, base);
  }
  if (is_link) url.pieces[base.empty() ? 0 : 1].escape = Escape::kLink;
  const auto encode = [&url] {
    for (Piece& piece : url.pieces) {
      if (piece.kind == Piece::Kind::kLiteral) piece.literal = encode_forbidden(piece.literal);
    }
    return Status();
  };
  if (is_link && base.empty()) {
    drop_fragment(url);
    return encode();
  }
  const std::size_t scheme = scheme_length(leading_literal(url));
  if (scheme == 0) return fail(Errc::kInvalid, "the URL does not begin with http:// or https://");
  drop_fragment(url);
  std::string& first = url.pieces.front().literal;
  std::size_t end = std::min(first.find_first_of("/?", scheme), first.size());
  const bool continues = end == first.size() && url.pieces.size() > 1;
  if (!continues) BW_RETURN_IF_ERROR(convert_host(first, scheme, end));
  BW_RETURN_IF_ERROR(check_authority(std::string_view(first).substr(scheme, end - scheme), continues));
  if (!continues && (end == first.size() || first[end] == '?')) first.insert(end, "/");
  return encode();
}

void append_query(Template& url, const Template& name, const Template& value) {
  const auto has = [&url](const auto& what) { return std::ranges::any_of(url.pieces, what); };
  const bool has_query = has([](const Piece& piece) {
    return piece.kind == Piece::Kind::kQueryStart || piece.literal.find('?') != std::string::npos;
  });
  if (!has_query && has([](const Piece& piece) { return piece.escape == Escape::kLink; })) {
    url.pieces.push_back({.kind = Piece::Kind::kQueryStart});  // the link may have a query
  } else {
    append_literal(url, has_query ? "&" : "?");
  }
  for (const Piece& piece : name.pieces) append_piece(url, piece, Place::kUrl);
  append_literal(url, "=");
  for (const Piece& piece : value.pieces) append_piece(url, piece, Place::kUrl);
}

namespace {

// Words of letters, digits, - and _, with dots between them; the last dot of a whole name may be there.
bool is_host_name(std::string_view text) {
  if (text.ends_with('.')) text.remove_suffix(1);
  std::size_t word = 0;
  for (const char c : text) {
    const bool fits = is_letter_or_digit(c) || c == '-' || c == '_';
    if (!fits && (c != '.' || word == 0)) return false;
    word = c == '.' ? 0 : word + 1;
    if (word > 63) return false;
  }
  return word > 0 && text.size() <= 253;
}

}  // namespace

Result<HostPlace> parse_host_place(std::string_view host, std::string_view place) {
  const auto name = ascii_host(host);
  if (!name || (!is_host_name(*name) && !parse_ip(*name))) {
    return fail(Errc::kInvalid, "'{}' is no name of a host: write the name alone, for example shop.example",
                printable(host));
  }
  // A bare IPv6 address needs no brackets.
  const bool bare = std::count(place.begin(), place.end(), ':') > 1 && !place.starts_with('[');
  const auto parsed = parse_host_port(bare ? fmt::format("[{}]", place) : std::string(place), 0);
  if (!parsed || !parse_ip(parsed->host)) {
    return fail(Errc::kInvalid, "wrong address '{}' of host '{}': write IP or IP:PORT, for example 10.0.0.7:8080",
                printable(place), printable(host));
  }
  return HostPlace{*name, parsed->host, parsed->port};
}

namespace {

std::optional<IpRange> parse_ip_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::size_t slash = text.find('/');
  const auto first = parse_ip(trim(text.substr(0, std::min(dash, slash))));
  if (!first) return std::nullopt;
  IpRange out{*first, *first};
  if (dash != std::string_view::npos) {
    const auto last = parse_ip(trim(text.substr(dash + 1)));
    if (!last || *last < *first || is_v4(*last) != is_v4(*first)) return std::nullopt;
    out.last = *last;
  } else if (slash != std::string_view::npos) {
    auto bits = parse_u64(text.substr(slash + 1));
    if (bits && is_v4(*first)) *bits += 96;
    if (!bits || *bits > 128) return std::nullopt;
    for (uint64_t bit = *bits; bit < 128; ++bit) {
      const auto mask = static_cast<uint8_t>(0x80U >> (bit % 8));
      out.first[bit / 8] &= static_cast<uint8_t>(~mask);
      out.last[bit / 8] |= mask;
    }
  }
  return out;
}

// Saturates.
uint64_t count_of(const IpRange& range) {
  uint64_t out = 0;
  for (std::size_t i = 0; i < range.first.size(); ++i) {
    if (out > scenario::kMaxLocalIps) return out;
    out = out * 256 + range.last[i] - range.first[i];
  }
  return out + 1;
}

}  // namespace

Status parse_local_ips(std::string_view text, std::vector<IpRange>& out) {
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view one = trim(text.substr(at, end - at));
    at = end + 1;
    const auto range = parse_ip_range(one);
    if (!range) {
      return fail(Errc::kInvalid,
                  "'{}' is no local address: write IP, IP-IP or IP/BITS, for example 10.0.0.2 or 10.0.1.0/28",
                  printable(one));
    }
    out.push_back(*range);
  }
  uint64_t all = 0;
  for (const IpRange& range : out) all += count_of(range);
  if (all <= scenario::kMaxLocalIps) return {};
  return fail(Errc::kInvalid, "'local_ips' has more than {} addresses", scenario::kMaxLocalIps);
}

}  // namespace bellwether::plan
