// Ids of requests as people see them, and as submitters draw them: UUIDs of version 7 (RFC 9562), without dashes. They
// hold the time at which they were drawn, so that a request which is submitted again is known for as old as it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "election/context/request.h"

namespace bellwether::cluster {

// `chance`: 74 bits of it count.
context_lead::RequestId draw_request_id(WallTime now, uint64_t chance, uint64_t more_chance);
// When it was drawn, to the millisecond; nothing of an id of another kind.
std::optional<WallTime> time_of(context_lead::RequestId id);
// 32 hexadecimal digits, as to_string() writes them, of any kind of id. kInvalid.
Result<context_lead::RequestId> parse_request_id(std::string_view text);

}  // namespace bellwether::cluster
