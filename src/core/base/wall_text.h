// Times of the wall clock as RFC 3339 text, the form that lock files and lease files of other programs use too.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/time.h"

namespace bellwether {

// "2026-01-04T19:32:20.091Z", cut to milliseconds.
std::string format_wall(WallTime time);
// With any number of decimals and any offset ("+00:00"). Nothing when it is no such text, or before 1970 or after 2261.
std::optional<WallTime> parse_wall(std::string_view text);

}  // namespace bellwether
