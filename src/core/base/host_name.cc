#include "core/base/host_name.h"

#include <algorithm>
#include <idn2.h>
#include <memory>

namespace bellwether {

Result<std::string> ascii_host(std::string_view name) {
  std::string text(name);
  if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return text;
  char* made = nullptr;
  const int result = idn2_to_ascii_8z(text.c_str(), &made, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
  const std::unique_ptr<char, void (*)(void*)> owner(made, idn2_free);
  if (result != IDN2_OK) return fail(Errc::kInvalid, "'{}' is no name of a host: {}", name, idn2_strerror(result));
  return std::string(made);
}

}  // namespace bellwether
