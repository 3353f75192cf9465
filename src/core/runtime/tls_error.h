// What OpenSSL says went wrong, in one line. Private to the TLS sources.
#pragma once

#include <string>

namespace bellwether::runtime {

// The oldest error of this thread's queue, which is emptied; "no reason given" when it is empty.
std::string tls_error_text();

}  // namespace bellwether::runtime
