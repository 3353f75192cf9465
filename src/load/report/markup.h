// Text from outside within XML and HTML.
#pragma once

#include <string>
#include <string_view>

namespace bellwether::report {

// For elements and for attributes in double or single quotes. What XML 1.0 has no place for (control characters, bytes
// that are not UTF-8) becomes U+FFFD.
std::string escaped(std::string_view text);

}  // namespace bellwether::report
