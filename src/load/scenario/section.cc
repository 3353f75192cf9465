#include "load/scenario/section.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/units.h"

namespace bellwether::scenario {

void note_unread(const Node& node, Reading& reading) {
  if (reading.diagnostics.full()) return;
  for (const std::string& word : {node.key, node.text}) {
    if (is_value_name(word) || is_step_name(word)) reading.unread.insert(word);
  }
  for (const Node& item : node.items) note_unread(item, reading);
}

void report_wrong(const Node& node, const std::string& what, std::string expected, Reading& reading, std::string hint) {
  note_unread(node, reading);
  reading.diagnostics.add(node.mark, {.message = "wrong value of " + what,
                                      .found = describe(node),
                                      .expected = std::move(expected),
                                      .hint = std::move(hint)});
}

std::optional<Text> read_text(const Node& node, const std::string& what, Reading& reading) {
  if (node.is_scalar()) return Text{node.text, node.mark};
  report_wrong(node, what, "a text", reading);
  return std::nullopt;
}

std::optional<Text> read_constant(const Node& node, const std::string& what, Reading& reading) {
  if (!node.is_scalar() || node.text.find("${") == std::string::npos) return read_text(node, what, reading);
  Result<std::string> folded = reading.environment.fold(node.text);
  if (folded) return Text{std::move(*folded), node.mark};
  if (folded.error().code != Errc::kNotFound) {
    reading.diagnostics.add(node.mark, {.message = fmt::format("{}, in {}", folded.error().message, what)});
    return std::nullopt;
  }
  const std::string& name = folded.error().message;
  reading.diagnostics.add(node.mark,
                          {.message = fmt::format("{} mentions {}, which is no constant", what, in_quotes(name)),
                           .expected = "a name from 'env' or --set",
                           .complete = [&](Diagnostics::Problem& problem) {
                             problem.hint = did_you_mean(name, reading.environment.names());
                           }});
  return std::nullopt;
}

std::string path_of(const Text& path, const Reading& reading) {
  const bool as_it_is = path.text.starts_with('/') || path.mark.file >= reading.folders.size();
  return as_it_is ? path.text : reading.folders[path.mark.file] + path.text;
}

namespace {

// What is wrong with a value, for people.
struct Wrong {
  std::string expected;
  std::string hint = {};
};

// `parse` gives nothing for a wrong text, and may say more of it in `wrong`.
template <class Parse>
auto read_scalar(const Node& node, const std::string& what, Reading& reading, Wrong wrong, Parse parse) {
  using Read = decltype(parse(node.text, wrong));
  if (node.is_scalar()) {
    const auto text = read_constant(node, what, reading);
    if (!text) return Read();
    if (const Read value = parse(text->text, wrong)) return value;
  }
  report_wrong(node, what, std::move(wrong.expected), reading, std::move(wrong.hint));
  return Read();
}

}  // namespace

std::optional<uint64_t> read_whole(const Node& node, const std::string& what, Range range, Reading& reading) {
  return read_scalar(node, what, reading, {fmt::format("a whole number from {} to {}", range.low, range.high)},
                     [range](const std::string& text, Wrong&) {
                       const auto value = parse_u64(text);
                       return value && *value >= range.low && *value <= range.high ? value : std::nullopt;
                     });
}

std::optional<Duration> read_duration(const Node& node, const std::string& what, Reading& reading,
                                      std::string_view expected) {
  return read_scalar(node, what, reading, {std::string(expected)},
                     [](const std::string& text, Wrong& wrong) -> std::optional<Duration> {
                       const Result<Duration> value = parse_duration(text);
                       if (value && *value <= kLongestDuration) return *value;
                       wrong.expected += ", at most 366d";
                       if (!value) wrong.hint = value.error().message;
                       return std::nullopt;
                     });
}

std::optional<uint64_t> read_size(const Node& node, const std::string& what, Reading& reading) {
  return read_scalar(node, what, reading, {"a size such as 512, 64KiB or 10MB"}, [](const std::string& text, Wrong&) {
    const Result<uint64_t> value = parse_size(text);
    return value ? std::optional(*value) : std::nullopt;
  });
}

std::optional<bool> read_bool(const Node& node, const std::string& what, Reading& reading) {
  return read_scalar(node, what, reading, {"true or false"}, [](const std::string& text, Wrong&) {
    return text == "true" || text == "false" ? std::optional(text == "true") : std::nullopt;
  });
}

std::vector<Text> read_texts(const Node& node, const std::string& what, Reading& reading) {
  std::vector<Text> out;
  if (node.is_scalar()) return {{node.text, node.mark}};
  if (!node.is_list()) {
    report_wrong(node, what, "a text or a list of texts", reading);
    return out;
  }
  for (const Node& item : node.items) {
    if (auto text = read_text(item, what, reading)) out.push_back(std::move(*text));
  }
  return out;
}

std::optional<std::size_t> read_choice(const Node& node, const std::string& what, Names choices, Reading& reading) {
  return read_scalar(node, what, reading, {one_of(choices)},
                     [choices](const std::string& text, Wrong& wrong) -> std::optional<std::size_t> {
                       const auto found = std::find(choices.begin(), choices.end(), text);
                       if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
                       wrong.hint = did_you_mean(text, choices);
                       return std::nullopt;
                     });
}

Section::Section(const Node& node, std::string where, Reading& reading, const Map& map)
    : node_(node), where_(std::move(where)), reading_(reading), map_(map) {
  std::vector<std::string_view> listed;
  for (const Key& key : map.keys) {
    if (!key.unlisted) listed.push_back(key.name);
  }
  if (!node.is_map()) {
    note_unread(node, reading);
    reading.diagnostics.add(node.place(), {.message = where_ + " must be a map",
                                           .found = describe(node),
                                           .expected = "a map with the keys " + join(listed)});
    return;
  }
  for (const Node& item : node.items) {
    if (find_key(map, item.key) != nullptr) continue;
    note_unread(item, reading);
    if (std::find(map.later.begin(), map.later.end(), item.key) != map.later.end()) {
      has_later_ = true;
      reading.diagnostics.add(item.place(), {.message = what(item) + " is not available in this version yet"});
      continue;
    }
    has_unknown_ = true;
    if (reading.diagnostics.full()) return;
    reading.diagnostics.add(item.place(), {.message = fmt::format("unknown key {} in {}", in_quotes(item.key), where_),
                                           .found = in_quotes(item.key),
                                           .expected = one_of(listed),
                                           .hint = did_you_mean(item.key, listed)});
  }
}

const Key& Section::key_of(std::string_view name) const {
  const Key* key = find_key(map_, name);
  check(key != nullptr && key->name == name, "what is read is in the table of keys");
  return *key;
}

const Value& Section::value_of(std::string_view name, Form form) const {
  const Value* value = find_value(key_of(name), form);
  check(value != nullptr, "what is read is what the table of keys says");
  return *value;
}

void Section::report_missing(std::string message, std::string expected) const {
  if (has_unknown_) return;
  reading_.diagnostics.add(node_.place(), {.message = std::move(message), .expected = std::move(expected)});
}

void Section::need(std::string_view key, std::string expected) const {
  if (find(key) != nullptr) return;
  report_missing(fmt::format("{} is missing in {}", in_quotes(key), where_), std::move(expected));
}

std::vector<const Node*> Section::given(Names names) const {
  std::vector<const Node*> out;
  for (const std::string_view name : names) {
    if (const Node* value = find(name)) out.push_back(value);
  }
  return out;
}

void Section::report_useless(const Node& value, std::string_view why, std::string hint) const {
  reading_.diagnostics.add(value.place(),
                           {.message = fmt::format("{} has no effect: {}", what(value), why), .hint = std::move(hint)});
}

const Node* Section::find(std::string_view key) const {
  const std::string_view alias = key_of(key).alias;
  const Node* found = nullptr;
  if (!node_.is_map()) return found;
  for (const Node& item : node_.items) {
    if (item.key != key && (alias.empty() || item.key != alias)) continue;
    if (found != nullptr && found->key != item.key) {
      reading_.diagnostics.add(item.place(),
                               {.message = fmt::format("{} means the same as {}", what(item), in_quotes(found->key)),
                                .hint = "remove one of them"});
    }
    if (found == nullptr) found = &item;
  }
  return found;
}

template <class T>
std::optional<T> Section::read(std::string_view key, Form form, Reader<T> reader) const {
  value_of(key, form);
  const Node* value = find(key);
  return value == nullptr ? std::nullopt : reader(*value, what(*value), reading_);
}

std::optional<uint64_t> Section::whole(std::string_view key) const {
  return whole(key, value_of(key, Form::kWhole).range);
}

std::optional<uint64_t> Section::whole(std::string_view key, Range range) const {
  const Range widest = value_of(key, Form::kWhole).range;
  check(widest.low <= range.low && range.high <= widest.high, "the table of keys has the widest range");
  const Node* value = find(key);
  return value == nullptr ? std::nullopt : read_whole(*value, what(*value), range, reading_);
}

std::optional<Duration> Section::duration(std::string_view key) const {
  return read<Duration>(key, Form::kDuration, [](const Node& node, const std::string& what, Reading& reading) {
    return read_duration(node, what, reading);
  });
}

std::optional<uint64_t> Section::size(std::string_view key) const { return read(key, Form::kSize, read_size); }

std::optional<bool> Section::boolean(std::string_view key) const { return read(key, Form::kBool, read_bool); }

std::optional<std::size_t> Section::choice(std::string_view key) const {
  const Names choices = value_of(key, Form::kChoice).choices;
  const Node* value = find(key);
  return value == nullptr ? std::nullopt : read_choice(*value, what(*value), choices, reading_);
}

std::optional<Text> Section::constant(std::string_view key) const { return read(key, Form::kText, read_constant); }

std::optional<Text> Section::text(std::string_view key) const { return read(key, Form::kText, read_text); }

bool is_value_name(std::string_view text) { return is_word_of(text, "_") && !is_digit(text.front()); }

bool is_step_name(std::string_view text) { return is_word_of(text, "_-", 100); }

bool is_http_token(std::string_view text) { return is_word_of(text, "!#$%&'*+-.^_`|~"); }

}  // namespace bellwether::scenario
