#include "core/base/result.h"

#include <cerrno>
#include <cstring>

#include "core/base/enum_names.h"

namespace bellwether {

std::string_view to_string(Errc code) {
  static constexpr EnumNames<Errc> kNames("ok", "invalid", "not_found", "exists", "refused", "reset", "closed",
                                          "timeout", "cancelled", "unreachable", "exhausted", "too_large", "protocol",
                                          "tls", "dns", "io", "no_space", "unsupported");
  return kNames[code];
}

Errc errc_from_errno(int error_number) {
  switch (error_number) {
    case 0: return Errc::kOk;
    case ECONNREFUSED:
    case EACCES:
    case EPERM: return Errc::kRefused;
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE: return Errc::kReset;
    case ETIMEDOUT: return Errc::kTimeout;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case EHOSTDOWN:
    case EAFNOSUPPORT: return Errc::kUnreachable;
    case EADDRNOTAVAIL:
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM: return Errc::kExhausted;
    case ENOENT: return Errc::kNotFound;
    case EEXIST:
    case EADDRINUSE: return Errc::kExists;
    case ENOSPC:
    case EDQUOT: return Errc::kNoSpace;
    case EINVAL: return Errc::kInvalid;
    case EOPNOTSUPP: return Errc::kUnsupported;
    default: return Errc::kIo;
  }
}

tl::unexpected<Error> fail_formatted(Errc code, fmt::string_view text, fmt::format_args args) {
  return fail(code, fmt::vformat(text, args));
}

Error error_from_errno(int error_number, std::string_view what) {
  char buffer[128];
  const char* reason = strerror_r(error_number, buffer, sizeof buffer);
  return Error{errc_from_errno(error_number), fmt::format("{}: {}", what, reason)};
}

}  // namespace bellwether
