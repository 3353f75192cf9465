// Which names may be given to what.
#pragma once

#include <string_view>

#include "load/scenario/builtins.h"

namespace bellwether::scenario {

// Letters, digits and _, not beginning with a digit: the names of values.
bool is_value_name(std::string_view text);
// Letters, digits, _ and -, at most 100: the names of workflows and steps.
bool is_step_name(std::string_view text);
// What stands before the dot of built-in values, and so is the name of nothing else: ${fake.city}.
constexpr bool is_taken_prefix(std::string_view text) { return text == kFakePrefix; }
// What HTTP calls a token: the names of methods and headers.
bool is_http_token(std::string_view text);

}  // namespace bellwether::scenario
