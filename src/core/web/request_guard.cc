#include "core/web/request_guard.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/encoding.h"

namespace bellwether::web {
namespace {

constexpr uint16_t kHttpPort = 80;  // which browsers leave out of the Host

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), ascii_lower);
  return text;
}

// The text behind "Bearer " or "Basic ".
std::optional<std::string> credentials(const std::string& field, std::string_view scheme) {
  const std::string_view text = field;
  if (text.size() <= scheme.size() || !iequals(text.substr(0, scheme.size()), scheme) || text[scheme.size()] != ' ') {
    return std::nullopt;
  }
  return std::string(trim(text.substr(scheme.size() + 1)));
}

bool carries(const Request& request, const std::string& secret) {
  const std::string field = request.field("Authorization");
  if (const auto bearer = credentials(field, "Bearer")) return same_secret(*bearer, secret);
  const auto basic = credentials(field, "Basic");
  if (!basic) return false;
  const std::string pair = bytes_of_base64(*basic);
  const auto colon = pair.find(':');
  return colon != std::string::npos && same_secret(pair.substr(colon + 1), secret);
}

Answer guard_answer(int status, const std::string& why) { return {.status = status, .body = why + "\n"}; }

}  // namespace

bool same_secret(const std::string& a, const std::string& b) {
  unsigned different = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) different |= static_cast<unsigned char>(a[i] ^ b[i]);
  return different == 0;
}

std::optional<Answer> RequestGuard::against_reading(const Request& request) const {
  const std::string host = lower(request.field("Host"));
  if (!rules_.hosts.empty() && std::find(rules_.hosts.begin(), rules_.hosts.end(), host) == rules_.hosts.end()) {
    return guard_answer(421, "this server does not serve that host name; permit it with --name HOST");
  }
  if (!rules_.bearer.empty() && !carries(request, rules_.bearer)) {
    Answer answer =
        guard_answer(401, "authentication is required: Authorization: Bearer SECRET, or the secret as password");
    answer.fields.emplace_back("WWW-Authenticate", "Basic realm=\"bellwether\", charset=\"UTF-8\"");
    return answer;
  }
  return std::nullopt;
}

std::optional<Answer> RequestGuard::against_acting(const Request& request, const std::string& form_secret) const {
  if (auto wrong = against_reading(request)) return wrong;
  const std::string host = lower(request.field("Host"));
  const std::string origin = lower(request.field("Origin"));
  const bool many = std::count_if(request.fields.begin(), request.fields.end(),
                                  [](const auto& field) { return iequals(field.first, "Origin"); }) > 1;
  const bool foreign = !origin.empty() && origin != "http://" + host && origin != "https://" + host;
  if (many || foreign) return guard_answer(403, "this request comes from another page");
  if (const std::string from = request.field("Sec-Fetch-Site"); !from.empty() && from != "same-origin") {
    return guard_answer(403, "this request comes from another page");
  }
  // No page can make a browser send this without having been let in by us.
  if (!rules_.bearer.empty() && credentials(request.field("Authorization"), "Bearer")) return std::nullopt;
  if (!same_secret(form_secret, rules_.form_secret)) {
    return guard_answer(403, "the form is not from this page, or the server was restarted since: reload the page");
  }
  return std::nullopt;
}

bool is_loopback(const runtime::IpAddress& address) {
  if (address.is_v4()) return (address.v4_value() >> 24U) == 127;
  return address == *runtime::IpAddress::parse("::1");
}

std::vector<std::string> names_of_page(const runtime::Endpoint& at, const std::vector<std::string>& more) {
  const std::string port = fmt::format(":{}", at.port);
  const std::string here = lower(at.to_string());
  std::vector<std::string> hosts{here.substr(0, here.size() - port.size())};
  if (is_loopback(at.address)) hosts.insert(hosts.end(), {"localhost", "127.0.0.1", "[::1]"});
  std::vector<std::string> names;
  for (const std::string& host : hosts) {
    names.push_back(host + port);
    if (at.port == kHttpPort) names.push_back(host);
  }
  for (const std::string& name : more) {
    names.push_back(lower(name) + port);
    names.push_back(lower(name));  // behind a proxy, which has the usual port
  }
  return names;
}

}  // namespace bellwether::web
