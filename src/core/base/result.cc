#include "core/base/result.h"

#include <cerrno>
#include <cstring>

namespace bellwether {

std::string_view to_string(Errc code) {
  switch (code) {
    case Errc::kOk: return "ok";
    case Errc::kInvalid: return "invalid";
    case Errc::kNotFound: return "not_found";
    case Errc::kExists: return "exists";
    case Errc::kRefused: return "refused";
    case Errc::kReset: return "reset";
    case Errc::kClosed: return "closed";
    case Errc::kTimeout: return "timeout";
    case Errc::kCancelled: return "cancelled";
    case Errc::kUnreachable: return "unreachable";
    case Errc::kExhausted: return "exhausted";
    case Errc::kTooLarge: return "too_large";
    case Errc::kProtocol: return "protocol";
    case Errc::kTls: return "tls";
    case Errc::kDns: return "dns";
    case Errc::kIo: return "io";
    case Errc::kNoSpace: return "no_space";
    case Errc::kUnsupported: return "unsupported";
  }
  return "unknown";
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

Error error_from_errno(int error_number, std::string_view what) {
  char buffer[128];
  const char* reason = strerror_r(error_number, buffer, sizeof buffer);
  return Error{errc_from_errno(error_number), std::string(what) + ": " + reason};
}

}  // namespace bellwether
