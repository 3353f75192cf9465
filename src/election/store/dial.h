// Connects to a server by its configured name: name, address, TCP, TLS.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/runtime/runtime.h"
#include "core/runtime/tls.h"
#include "election/store/store_url.h"

namespace bellwether::store {

// A connection to the first address that answers, with TLS if `tls` is given. Errors name the server; kTimeout at the
// deadline, which is of the monotonic clock.
runtime::task<Result<std::unique_ptr<runtime::Stream>>> dial(runtime::Runtime& runtime, HostPort host,
                                                             std::shared_ptr<runtime::TlsContext> tls, Instant deadline,
                                                             runtime::Cancellation* cancel);

// Passwords and keys come only from files and environment variables: every user of the machine can read a command line.

// The whole of a small file (at most 1 MiB), such as a password or a token.
runtime::task<Result<std::string>> read_small_file(runtime::Runtime& runtime, std::string path);
// Its first line, without the end of the line.
runtime::task<Result<std::string>> read_secret(runtime::Runtime& runtime, std::string path);

// The password for a URL: the first line of ?password_file=, else the first of these variables that is set, else empty.
// Takes the option out of the URL.
runtime::task<Result<std::string>> password_of(runtime::Runtime& runtime, StoreUrl& url,
                                               std::vector<std::string> variables);

// The TLS that the rest of a URL's options asks for: ca=FILE, cert=FILE with key=FILE, verify=false; nullptr unless
// `secure`. Fails if another option is left.
Result<std::shared_ptr<runtime::TlsContext>> tls_of(StoreUrl& url, bool secure);

// "a:6379,b:6379"
std::string hosts_text(const std::vector<HostPort>& hosts);

}  // namespace bellwether::store
