// Typed reading of one map of the policy sheet: what a key holds, or a diagnostic that says what it should hold; and
// what to warn about in a sheet that is right.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "lead/policy/policy.h"
#include "yaml/node.h"

namespace bellwether::lead {

class SheetSection {
 public:
  // Reports unless `node` is a map without other keys than `known`. `where` names the map in messages. `node` and
  // `diagnostics` must outlive this.
  SheetSection(const yaml::Node& node, std::string where, yaml::Diagnostics& diagnostics,
               std::span<const std::string_view> known);

  const yaml::Node* find(std::string_view key) const;
  // Each gives nothing when the key is absent, and reports when it holds something else than asked for.
  std::optional<Duration> duration(std::string_view key, Duration shortest) const;
  std::optional<std::string> text(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;  // a text or a list of texts
  std::optional<std::size_t> choice(std::string_view key, std::span<const std::string_view> choices) const;
  // As above, and absence is reported too, unless an unknown key was, which may well be the missing one, misspelt.
  std::optional<Duration> required_duration(std::string_view key, Duration shortest, std::string_view example) const;
  std::optional<std::string> required_text(std::string_view key, std::size_t bytes_max) const;

  std::string what(const yaml::Node& value) const { return yaml::in_quotes(value.key) + " in " + where_; }
  const std::string& where() const { return where_; }
  yaml::Diagnostics& diagnostics() const { return diagnostics_; }

 private:
  void wrong(const yaml::Node& value, std::string expected, std::string hint = {}) const;
  void missing(std::string_view key, std::string expected) const;

  const yaml::Node& node_;
  std::string where_;
  yaml::Diagnostics& diagnostics_;
  bool has_unknown_ = false;
};

std::vector<yaml::Diagnostic> warn_about(const Policy& policy);

}  // namespace bellwether::lead
