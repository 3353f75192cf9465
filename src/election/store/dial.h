// Connecting to a server that is named by a person: name, address, TCP, TLS.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/runtime/runtime.h"
#include "core/runtime/tls.h"
#include "election/store/store_url.h"

namespace bellwether::store {

// A connection to the first address that answers, with TLS when `tls` is given. Errors name the server; kTimeout when
// the deadline, of the monotonic clock, passes.
runtime::task<Result<std::unique_ptr<runtime::Stream>>> dial(runtime::Runtime& runtime, HostPort host,
                                                             std::shared_ptr<runtime::TlsContext> tls, Instant deadline,
                                                             runtime::Cancellation* cancel);

}  // namespace bellwether::store
