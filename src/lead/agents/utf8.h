// Texts that JSON can hold unchanged.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bellwether::lead {

// Well-formed UTF-8: shortest forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text);

// Text from anywhere as one line of well-formed UTF-8, of at most `bytes_most` bytes: unprintable or broken characters
// become '?'.
std::string utf8_line(std::string_view text, std::size_t bytes_most);

}  // namespace bellwether::lead
