// Base64 (RFC 4648 §4), in which JSON carries bytes.
#pragma once

#include <string>
#include <string_view>

namespace bellwether {

void append_base64(std::string_view bytes, std::string& out);
std::string base64_of(std::string_view bytes);
// What is no digit is passed over, so that bytes are read from any layout.
std::string bytes_of_base64(std::string_view text);

}  // namespace bellwether
