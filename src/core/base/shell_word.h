// Text as one word of a command line.
#pragma once

#include <string>
#include <string_view>

namespace bellwether {

// For a POSIX shell, in quotes where it needs them.
std::string shell_word(std::string_view text);

}  // namespace bellwether
