// A YAML document as a tree that remembers the place of each node. Aliases are already copied out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/yaml/diagnostic.h"

namespace bellwether::yaml {

struct Node {
  enum class Kind : unsigned char { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  bool is_quoted = false;  // kScalar: written in quotes or as a block: a text even if it looks like a number
  Mark mark;
  Mark key_mark;            // of the key, when the node is a value of a map
  std::string key;          // when the node is a value of a map
  std::string text;         // kScalar
  std::vector<Node> items;  // kList, kMap: in the order of the file

  bool is_null() const { return kind == Kind::kNull; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_map() const { return kind == Kind::kMap; }
  // Where the node begins for a reader: at its key, if it has one.
  Mark place() const { return key_mark.line > 0 ? key_mark : mark; }
};

// The kind of a node, for messages: "'ten'", "a list", "a map", "nothing".
std::string describe(const Node& node);

// Limits on input, so that no file can exhaust memory or the stack.
constexpr std::size_t kMaxFileBytes = 1u << 20;  // the parser may need 200 times as much memory
constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxNodes = 100'000;
constexpr std::size_t kMaxTextBytes = 16u << 20;  // all scalars and keys, copies by aliases included

// Parses one YAML document. Syntax errors, exceeded limits and keys given twice go to `diagnostics`; returns nothing
// when the document is unusable. An empty document is a null node. `file`: the file of all marks, among those of
// `diagnostics`.
std::optional<Node> parse_yaml(std::string_view text, Diagnostics& diagnostics, std::string hint_when_too_large = {},
                               uint16_t file = 0);

// TOML (version 1.0) as the same tree that YAML gives, so one set of checks covers both. Numbers and truth values
// become the texts that YAML would have; TOML's dates have no such text and are refused.

// Parses one TOML document, within the limits of YAML documents. Errors of syntax, exceeded limits and values
// that cannot be used go to `diagnostics`; nothing is returned when the document cannot be used at all. The root is a
// map, empty for an empty document.
std::optional<Node> parse_toml(std::string_view text, Diagnostics& diagnostics);

}  // namespace bellwether::yaml
