// Why an exchange with the target failed, in the words of the reports. Each failed request counts under one kind.
#pragma once

#include <cstdint>
#include <string_view>

namespace bellwether::http1 {

enum class ErrorKind : uint8_t {
  kNone,
  kDns,  // the name did not resolve
  kConnectRefused,
  kConnectTimeout,
  kConnectReset,
  kUnreachable,
  kExhausted,  // this machine ran out of ports or descriptors: the generator's fault, not the target's
  kTls,        // handshake or certificate verification failed
  kTlsTimeout,
  kSend,       // the request could not be written
  kReset,      // reset after the request was sent
  kClosed,     // closed before the first byte of the response
  kTruncated,  // closed in the middle of head or body
  kFirstByteTimeout,
  kTimeout,      // the whole exchange took too long
  kProtocol,     // not HTTP, or HTTP that contradicts itself
  kTooLarge,     // head, body or number of interim responses over its limit
  kDecode,       // content encoding broken
  kRedirect,     // an unusable redirect
  kTemplate,     // a value the request needs was missing: nothing was sent
  kInterrupted,  // still running when the run ended
  kScript,       // a program that does the step's work failed
  kProxy,        // the proxy opened no tunnel
  kToken,        // there was no access token to send: nothing was sent
};
inline constexpr int kErrorKinds = 24;

// "connect_refused", "first_byte_timeout", …: keys of result files, stable.
std::string_view to_string(ErrorKind kind);
// The text for people: "connection refused (is the target listening?)".
std::string_view describe(ErrorKind kind);

}  // namespace bellwether::http1
