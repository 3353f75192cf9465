// SHA-256 of a text: for names of files that stand for keys, for versions of records, and against torn writes.
#pragma once

#include <string>
#include <string_view>

namespace bellwether::store {

// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view text);

}  // namespace bellwether::store
