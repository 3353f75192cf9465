#include "core/yaml/flow_text.h"

#include "core/base/hex.h"

namespace bellwether::yaml {

std::string flow_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'x', kHexDigits[byte >> 4U], kHexDigits[byte & 15U]};
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace bellwether::yaml
