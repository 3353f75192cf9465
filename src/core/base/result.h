// Errors as values. A function that can fail because of the world outside returns Result<T> (or Status without a
// value); check() catches a broken promise of the code itself.
//
// Never use the message of an Error to decide anything: decide on its code, print its message.
#pragma once

#include <fmt/core.h>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

namespace bellwether {

// The class of a failure, coarse enough to act on. The message of the Error has the rest.
enum class Errc : unsigned char {
  kOk = 0,
  kInvalid,      // the input breaks a rule; sending it again will not help
  kNotFound,     // the named object does not exist
  kExists,       // the named object exists already
  kRefused,      // the peer refused (connection refused, permission)
  kReset,        // the peer ended the connection abruptly
  kClosed,       // the connection or object was closed in an orderly way
  kTimeout,      // a deadline passed
  kCancelled,    // the surrounding scope was cancelled
  kUnreachable,  // no route, network or host down
  kExhausted,    // out of ports, descriptors, memory or another bounded resource
  kTooLarge,     // a limit was exceeded
  kProtocol,     // the peer broke the protocol
  kTls,          // TLS handshake or verification failed
  kDns,          // the name could not be resolved
  kIo,           // a file or device failed
  kNoSpace,      // the disk is full
  kUnsupported,  // valid, but not supported here
};

// A short stable name ("timeout", "reset"), used in reports and as a key in result files.
std::string_view to_string(Errc code);

// Maps an errno value of a socket or file call.
Errc errc_from_errno(int error_number);

struct Error {
  Errc code = Errc::kInvalid;
  std::string message;  // for an administrator: what happened, where, what to do
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> fail(Errc code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

// The same with a message that is formatted, as fmt::format() does, which this header brings along: fail(Errc::kIo,
// "'{}' is empty", path).
tl::unexpected<Error> fail_formatted(Errc code, fmt::string_view text, fmt::format_args args);
template <class First, class... Rest>
tl::unexpected<Error> fail(Errc code, fmt::format_string<First, Rest...> text, First&& first, Rest&&... rest) {
  return fail_formatted(code, text, fmt::make_format_args(first, rest...));
}

// An Error for the errno value of a failed call: "WHAT: reason".
Error error_from_errno(int error_number, std::string_view what);
inline tl::unexpected<Error> fail_errno(int error_number, std::string_view what) {
  return tl::unexpected<Error>(error_from_errno(error_number, what));
}

// The value of a result that nobody names ends at once: a lock would be given back.
template <class T, class E>
tl::expected<T, E> owns_nothing(tl::expected<T, E> result) {
  static_assert(std::is_void_v<T> || std::is_copy_constructible_v<T>, "name the value: use BW_TRY");
  return result;
}

}  // namespace bellwether

// In a function that returns a Result: defines or assigns NAME with the value of an expression that gives a Result, or
// returns its error. The forms with CO are for coroutines.
//   BW_TRY(const auto plan, read_plan(path));
//   BW_RETURN_IF_ERROR(write(plan));
#define BW_TRY(name, ...) BW_TRY_THROUGH(return, BW_TRY_LINE(__LINE__), name, __VA_ARGS__)
#define BW_CO_TRY(name, ...) BW_TRY_THROUGH(co_return, BW_TRY_LINE(__LINE__), name, __VA_ARGS__)
#define BW_RETURN_IF_ERROR(...)                                         \
  if (auto bw_done = ::bellwether::owns_nothing(__VA_ARGS__); !bw_done) \
  return tl::unexpected(std::move(bw_done).error())
#define BW_CO_RETURN_IF_ERROR(...)                                      \
  if (auto bw_done = ::bellwether::owns_nothing(__VA_ARGS__); !bw_done) \
  co_return tl::unexpected(std::move(bw_done).error())

#define BW_TRY_THROUGH(leave, result, name, ...)                  \
  auto result = (__VA_ARGS__);                                    \
  if (!(result)) leave tl::unexpected(std::move(result).error()); \
  name = std::move(*(result))
#define BW_TRY_LINE(line) BW_TRY_LINE_OF(line)
#define BW_TRY_LINE_OF(line) bw_result_##line
