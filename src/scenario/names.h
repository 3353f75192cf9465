// Which names may be given to what.
#pragma once

#include <array>
#include <string_view>

namespace bellwether::scenario {

// Names in templates with a meaning of their own, which values must not take.
constexpr std::array<std::string_view, 7> kBuiltinNames{"vu",   "iteration", "now",       "now_ms",
                                                        "uuid", "random",    "random_hex"};

// Letters, digits and _, not beginning with a digit: the names of values.
bool is_value_name(std::string_view text);
// Letters, digits, _ and -, at most 100: the names of workflows and steps.
bool is_step_name(std::string_view text);
// What HTTP calls a token: the names of methods and headers.
bool is_http_token(std::string_view text);

}  // namespace bellwether::scenario
