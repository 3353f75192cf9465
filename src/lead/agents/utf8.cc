#include "lead/agents/utf8.h"

#include <algorithm>

#include "core/base/encoding.h"
#include "core/base/utf8.h"

namespace bellwether::lead {

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string utf8_line(std::string_view text, std::size_t bytes_most) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (out.size() + std::max<std::size_t>(length, 1) > bytes_most) break;
    out += length == 0 ? "?" : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return printable(out);
}

}  // namespace bellwether::lead
