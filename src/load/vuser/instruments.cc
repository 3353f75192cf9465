#include "load/vuser/instruments.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/host_port.h"
#include "core/base/units.h"
#include "load/vuser/engine_state.h"

namespace bellwether::vuser {
namespace {

constexpr std::size_t kBodyShown = 4096;  // bytes
constexpr std::size_t kLineShown = 1024;
constexpr std::array<std::string_view, 4> kSecretFields{"authorization", "proxy-authorization", "cookie", "set-cookie"};

// A line of its own, fit for a terminal.
void put_line(char direction, std::string_view line, std::string& out) {
  out += direction;
  out += ' ';
  out += printable(line.substr(0, kLineShown));
  out += line.size() > kLineShown ? "…\n" : "\n";
}

void put_field(char direction, std::string_view name, std::string_view value, bool credentials, std::string& out) {
  const bool secret = std::ranges::any_of(kSecretFields, [name](auto one) { return iequals(one, name); });
  put_line(direction, fmt::format("{}: {}", name, secret && !credentials ? "***" : value), out);
}

void put_body(char direction, std::string_view body, std::string& out) {
  for (std::string_view shown = body.substr(0, kBodyShown); !shown.empty();) {
    put_line(direction, trim(take_until(shown, '\n')), out);
  }
  if (body.size() > kBodyShown) put_line(direction, fmt::format("… {} more bytes", body.size() - kBodyShown), out);
}

// Requests for access tokens have no user.
std::string who(const http1::Session& session) {
  const auto* vu = static_cast<const Vu*>(session.owner);
  if (vu == nullptr) return "[access token]";
  return fmt::format("[{} vu {} iteration {}]", vu->workflow.name, vu->number, vu->iteration);
}

}  // namespace

HttpDebug::HttpDebug(Options options, Callback<void(const std::string& block)> print)
    : options_(options),
      print_(print),
      watch_{options.bodies, callback_to<&HttpDebug::sent>(*this), callback_to<&HttpDebug::received>(*this)} {}

void HttpDebug::sent(const http1::Session& session, const http1::Origin& origin, std::string_view request) const {
  const std::size_t head_end = std::min(request.find("\r\n\r\n"), request.size());
  const std::string_view head = request.substr(0, head_end);
  const std::string_view body = request.substr(std::min(head_end + 4, request.size()));
  std::string out;
  put_line('>',
           fmt::format("{} to {}://{}, {} bytes", who(session), origin.tls ? "https" : "http",
                       to_string(HostPort{origin.host, origin.port}), request.size()),
           out);
  for (std::size_t at = 0; at < head.size();) {
    const std::size_t end = std::min(head.find("\r\n", at), head.size());
    const std::string_view line = head.substr(at, end - at);
    const std::size_t colon = at == 0 ? std::string_view::npos : line.find(':');
    if (colon == std::string_view::npos) {
      put_line('>', line, out);
    } else {
      put_field('>', line.substr(0, colon), trim(line.substr(colon + 1)), options_.credentials, out);
    }
    at = end + 2;
  }
  if (options_.bodies) put_body('>', body, out);
  print_(out);
}

void HttpDebug::received(const http1::Session& session, const http1::Response& response) const {
  std::string out;
  const bool answered = response.error == http1::ErrorKind::kNone;
  const Instant since = response.sent == Instant{} ? response.started : response.sent;
  put_line('<',
           fmt::format("{} {} after {}", who(session),
                       answered ? std::to_string(response.status) : std::string(to_string(response.error)),
                       format_duration(response.done - since)),
           out);
  if (response.status != 0 && response.buffer != nullptr) {
    const http1::ResponseHead& head = response.head();
    put_line('<', fmt::format("HTTP/1.{} {}", head.minor_version, head.status), out);
    for (std::size_t i = 0; i < head.field_count; ++i) {
      put_field('<', head.fields[i].name, head.fields[i].value, options_.credentials, out);
    }
    if (options_.bodies) put_body('<', response.body, out);
  }
  print_(out);
}

}  // namespace bellwether::vuser
