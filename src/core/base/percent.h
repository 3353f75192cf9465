// Percent-encoding (RFC 3986, section 2.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace bellwether {

// The bytes that a text stands for. Nothing when a '%' in it is not followed by two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text);
// Appends a text of which only unreserved characters (section 2.3) stand for themselves.
void append_percent_encoded(std::string_view text, std::string& out);

}  // namespace bellwether
