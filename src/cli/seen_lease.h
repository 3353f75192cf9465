// One look at a lease, for commands that show or judge it.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/runtime/runtime.h"
#include "election/lease_record.h"
#include "lead/lease_words.h"

namespace bellwether::cli {

// What the store shows of the key now. Talks to the store for at most `timeout`.
runtime::task<Result<election::Observation>> look_at_lease(runtime::Runtime& runtime, std::string url, std::string key,
                                                           Duration timeout);

using lead::between;
using lead::left_of;

}  // namespace bellwether::cli
