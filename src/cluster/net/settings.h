// Settings of a program in layers: the defaults, a file, the environment, the command line. The later layer wins,
// setting by setting, and each value knows its source. One table lists the settings; reading, checking, `config show`
// and the documentation all use it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/host_port.h"
#include "core/base/time.h"
#include "core/yaml/node.h"

namespace bellwether::cluster {

struct NodeConfig;
class Settings;

struct SettingSpec {
  enum class Kind : unsigned char { kText, kTexts, kPlace, kPlaces, kDuration, kNumber, kRatio, kFlag, kChoice };
  std::string_view name;   // "tls.ca": the path of keys in the file, joined by dots
  std::string_view usual;  // the default
  std::string_view help;   // one line
  // Puts its value where it belongs, when all layers are read.
  void (*land)(const Settings& settings, std::string_view name, NodeConfig& config) = nullptr;
  Kind kind = Kind::kText;
  std::string_view choices = {};   // kChoice: "lan|wan"; kNumber: "0..100"
  std::string_view variable = {};  // of the environment; empty: BELLWETHER_ and the name in capitals
};

class Settings {
 public:
  using Environment = const char* (*)(const char* name);
  struct Value {
    std::vector<std::string> texts;  // one, but of lists
    std::string origin = "default";  // "node.yaml:4:7", "environment BELLWETHER_NAME", "--set name"
  };

  // `specs` must outlive it.
  explicit Settings(std::span<const SettingSpec> specs);

  // Each reports unusable settings, and leaves the value of before. A `file` whose name ends in .toml is TOML, any
  // other YAML.
  void read_file(std::string_view text, yaml::Diagnostics& diagnostics, const std::string& file);
  void read_environment(Environment environment, yaml::Diagnostics& diagnostics);
  // "name=value", as from `--set`; lists are separated by commas.
  void read_option(std::string_view assignment, yaml::Diagnostics& diagnostics);

  // A value that was checked when it was read. REQUIRES that `name` is in the table, and of that kind.
  const std::string& text(std::string_view name) const;
  const std::vector<std::string>& texts(std::string_view name) const { return value(name).texts; }
  HostPort place(std::string_view name, uint16_t default_port) const;
  std::vector<HostPort> places(std::string_view name, uint16_t default_port) const;
  Duration duration(std::string_view name) const;
  uint64_t number(std::string_view name) const;
  double ratio(std::string_view name) const;  // from 0 to 1
  bool flag(std::string_view name) const { return text(name) == "true"; }

  const Value& value(std::string_view name) const;
  bool given(std::string_view name) const { return !value(name).texts.empty() && !value(name).texts.front().empty(); }
  std::span<const SettingSpec> specs() const { return specs_; }

 private:
  void read_map(const yaml::Node& map, const std::string& prefix, yaml::Diagnostics& diagnostics,
                const std::string& file);
  void read_node(std::size_t at, const yaml::Node& node, yaml::Diagnostics& diagnostics, const std::string& file);
  std::size_t find(std::string_view name) const;  // specs_.size() when no setting has this name

  std::span<const SettingSpec> specs_;
  std::vector<Value> values_;
};

// The variable of the environment that holds a setting.
std::string variable_of(const SettingSpec& spec);

}  // namespace bellwether::cluster
