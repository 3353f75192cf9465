#include "cluster/net/settings.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/units.h"
#include "core/yaml/node.h"

namespace bellwether::cluster {
namespace {

using Kind = SettingSpec::Kind;

bool is_list(Kind kind) { return kind == Kind::kTexts || kind == Kind::kPlaces; }

std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(by), text.size());
    std::string_view part = text.substr(0, end);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// Nothing for what is no number from 0 to 1.
std::optional<double> ratio_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // Written so that what is no number is none.
  const bool good = error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= 1;
  return good ? std::optional(value) : std::nullopt;
}

struct Range {
  uint64_t low = 0;
  uint64_t high = 0;
};

Range range_of(std::string_view text) {
  const auto dots = text.find("..");
  return {parse_u64(text.substr(0, dots)).value_or(0), parse_u64(text.substr(dots + 2)).value_or(UINT64_MAX)};
}

std::string expected_of(const SettingSpec& spec) {
  switch (spec.kind) {
    case Kind::kText: return "a text";
    case Kind::kTexts: return "a list of texts";
    case Kind::kPlace: return "HOST:PORT, such as 10.0.0.1:9000 or [fd00::1]:9000";
    case Kind::kPlaces: return "a list of HOST:PORT, such as 10.0.0.1:9000 or [fd00::1]:9000";
    case Kind::kDuration: return "a duration such as 250ms, 30s or 1h30m";
    case Kind::kNumber: return "a whole number, " + std::string(spec.choices);
    case Kind::kRatio: return "a ratio from 0 to 1, such as 0.25";
    case Kind::kFlag: return "true or false";
    case Kind::kChoice: {
      const std::vector<std::string> choices = split(spec.choices, '|');
      const std::vector<std::string_view> views(choices.begin(), choices.end());
      return yaml::one_of(views);
    }
  }
  return {};
}

// What is wrong with one text of a setting, beyond what `expected_of` says; nothing when it is right.
std::optional<std::string> wrong(const SettingSpec& spec, const std::string& text) {
  switch (spec.kind) {
    case Kind::kText:
    case Kind::kTexts: return std::nullopt;
    case Kind::kPlace:
    case Kind::kPlaces: {
      const auto place = parse_host_port(text, 1);
      return place ? std::nullopt : std::optional(place.error().message);
    }
    case Kind::kDuration: {
      const auto span = parse_duration(text);
      return span ? std::nullopt : std::optional(span.error().message);
    }
    case Kind::kNumber: {
      const auto number = parse_u64(text);
      const Range range = range_of(spec.choices);
      return number && *number >= range.low && *number <= range.high ? std::nullopt : std::optional<std::string>("");
    }
    case Kind::kRatio: return ratio_of(text) ? std::nullopt : std::optional<std::string>("");
    case Kind::kFlag: return text == "true" || text == "false" ? std::nullopt : std::optional<std::string>("");
    case Kind::kChoice: {
      const std::vector<std::string> choices = split(spec.choices, '|');
      if (std::find(choices.begin(), choices.end(), text) != choices.end()) return std::nullopt;
      const std::vector<std::string_view> views(choices.begin(), choices.end());
      return yaml::did_you_mean(text, views);
    }
  }
  return std::nullopt;
}

}  // namespace

std::string variable_of(const SettingSpec& spec) {
  if (!spec.variable.empty()) return std::string(spec.variable);
  std::string out = "BELLWETHER_";
  for (const char c : spec.name) out += c == '.' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

Settings::Settings(std::span<const SettingSpec> specs) : specs_(specs), values_(specs.size()) {
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (is_list(specs[i].kind)) {
      values_[i].texts = split(specs[i].usual, ',');
    } else {
      values_[i].texts = {std::string(specs[i].usual)};
    }
  }
}

std::size_t Settings::find(std::string_view name) const {
  const auto found =
      std::find_if(specs_.begin(), specs_.end(), [&](const SettingSpec& spec) { return spec.name == name; });
  return static_cast<std::size_t>(found - specs_.begin());
}

void Settings::read_node(std::size_t at, const yaml::Node& node, yaml::Diagnostics& diagnostics,
                         const std::string& file) {
  const SettingSpec& spec = specs_[at];
  Value value;
  value.origin = fmt::format("{}:{}:{}", file, node.mark.line, node.mark.column);
  const auto report = [&](const yaml::Node& place, std::string hint) {
    diagnostics.add(place.mark, {.message = "wrong value of " + yaml::in_quotes(spec.name),
                                 .found = describe(place),
                                 .expected = expected_of(spec),
                                 .hint = std::move(hint)});
  };
  const bool single = node.is_scalar();
  if (!single && !(is_list(spec.kind) && node.is_list())) return report(node, {});
  for (const yaml::Node& item : single ? std::vector<yaml::Node>{node} : node.items) {
    if (!item.is_scalar()) return report(item, {});
    // As with --set, a place may be nowhere.
    const bool nowhere = item.text.empty() && spec.kind == Kind::kPlace;
    if (item.text.empty() && !nowhere) return report(item, {});
    if (auto hint = nowhere ? std::nullopt : wrong(spec, item.text)) return report(item, std::move(*hint));
    value.texts.push_back(item.text);
  }
  values_[at] = std::move(value);
}

