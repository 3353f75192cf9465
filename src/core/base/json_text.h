// What stands between the quotes of a string in JSON (RFC 8259, section 7).
#pragma once

#include <string>
#include <string_view>

namespace bellwether {

void append_json_text(std::string_view text, std::string& out);

}  // namespace bellwether
