// Texts for YAML that a program writes.
#pragma once

#include <string>
#include <string_view>

namespace bellwether::yaml {

// The text in double quotes: read back, it is the same text, whatever it holds, and never a number or a word of YAML.
std::string flow_text(std::string_view text);

}  // namespace bellwether::yaml