void Settings::read_map(const yaml::Node& map, const std::string& prefix, yaml::Diagnostics& diagnostics,
                        const std::string& file) {
  std::vector<std::string_view> known;  // at this level
  for (const SettingSpec& spec : specs_) {
    if (!spec.name.starts_with(prefix)) continue;
    const std::string_view rest = spec.name.substr(prefix.size());
    const std::string_view key = rest.substr(0, rest.find('.'));
    if (std::find(known.begin(), known.end(), key) == known.end()) known.push_back(key);
  }
  const std::string where = prefix.empty() ? "the file" : yaml::in_quotes(prefix.substr(0, prefix.size() - 1));
  if (!map.is_map()) {
    diagnostics.add(map.place(), {.message = where + " must be a map",
                                  .found = describe(map),
                                  .expected = "a map with the keys " + yaml::join(known)});
    return;
  }
  for (const yaml::Node& item : map.items) {
    const std::string name = prefix + item.key;
    if (const std::size_t at = find(name); at < specs_.size()) {
      read_node(at, item, diagnostics, file);
    } else if (std::find(known.begin(), known.end(), item.key) != known.end()) {
      read_map(item, name + ".", diagnostics, file);
    } else {
      diagnostics.add(item.place(), {.message = fmt::format("unknown key {} in {}", yaml::in_quotes(item.key), where),
                                     .found = yaml::in_quotes(item.key),
                                     .expected = yaml::one_of(known),
                                     .hint = yaml::did_you_mean(item.key, known)});
    }
  }
}

void Settings::read_file(std::string_view text, yaml::Diagnostics& diagnostics, const std::string& file) {
  const auto root = file.ends_with(".toml") ? yaml::parse_toml(text, diagnostics) : yaml::parse_yaml(text, diagnostics);
  if (!root || root->is_null()) return;
  read_map(*root, "", diagnostics, file);
}

void Settings::read_environment(Environment environment, yaml::Diagnostics& diagnostics) {
  for (std::size_t at = 0; at < specs_.size(); ++at) {
    const SettingSpec& spec = specs_[at];
    const std::string name = variable_of(spec);
    const char* given = environment(name.c_str());
    if (given == nullptr || *given == '\0') continue;
    Value value{.texts = is_list(spec.kind) ? split(given, ',') : std::vector<std::string>{given},
                .origin = "environment " + name};
    std::optional<std::string> hint;
    for (const std::string& text : value.texts) {
      if (!hint) hint = wrong(spec, text);
    }
    if (hint) {
      diagnostics.add({}, {.message = "wrong value of the variable " + name,
                           .found = yaml::in_quotes(given),
                           .expected = expected_of(spec),
                           .hint = std::move(*hint)});
    } else {
      values_[at] = std::move(value);
    }
  }
}

void Settings::read_option(std::string_view assignment, yaml::Diagnostics& diagnostics) {
  const auto equals = assignment.find('=');
  const std::string name(assignment.substr(0, equals));
  const std::size_t at = find(name);
  if (equals == std::string_view::npos || at == specs_.size()) {
    std::vector<std::string_view> names;
    for (const SettingSpec& spec : specs_) names.push_back(spec.name);
    diagnostics.add({}, {.message = fmt::format("--set {} names no setting", yaml::in_quotes(assignment)),
                         .expected = "NAME=VALUE, where NAME is " + yaml::one_of(names),
                         .hint = yaml::did_you_mean(name, names)});
    return;
  }
  const SettingSpec& spec = specs_[at];
  const std::string given(assignment.substr(equals + 1));
  Value value{.texts = is_list(spec.kind) ? split(given, ',') : std::vector<std::string>{given},
              .origin = "--set " + name};
  for (const std::string& text : value.texts) {
    // An empty text takes back the value of a layer below.
    auto hint = text.empty() ? std::nullopt : wrong(spec, text);
    if (!hint) continue;
    diagnostics.add({}, {.message = "wrong value of --set " + name,
                         .found = yaml::in_quotes(text),
                         .expected = expected_of(spec),
                         .hint = std::move(*hint)});
    return;
  }
  values_[at] = std::move(value);
}

const Settings::Value& Settings::value(std::string_view name) const {
  const std::size_t at = find(name);
  check(at < specs_.size(), "a setting of the table");
  return values_[at];
}

const std::string& Settings::text(std::string_view name) const {
  static const std::string none;
  const Value& found = value(name);
  return found.texts.empty() ? none : found.texts.front();
}

HostPort Settings::place(std::string_view name, uint16_t default_port) const {
  return parse_host_port(text(name), default_port).value_or(HostPort());
}

std::vector<HostPort> Settings::places(std::string_view name, uint16_t default_port) const {
  std::vector<HostPort> out;
  for (const std::string& one : texts(name)) out.push_back(parse_host_port(one, default_port).value_or(HostPort()));
  return out;
}

Duration Settings::duration(std::string_view name) const { return parse_duration(text(name)).value_or(Duration()); }

uint64_t Settings::number(std::string_view name) const { return parse_u64(text(name)).value_or(0); }

double Settings::ratio(std::string_view name) const { return ratio_of(text(name)).value_or(0); }

}  // namespace bellwether::cluster
