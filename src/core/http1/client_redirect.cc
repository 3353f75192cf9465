#include "core/http1/client_redirect.h"

#include "core/base/bytes.h"
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

std::string base_url(const Request& request) {
  const Origin& origin = *request.origin;
  const bool six = origin.host.find(':') != std::string::npos;
  return fmt::format("{}{}:{}{}", origin.tls ? "https://" : "http://",
                     six ? fmt::format("[{}]", origin.host) : origin.host, origin.port, request.target);
}

}  // namespace

RedirectedRequest follow_redirect(const Request& request, int status, std::string_view location) {
  RedirectedRequest next;
  auto base = parse_url(base_url(request));
  if (!base) return next;
  auto url = parse_url(resolve(*base, location));
  if (!url) return next;
  next.valid = true;
  next.tls = url->tls;
  next.host = url->host;
  next.port = url->port;
  next.target = url->path_and_query;

  const bool keeps_method = status == 307 || status == 308 || request.method == "GET" || request.method == "HEAD";
  next.method = keeps_method ? std::string(request.method) : "GET";
  if (keeps_method) next.body = std::string(request.body);
  const bool same_origin =
      url->tls == request.origin->tls && url->port == request.origin->port && iequals(url->host, request.origin->host);

  const Proxy* proxy = request.proxies == nullptr ? nullptr : request.proxies->find(url->tls, url->host);
  const bool absolute = proxy != nullptr && !url->tls;
  next.head = fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\n", next.method,
                          absolute ? "http://" + url->authority : std::string(), next.target, url->authority);
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
    if (iequals(name, "host") || (!keeps_method && describes_body(name)) || (!same_origin && is_credential(name)))
      continue;
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
