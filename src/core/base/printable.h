// Text from anywhere, made fit for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace bellwether {

// Control characters, those of the second block too, replaced by '?', so that no name or message can steer a terminal.
std::string printable(std::string_view text);

}  // namespace bellwether
