// Values between workflows as bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dispatch/job_context.h"
#include "plan/context.h"

namespace bellwether::wire {
class GivenValue;
class ProvidedValue;
}  // namespace bellwether::wire

namespace bellwether::dispatch {

void put(const plan::Provided& from, wire::ProvidedValue& to);
void put(const plan::Given& from, wire::GivenValue& to);
// False: it has figures that cannot be, or is too long.
bool read(const wire::ProvidedValue& from, plan::Provided& to);
bool read(const wire::GivenValue& from, plan::Given& to);

// A whole context, as it is kept by a quorum of managers.
std::string encode_context(const JobContext& context);
// kInvalid says what is wrong with it.
Result<JobContext> decode_context(std::string_view bytes);

}  // namespace bellwether::dispatch
