// Keys as names of files. A key of plain letters, digits, dots, dashes and underscores is its own name, so that other
// programs and people find it; any other one gets a readable beginning and the SHA-256 of the key.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace bellwether::store {

// Fails for "", "." and "..", which no file can stand for. Never longer than 200 bytes, and different for different
// keys.
Result<std::string> file_name_of_key(std::string_view key);
// The key that such a name stands for; nothing when only its hash is in there, or when it is not a name from here.
std::optional<std::string> key_of_file_name(std::string_view name);

// Any bytes as printable text without blanks: "a b" is "a%20b". percent_decoded() of core/base/encoding.h gives them
// back.
std::string percent_encoded(std::string_view bytes);

}  // namespace bellwether::store
