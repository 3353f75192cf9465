#include "election/store/store_url.h"

#include <algorithm>
#include <array>

#include "core/base/encoding.h"
#include "core/base/units.h"

namespace bellwether::store {
namespace {

struct Scheme {
  std::string_view name;
  uint16_t port;  // 0: no server; everything after the scheme is a path
  std::string_view help;
};

constexpr std::array kSchemes{
    Scheme{"memory", 0, "memory:NAME                     this process only, for tests"},
    Scheme{"flock", 0, "flock:DIRECTORY                 processes of this host (?profile=nip-le for NIP-LE programs)"},
    Scheme{"file", 0, "file:PATH                       a lease file, also on a shared disk"},
    Scheme{"redis", 6379, "redis://HOST:PORT/DB            Redis (rediss: with TLS)"},
    Scheme{"rediss", 6379, ""},
    Scheme{"etcd", 2379, "etcd://HOST:PORT,HOST:PORT      etcd v3 (etcds: with TLS)"},
    Scheme{"etcds", 2379, ""},
    Scheme{"k8s", 443, "k8s:NAMESPACE                   Lease objects of Kubernetes (kubeconfig or in-cluster)"},
    Scheme{"postgres", 5432, "postgres://USER@HOST:PORT/DB    PostgreSQL"},
};

const Scheme* find_scheme(std::string_view name) {
  const auto* found = std::ranges::find_if(kSchemes, [&](const Scheme& s) { return s.name == name; });
  return found == kSchemes.end() ? nullptr : found;
}

Result<std::string> decode(std::string_view text) {
  auto out = percent_decoded(text);
  if (!out) return fail(Errc::kInvalid, "'%' must be followed by two hexadecimal digits");
  return std::move(*out);
}

std::string in_quotes(std::string_view text) { return fmt::format("'{}'", text); }

// For messages: leaves out the text in place of a password, between ':' and '@' of the authority.
std::string without_password(std::string_view text) {
  const auto begin = text.find("//");
  const auto at = text.substr(0, text.find('?')).rfind('@');
  if (begin == std::string_view::npos || at == std::string_view::npos) return std::string(text);
  const auto colon = text.find(':', begin + 2);
  if (colon >= at) return std::string(text);
  return fmt::format("{}***{}", text.substr(0, colon + 1), text.substr(at));
}

Status parse_authority(std::string_view text, uint16_t default_port, StoreUrl& url) {
  if (const auto at = text.rfind('@'); at != std::string_view::npos) {
    const std::string_view user = text.substr(0, at);
    if (user.find(':') != std::string_view::npos) {
      return fail(Errc::kInvalid,
                  "every user of this machine can read a password in the URL: use ?password_file=FILE, or the variable "
                  "that `bellwether lead --help` names");
    }
    BW_TRY(url.user, decode(user));
    text.remove_prefix(at + 1);
  }
  while (!text.empty()) {
    const auto comma = text.find(',');
    BW_TRY(auto host, parse_host_port(text.substr(0, comma), default_port));
    url.hosts.push_back(std::move(host));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return {};
}

Status parse_options(std::string_view text, StoreUrl& url) {
  while (!text.empty()) {
    const auto end = text.find('&');
    const std::string_view one = text.substr(0, end);
    const auto equals = one.find('=');
    BW_TRY(auto value, decode(equals == std::string_view::npos ? std::string_view() : one.substr(equals + 1)));
    const std::string name(one.substr(0, equals));
    if (!url.options.emplace(name, std::move(value)).second) {
      return fail(Errc::kInvalid, "the option {} is given twice", in_quotes(name));
    }
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return {};
}

Status parse_rest(std::string_view rest, const Scheme& scheme, StoreUrl& url) {
  if (const auto question = rest.find('?'); question != std::string_view::npos) {
    BW_RETURN_IF_ERROR(parse_options(rest.substr(question + 1), url));
    rest = rest.substr(0, question);
  }
  if (scheme.port == 0) {
    if (rest.starts_with("///")) rest.remove_prefix(2);  // file:///tmp/x, as browsers write it
    url.path = rest;
    return {};
  }
  if (!rest.starts_with("//")) {
    url.path = rest;
    return {};
  }
  rest.remove_prefix(2);
  const auto slash = rest.find('/');
  BW_RETURN_IF_ERROR(parse_authority(rest.substr(0, slash), scheme.port, url));
  BW_TRY(url.path, decode(slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1)));
  return {};
}

}  // namespace

std::optional<std::string> StoreUrl::take(std::string_view name) {
  const auto found = options.find(name);
  if (found == options.end()) return std::nullopt;
  std::string value = std::move(found->second);
  options.erase(found);
  return value;
}

Result<std::optional<bool>> StoreUrl::take_bool(std::string_view name) {
  const auto value = take(name);
  if (!value) return std::optional<bool>();
  if (value->empty() || *value == "true" || *value == "yes" || *value == "1") return std::optional<bool>(true);
  if (*value == "false" || *value == "no" || *value == "0") return std::optional<bool>(false);
  return fail(Errc::kInvalid, "{}: {} must be true or false, not {}", text, name, in_quotes(*value));
}

Result<std::optional<Duration>> StoreUrl::take_duration(std::string_view name) {
  const auto value = take(name);
  if (!value) return std::optional<Duration>();
  const auto parsed = parse_duration(*value);
  if (!parsed)
    return fail(Errc::kInvalid,
                fmt::format("{}: {}: {} is not a time, such as 5s or 500ms", text, name, in_quotes(*value)));
  return std::optional<Duration>(*parsed);
}

Status StoreUrl::nothing_left(std::string_view known) const {
  if (options.empty()) return {};
  return fail(Errc::kInvalid, "{}: unknown option {}; known: {}", text, in_quotes(options.begin()->first),
              known.empty() ? "none" : std::string(known));
}

bool is_group_url(std::string_view text) { return text.starts_with("vote:") || text.starts_with("quorum:"); }

std::string group_schemes_help() {
  return "  vote:FILE                       … by scored votes (leadership: vote)\n"
         "  quorum:FILE                     … by term and quorum (leadership: quorum)\n";
}

Result<StoreUrl> parse_store_url(std::string_view text) {
  if (is_group_url(text)) {
    const std::string file(text.substr(text.find(':') + 1));
    return fail(Errc::kUnsupported,
                "{}: a group elects its leader itself, so there is no store to read. `bellwether lead` takes part in "
                "the group; `bellwether cluster leader|votes|transfer --cluster {}` shows it and moves its leader, and "
                "`bellwether budget --of-cluster --config {}` computes how long it is without a leader",
                in_quotes(text), file, file);
  }
  StoreUrl url;
  url.text = text;
  const auto colon = text.find(':');
  url.scheme = text.substr(0, colon == std::string_view::npos ? 0 : colon);
  const Scheme* scheme = find_scheme(url.scheme);
  if (scheme == nullptr) {
    std::string known = store_schemes_help() + "Groups without a store, only for `bellwether lead` and `budget`:\n" +
                        group_schemes_help();
    known.pop_back();  // the end of the last line
    return fail(
        Errc::kInvalid, "{}: {}. Known stores:\n{}", in_quotes(text),
        url.scheme.empty() ? "this is not the URL of a store" : "there is no store " + in_quotes(url.scheme + ":"),
        known);
  }
  if (const auto wrong = parse_rest(text.substr(colon + 1), *scheme, url); !wrong) {
    return fail(Errc::kInvalid, "{}: {}", in_quotes(without_password(text)), wrong.error().message);
  }
  return url;
}

std::string store_schemes_help() {
  std::string help;
  for (const Scheme& scheme : kSchemes) {
    if (!scheme.help.empty()) help += fmt::format("  {}\n", scheme.help);
  }
  return help;
}

}  // namespace bellwether::store
