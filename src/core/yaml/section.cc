#include "core/yaml/section.h"

#include <algorithm>

#include "core/base/encoding.h"
#include "core/base/units.h"

namespace bellwether::yaml {

namespace {
constexpr Duration kLongest = Duration::hours(24 * 366);
}

Section::Section(const Node& node, std::string where, Diagnostics& diagnostics, std::span<const std::string_view> known)
    : node_(node), where_(std::move(where)), diagnostics_(diagnostics) {
  if (!node.is_map()) {
    diagnostics.add(node.place(), {.message = where_ + " must be a map",
                                   .found = describe(node),
                                   .expected = "a map with the keys " + join(known)});
    return;
  }
  for (const Node& item : node.items) {
    if (std::find(known.begin(), known.end(), item.key) != known.end()) continue;
    has_unknown_ = true;
    diagnostics.add(item.place(), {.message = fmt::format("unknown key {} in {}", in_quotes(item.key), where_),
                                   .found = in_quotes(item.key),
                                   .expected = one_of(known),
                                   .hint = did_you_mean(item.key, known)});
  }
}

const Node* Section::find(std::string_view key) const {
  if (!node_.is_map()) return nullptr;
  const auto found = std::ranges::find_if(node_.items, [&](const Node& item) { return item.key == key; });
  return found == node_.items.end() ? nullptr : &*found;
}

void Section::wrong(const Node& value, std::string expected, std::string hint) const {
  diagnostics_.add(value.mark, {.message = "wrong value of " + what(value),
                                .found = describe(value),
                                .expected = std::move(expected),
                                .hint = std::move(hint)});
}

void Section::missing(std::string_view key, std::string expected) const {
  if (has_unknown_) return;
  diagnostics_.add(node_.place(),
                   {.message = fmt::format("{} has no {}", where_, in_quotes(key)), .expected = std::move(expected)});
}

std::optional<Duration> Section::duration(std::string_view key, Duration shortest) const {
  const Node* value = find(key);
  if (value == nullptr) return std::nullopt;
  const std::string least = shortest >= Duration::millis(1) ? "at least " + format_duration(shortest)
                            : shortest > Duration::zero()   ? std::string("longer than 0")
                                                            : std::string("0s or longer");
  const std::string expected = fmt::format("a duration such as 250ms, 30s or 1h30m, {} and at most 366d", least);
  if (!value->is_scalar()) {
    wrong(*value, expected);
    return std::nullopt;
  }
  const Result<Duration> parsed = parse_duration(value->text);
  if (!parsed) {
    wrong(*value, expected, parsed.error().message);
    return std::nullopt;
  }
  if (*parsed >= shortest && *parsed <= kLongest) return *parsed;
  wrong(*value, expected);
  return std::nullopt;
}

std::optional<std::string> Section::text(std::string_view key) const {
  const Node* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_scalar() && !value->text.empty()) return value->text;
  wrong(*value, "a text");
  return std::nullopt;
}

std::vector<std::string> Section::texts(std::string_view key) const {
  std::vector<std::string> out;
  const Node* value = find(key);
  if (value == nullptr) return out;
  if (value->is_scalar() && !value->text.empty()) return {value->text};
  if (!value->is_list() || value->items.empty()) wrong(*value, "a text or a list of texts");
  for (const Node& item : value->items) {
    if (value->is_list() && item.is_scalar() && !item.text.empty()) {
      out.push_back(item.text);
    } else if (value->is_list()) {
      diagnostics_.add(
          item.mark,
          {.message = "wrong value in the list " + what(*value), .found = describe(item), .expected = "a text"});
    }
  }
  return out;
}

std::optional<std::size_t> Section::choice(std::string_view key, std::span<const std::string_view> choices) const {
  const Node* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto found = std::find(choices.begin(), choices.end(), value->text);
  if (value->is_scalar() && found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  wrong(*value, one_of(choices), did_you_mean(value->text, choices));
  return std::nullopt;
}

std::optional<Duration> Section::required_duration(std::string_view key, Duration shortest,
                                                   std::string_view example) const {
  if (find(key) == nullptr) missing(key, fmt::format("a duration, such as {}: {}", key, example));
  return duration(key, shortest);
}

std::optional<std::string> Section::required_text(std::string_view key, std::size_t bytes_max) const {
  if (find(key) == nullptr) missing(key, "a text");
  auto read = text(key);
  if (read && read->size() > bytes_max) {
    wrong(*find(key), "at most " + format_count(bytes_max, "byte"));
    return std::nullopt;
  }
  return read;
}

std::string flow_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'x', kHexDigits[byte >> 4U], kHexDigits[byte & 15U]};
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace bellwether::yaml
