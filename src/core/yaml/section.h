// Typed reading of one map of a YAML file of settings: the value of a key, or a diagnostic with the expected form.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/yaml/node.h"

namespace bellwether::yaml {

class Section {
 public:
  // Reports unless `node` is a map without other keys than `known`. `where` names the map in messages. `node` and
  // `diagnostics` must outlive this.
  Section(const Node& node, std::string where, Diagnostics& diagnostics, std::span<const std::string_view> known);

  const Node* find(std::string_view key) const;
  // Each returns nothing when the key is absent, and reports a value of another form.
  std::optional<Duration> duration(std::string_view key, Duration shortest) const;
  std::optional<std::string> text(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;  // a text or a list of texts
  std::optional<std::size_t> choice(std::string_view key, std::span<const std::string_view> choices) const;
  // As above, and absence is reported too, unless an unknown key was, which may well be the missing one, misspelt.
  std::optional<Duration> required_duration(std::string_view key, Duration shortest, std::string_view example) const;
  std::optional<std::string> required_text(std::string_view key, std::size_t bytes_max) const;

  std::string what(const Node& value) const { return in_quotes(value.key) + " in " + where_; }
  const std::string& where() const { return where_; }
  Diagnostics& diagnostics() const { return diagnostics_; }

 private:
  void wrong(const Node& value, std::string expected, std::string hint = {}) const;
  void missing(std::string_view key, std::string expected) const;

  const Node& node_;
  std::string where_;
  Diagnostics& diagnostics_;
  bool has_unknown_ = false;
};

// Texts for YAML that a program writes.

// The text in double quotes: for any content it reads back as the same text, and never as a number or a word of YAML.
std::string flow_text(std::string_view text);

}  // namespace bellwether::yaml
