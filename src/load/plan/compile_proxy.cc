// The proxies of requests.
#include <algorithm>

#include "core/base/base64.h"
#include "core/base/bytes.h"
#include "core/base/host_port.h"
#include "core/base/percent.h"
#include "load/plan/compile_step.h"

namespace bellwether::plan {
namespace {

constexpr std::size_t kExceptMax = 1'000;
constexpr std::string_view kExpected = "http://HOST:PORT, http://USER:PASSWORD@HOST:PORT, none, or environment";

bool is_host(std::string_view host) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_' || c == ':';
  });
}

// An error says what is wrong, and quotes nothing, for there may be a password in it.
Result<Proxy> parse_proxy(std::string_view text) {
  const std::size_t scheme = text.find("://");
  if (scheme != std::string_view::npos) {
    if (!iequals(text.substr(0, scheme), "http")) {
      return fail(Errc::kInvalid, "a proxy is spoken to by http");
    }
    text.remove_prefix(scheme + 3);
  }
  if (text.ends_with('/')) text.remove_suffix(1);
  Proxy out;
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    const std::string_view user = text.substr(0, at);
    const std::size_t colon = std::min(user.find(':'), user.size());
    const auto name = percent_decoded(user.substr(0, colon));
    const auto password = percent_decoded(user.substr(std::min(colon + 1, user.size())));
    if (!name || !password) return fail(Errc::kInvalid, "name or password are not percent-encoded as they should be");
    if (name->find(':') != std::string::npos) return fail(Errc::kInvalid, "the name has a colon, which ends it");
    out.authorization = "Basic ";
    append_base64(*name + ":" + *password, out.authorization);
    text.remove_prefix(at + 1);
  }
  const auto place = parse_host_port(text, 0);
  if (!place || place->port == 0 || !is_host(place->host)) {
    return fail(Errc::kInvalid, "it has no host and port");
  }
  out.host = place->host;
  out.port = place->port;
  return out;
}

std::optional<std::string> variable(const std::string& name, Compiling& compiling) {
  std::string lower = name;
  for (char& c : lower) c = ascii_lower(c);
  for (const std::string& one : {name, lower}) {
    auto value = compiling.sources.outside->env(one);
    if (value && !value->empty()) return value;
  }
  return std::nullopt;
}

std::vector<std::string> entries_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty() && out.size() < kExceptMax) {
    const std::size_t end = std::min(text.find(','), text.size());
    std::string_view one = trim(text.substr(0, end));
    if (one.starts_with("*.")) one.remove_prefix(1);
    std::string& entry = out.emplace_back(one);
    for (char& c : entry) c = ascii_lower(c);
    if (entry.empty()) out.pop_back();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::shared_ptr<const Proxies> from_environment(const scenario::Text& proxy, Compiling& compiling) {
  Proxies out;
  const auto take = [&](const std::string& name, std::optional<Proxy>& into) {
    const auto value = variable(name, compiling);
    if (!value) return;
    auto parsed = parse_proxy(*value);
    if (parsed) {
      into = std::move(*parsed);
      return;
    }
    compiling.reading.diagnostics.add(
        proxy.mark, {.message = "wrong value of the environment variable " + name + ": " + parsed.error().message,
                     .expected = "http://HOST:PORT or http://USER:PASSWORD@HOST:PORT"});
  };
  take("HTTP_PROXY", out.http);
  take("HTTPS_PROXY", out.https);
  if (const auto except = variable("NO_PROXY", compiling)) out.except = entries_of(*except);
  if (!out.http && !out.https) return nullptr;
  return std::make_shared<const Proxies>(std::move(out));
}

}  // namespace

std::shared_ptr<const Proxies> proxies_of(const scenario::Text& proxy, Compiling& compiling) {
  if (proxy.text == "none") return nullptr;
  const auto known = compiling.proxies.find(proxy.text);
  if (known != compiling.proxies.end()) return known->second;
  std::shared_ptr<const Proxies>& made = compiling.proxies[proxy.text];
  if (proxy.text == "environment") return made = from_environment(proxy, compiling);
  auto parsed = parse_proxy(proxy.text);
  if (parsed) return made = std::make_shared<const Proxies>(Proxies{*parsed, *parsed, {}});
  compiling.reading.diagnostics.add(
      proxy.mark, {.message = "wrong value of 'proxy': " + parsed.error().message, .expected = std::string(kExpected)});
  return nullptr;
}

}  // namespace bellwether::plan
