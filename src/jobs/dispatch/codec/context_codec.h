// Values between workflows as bytes, as they are kept by a quorum of managers.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "load/plan/sequence.h"

namespace bellwether::dispatch {

std::string encode_context(const plan::Values& context);
// kInvalid says what is wrong with it.
Result<plan::Values> decode_context(std::string_view bytes);

}  // namespace bellwether::dispatch
