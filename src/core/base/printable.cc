#include "core/base/printable.h"

#include <cstddef>

namespace bellwether {

std::string printable(std::string_view text) {
  std::string out(text);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto c = static_cast<unsigned char>(out[i]);
    // The second control block is U+0080 to U+009F: 0xC2 and 0x80 to 0x9F.
    const auto next = static_cast<unsigned char>(i + 1 < out.size() ? out[i + 1] : 0);
    const bool second_block = c == 0xC2 && next >= 0x80 && next < 0xA0;
    if (second_block) out.erase(i, 1);
    if (second_block || c < 0x20 || c == 0x7F) out[i] = '?';
  }
  return out;
}

}  // namespace bellwether
