#include "core/http1/error_kind.h"

#include <array>

#include "core/base/check.h"

namespace bellwether::http1 {
namespace {

struct Text {
  std::string_view name;
  std::string_view description;
};

constexpr std::array<Text, kErrorKinds> kTexts{{
    {"none", "no error"},
    {"dns", "the host name did not resolve (check its spelling and this machine's resolver)"},
    {"connect_refused", "connection refused (is the target listening on that port?)"},
    {"connect_timeout",
     "no answer to the connection attempt within connect_timeout (firewall, full listen queue, or wrong address?)"},
    {"connect_reset", "connection reset while connecting (overloaded target, or a proxy in between?)"},
    {"unreachable", "no route to the target (check network and address)"},
    {"exhausted",
     "this machine ran out of ports or file descriptors, not the target "
     "(raise `ulimit -n` and net.ipv4.ip_local_port_range, or use fewer connections)"},
    {"tls", "TLS handshake or certificate verification failed (check host name, CA file, expiry and TLS versions)"},
    {"tls_timeout",
     "the TLS handshake did not end within tls_timeout (target out of CPU, or not speaking TLS on that port?)"},
    {"send", "the request could not be written to the connection"},
    {"reset", "connection reset after the request was sent (crash, or a limit of the target?)"},
    {"closed", "the target closed the connection before it answered"},
    {"truncated", "the target closed the connection in the middle of a response"},
    {"first_byte_timeout", "the response did not begin within first_byte_timeout"},
    {"timeout",
     "the exchange took longer than its timeout (connecting and TLS count; a shorter connect_timeout or tls_timeout "
     "tells them apart)"},
    {"protocol", "the answer was not valid HTTP (is this an HTTP port, and http or https as it should be?)"},
    {"too_large", "response head, body or number of interim responses (1xx) over its limit"},
    {"decode", "the response's content encoding was broken"},
    {"redirect", "a redirect that cannot be followed"},
    {"template", "a value that the request needs was missing, so it was not sent (did an earlier step fail?)"},
    {"interrupted", "still running when the run ended"},
    {"script", "the function of the script failed (its message is among the notes of the run)"},
    {"proxy", "the proxy opened no tunnel to the target (its status is among the events of the run)"},
    {"token", "there was no valid access token, so it was not sent (the events of the run say why)"},
}};

const Text& text_of(ErrorKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  check(index < kTexts.size(), "an error kind is one of the enumeration");
  return kTexts[index];
}

}  // namespace

std::string_view to_string(ErrorKind kind) { return text_of(kind).name; }
std::string_view describe(ErrorKind kind) { return text_of(kind).description; }

}  // namespace bellwether::http1
