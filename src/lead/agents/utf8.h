// What JSON can hold as it is.
#pragma once

#include <string_view>

namespace bellwether::lead {

// Well-formed UTF-8: shortest forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text);

}  // namespace bellwether::lead
