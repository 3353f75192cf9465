// JSON as the same tree that YAML gives, with the place of each value.
#pragma once

#include <optional>
#include <string_view>

#include "core/yaml/node.h"

namespace bellwether::imports {

using yaml::Node;

// Whether the value of `key` is left out, in an object that is the value of `parent`.
using Skip = bool (*)(std::string_view parent, std::string_view key);

// Parses a JSON text whose root is an object or an array. Strings are quoted scalars, numbers and truth values are
// unquoted ones as they were written. Errors, and more than kMaxJsonNodes values or yaml::kMaxDepth levels, go to
// `diagnostics`.
std::optional<Node> parse_json(std::string_view text, yaml::Diagnostics& diagnostics, Skip skip = nullptr);

constexpr std::size_t kMaxJsonNodes = 2'000'000;

bool is_utf8(std::string_view text);

// The member of this name of a map, or nullptr.
const Node* find(const Node* node, std::string_view key);
// Its text; empty unless it is a scalar.
std::string_view text_at(const Node* node, std::string_view key);

}  // namespace bellwether::imports
