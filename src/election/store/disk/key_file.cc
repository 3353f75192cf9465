#include "election/store/disk/key_file.h"

#include <algorithm>

#include "core/base/encoding.h"

namespace bellwether::store {
namespace {

constexpr std::size_t kLongestName = 200;
constexpr std::size_t kReadable = 40;
constexpr char kBeforeHash = '~';  // in no plain name, so that no plain key has the name of a hashed one

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && name.size() <= kLongestName &&
         std::all_of(name.begin(), name.end(), &is_plain);
}

}  // namespace

Result<std::string> file_name_of_key(std::string_view key) {
  if (key.empty() || key == "." || key == "..") {
    return fail(Errc::kInvalid, "'" + std::string(key) + "' cannot be a key here: a file is named after each key");
  }
  if (is_plain_name(key)) return std::string(key);
  std::string name;
  for (const char c : key.substr(0, kReadable)) name.push_back(is_plain(c) ? c : '_');
  if (name.front() == '.') name.front() = '_';
  return name + kBeforeHash + sha256_hex(key);
}

std::optional<std::string> key_of_file_name(std::string_view name) {
  if (!is_plain_name(name)) return std::nullopt;
  return std::string(name);
}

std::string percent_encoded(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    if (c > ' ' && c < 0x7f && c != '%') {
      text.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    text += {'%', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
  }
  return text;
}

}  // namespace bellwether::store
