// TOML (version 1.0) as the same tree that YAML gives, so one set of checks covers both. Numbers and truth values
// become the texts that YAML would have; TOML's dates have no such text and are refused.
#pragma once

#include <optional>
#include <string_view>

#include "core/yaml/node.h"

namespace bellwether::yaml {

// Parses one TOML document, within the limits of YAML documents (node.h). Errors of syntax, exceeded limits and values
// that cannot be used go to `diagnostics`; nothing is returned when the document cannot be used at all. The root is a
// map, empty for an empty document.
std::optional<Node> parse_toml(std::string_view text, Diagnostics& diagnostics);

}  // namespace bellwether::yaml
