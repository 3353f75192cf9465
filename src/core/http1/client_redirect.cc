#include "core/http1/client_redirect.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/host_port.h"
#include "core/http1/url.h"

namespace bellwether::http1 {
namespace {

bool describes_body(std::string_view name) {
  return iequals(name, "content-length") || iequals(name, "content-type") || iequals(name, "content-encoding") ||
         iequals(name, "transfer-encoding");
}

bool is_credential(std::string_view name) {
  return iequals(name, "authorization") || iequals(name, "cookie") || iequals(name, "proxy-authorization");
}

// Where the request goes, as an URL.
Url url_of(const Request& request) {
  const Origin& origin = *request.origin;
  return {origin.tls, origin.host, origin.port, std::string(request.target),
          authority_of(origin.tls, origin.host, origin.port)};
}

// Whether the user chose a Host that is not where the request goes.
bool has_other_host(const Request& request) {
  constexpr std::string_view kName = "\r\nhost:";
  const std::string_view head = request.head;
  const auto at = std::search(head.begin(), head.end(), kName.begin(), kName.end(),
                              [](char a, char b) { return ascii_lower(a) == b; });
  if (at == head.end()) return false;
  const std::string_view rest = head.substr(static_cast<std::size_t>(at - head.begin()) + kName.size());
  const std::string_view value = trim(rest.substr(0, rest.find("\r\n")));
  const Origin& origin = *request.origin;
  return !iequals(value, authority_of(origin.tls, origin.host, origin.port)) &&
         !iequals(value, to_string(HostPort{origin.host, origin.port}));
}

}  // namespace

RedirectedRequest follow_redirect(const Request& request, const ResponseHead& redirect) {
  RedirectedRequest next;
  const Url base = url_of(request);
  const auto url = resolve(base, redirect.location);
  if (!url) return next;
  next.valid = true;
  next.tls = url->tls;
  next.host = url->host;
  next.port = url->port;
  next.target = url->path_and_query;

  const int status = redirect.status;
  const bool keeps_method = status == 307 || status == 308 || request.method == "GET" || request.method == "HEAD";
  next.method = keeps_method ? std::string(request.method) : "GET";
  if (keeps_method) next.body = std::string(request.body);
  const bool same_origin =
      url->tls == request.origin->tls && url->port == request.origin->port && iequals(url->host, request.origin->host);

  const Proxy* proxy = request.proxies == nullptr ? nullptr : request.proxies->find(url->tls, url->host);
  const bool absolute = proxy != nullptr && !url->tls;
  next.head = fmt::format("{} {}{} HTTP/1.1\r\n", next.method, absolute ? "http://" + url->authority : std::string(),
                          next.target);
  const bool keeps_host = same_origin && has_other_host(request);
  if (!keeps_host) next.head += fmt::format("Host: {}\r\n", url->authority);
  if (absolute && !proxy->authorization.empty()) {
    next.head += fmt::format("Proxy-Authorization: {}\r\n", proxy->authorization);
  }
  std::string_view fields = request.head.substr(request.head.find("\r\n") + 2);
  while (!fields.empty()) {
    const std::string_view line = fields.substr(0, fields.find("\r\n"));
    fields.remove_prefix(line.size() + 2);
    const std::string_view name = line.substr(0, line.find(':'));
    // Credentials for a proxy go to that proxy only.
    if (request.proxies != nullptr && iequals(name, "proxy-authorization")) continue;
    if ((iequals(name, "host") && !keeps_host) || (!keeps_method && describes_body(name)) ||
        (!same_origin && is_credential(name)))
      continue;
    if (iequals(name, "cookie")) {
      const std::string left = without_cookies_of(line.substr(name.size() + 1), redirect);
      if (!left.empty()) next.head += fmt::format("{}: {}\r\n", name, left);
      continue;
    }
    next.head += line;
    next.head += "\r\n";
  }
  return next;
}

Request RedirectedRequest::request(const CallLimits& limits, bool want_body) const {
  Request made;
  made.method = method;
  made.target = target;
  made.head = head;
  made.body = body;
  made.limits = &limits;
  made.want_body = want_body;
  return made;
}

}  // namespace bellwether::http1
