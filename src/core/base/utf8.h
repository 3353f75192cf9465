// Characters in UTF-8 (RFC 3629).
#pragma once

#include <cstddef>
#include <string_view>

namespace bellwether {

// The bytes of the character that `text`, which is not empty, begins with; 0 when it begins with none.
std::size_t utf8_length(std::string_view text);

}  // namespace bellwether
