// Typed reading of one map of the scenario file: the value of a key, or a diagnostic with the expected one.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "load/scenario/builtins.h"
#include "load/scenario/document.h"
#include "load/scenario/keys.h"
#include "load/scenario/sources.h"

namespace bellwether::scenario {

// The common needs of readers: the receiver of problems, and the constants that a value may mention.
struct Reading {
  Diagnostics& diagnostics;
  const Environment& environment;
  // By number of the file (Mark::file): its folder, as a path from that of the scenario file, with a slash at its end.
  // Empty for the scenario file itself, and for files outside the list.
  std::vector<std::string> folders = {};
  // The keys and texts in the parts that were reported: such a part may be what declares a name.
  std::set<std::string, std::less<>> unread = {};
  bool is_shared_sound = true;  // nothing that all workflows share was reported
};
// Adds the words of a part that was reported to `reading.unread`.
void note_unread(const Node& node, Reading& reading);

struct Text {
  std::string text;
  Mark mark;
};

// Longer ones are refused.
constexpr Duration kLongestDuration = Duration::hours(24 * 366);
// The path of a file that `path` names, relative to the folder of the scenario file. `path` is relative to the file
// that contains it.
std::string path_of(const Text& path, const Reading& reading);

// The value readers report a problem and return nothing when the node does not hold the requested value. `what` names
// the value in messages: "'vus' in workflow 'browse'".
std::optional<uint64_t> read_whole(const Node& node, const std::string& what, Range range, Reading& reading);
std::optional<Duration> read_duration(const Node& node, const std::string& what, Reading& reading,
                                      std::string_view expected = "a duration such as 250ms, 30s or 1h30m");
std::optional<uint64_t> read_size(const Node& node, const std::string& what, Reading& reading);
std::optional<bool> read_bool(const Node& node, const std::string& what, Reading& reading);
// A text whose ${NAME} are replaced now; other templates are an error.
std::optional<Text> read_constant(const Node& node, const std::string& what, Reading& reading);
// A text as written, templates and all.
std::optional<Text> read_text(const Node& node, const std::string& what, Reading& reading);
// A text, or a list of texts.
std::vector<Text> read_texts(const Node& node, const std::string& what, Reading& reading);
// The index of the text among `choices`.
std::optional<std::size_t> read_choice(const Node& node, const std::string& what, Names choices, Reading& reading);
void report_wrong(const Node& node, const std::string& what, std::string expected, Reading& reading,
                  std::string hint = {});

// REQUIRES that the table of the map has each key by this name, and that the key can hold the type of the reader.
class Section {
 public:
  // Reports unless `node` is a map without other keys than those of `map`, which must outlive this object. `where`
  // names it in messages: "workflow 'browse'".
  Section(const Node& node, std::string where, Reading& reading, const Map& map);

  // The value of the key, by its name or by its alias.
  const Node* find(std::string_view key) const;
  // It has an unknown key, which was reported.
  bool has_unknown() const { return has_unknown_; }
  // It has a key that is not available in this version, which was reported.
  bool has_later() const { return has_later_; }

  std::optional<uint64_t> whole(std::string_view key) const;
  // Within a narrower range than that of the table.
  std::optional<uint64_t> whole(std::string_view key, Range range) const;
  std::optional<Duration> duration(std::string_view key) const;
  std::optional<uint64_t> size(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  // The index among the choices of the table.
  std::optional<std::size_t> choice(std::string_view key) const;
  std::optional<Text> constant(std::string_view key) const;
  std::optional<Text> text(std::string_view key) const;

  // Reports that a required key is missing, unless an unknown one was reported: that may be the same key, misspelt.
  void report_missing(std::string message, std::string expected) const;
  // The same of one key, unless it is there.
  void need(std::string_view key, std::string expected) const;
  // The values of these keys that are there, in the order of the names.
  std::vector<const Node*> given(Names names) const;
  void report_useless(const Node& value, std::string_view why, std::string hint = {}) const;

  std::string what(const Node& value) const { return in_quotes(value.key) + " in " + where_; }
  const std::string& where() const { return where_; }
  const Node& node() const { return node_; }
  Reading& reading() const { return reading_; }

 private:
  const Key& key_of(std::string_view name) const;
  const Value& value_of(std::string_view name, Form form) const;
  template <class T>
  using Reader = std::optional<T> (*)(const Node& node, const std::string& what, Reading& reading);
  template <class T>
  std::optional<T> read(std::string_view key, Form form, Reader<T> reader) const;

  const Node& node_;
  std::string where_;
  Reading& reading_;
  const Map& map_;
  bool has_unknown_ = false;
  bool has_later_ = false;
};

// The allowed names.

// Letters, digits and _, not beginning with a digit: the names of values.
bool is_value_name(std::string_view text);
// Letters, digits, _ and -, at most 100: the names of workflows and steps.
bool is_step_name(std::string_view text);
// The word before the dot of built-in values, which is no other name: ${fake.city}.
constexpr bool is_taken_prefix(std::string_view text) { return text == kFakePrefix; }
// A token of HTTP: the names of methods and headers.
bool is_http_token(std::string_view text);

}  // namespace bellwether::scenario
