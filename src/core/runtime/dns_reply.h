// What the library for names does not tell of a reply: how long it may be believed.
#pragma once

#include <optional>

#include "core/base/bytes.h"
#include "core/base/time.h"

namespace bellwether::runtime {

// The least time to live among the answers of a reply (RFC 1035, section 4.1). Nothing when the reply is broken or
// answers nothing. Takes bytes from anywhere.
std::optional<Duration> least_ttl(Bytes reply);

}  // namespace bellwether::runtime
