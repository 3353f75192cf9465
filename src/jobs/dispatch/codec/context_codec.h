// Values between workflows as bytes, as they are kept by a quorum of managers.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "jobs/dispatch/job_context.h"

namespace bellwether::dispatch {

std::string encode_context(const JobContext& context);
// kInvalid says what is wrong with it.
Result<JobContext> decode_context(std::string_view bytes);

}  // namespace bellwether::dispatch
