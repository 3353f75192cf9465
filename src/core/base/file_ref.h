// A file by its content: what a bundle, a store of files and messages about files say of it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace bellwether {

struct FileRef {
  std::string sha256;  // of its bytes, 64 hexadecimal digits in lower case
  uint64_t size = 0;
  auto operator<=>(const FileRef&) const = default;
};

}  // namespace bellwether
