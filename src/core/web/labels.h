// Texts of any bytes as labels of metrics in the text format of Prometheus (version 0.0.4). Pure.
#pragma once

#include <string>
#include <string_view>

namespace bellwether::web {

// The value of a label: bytes that are not UTF-8, and control characters except the line feed, appear as \xNN, so that
// no key makes the page unreadable. Rules that ask for a label use the same.
std::string label_text(std::string_view text);
// The same as it stands between quotes on the page.
std::string label_value(std::string_view text);

}  // namespace bellwether::web
