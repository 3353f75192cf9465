// The output of verbs, defined once: the same list of fields makes a table or lines for people, and JSON for programs.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/time.h"

namespace bellwether::cli {

// Columns for a terminal: each as wide as its widest cell, two spaces apart.
class Table {
 public:
  explicit Table(std::vector<std::string> heads) { rows_.push_back(std::move(heads)); }
  // A row has as many cells as there are heads, or fewer.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // With a line feed after each row; control characters are made visible.
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// With three decimals.
std::string figure(double value);
// "a, b"; `none` for an empty list.
std::string joined(const std::vector<std::string>& texts, std::string_view none = "");

// Prints on standard output. The exit code of the verb.
int print(const std::string& text);

// A span of time as JSON has it: 15 s are 15.0.
inline double seconds_of(Duration span) { return static_cast<double>(span.ns()) / 1e9; }

// A value of JSON, and its text for people.
class Value {
 public:
  Value() = default;  // null, "-"
  Value(std::nullptr_t) {}
  Value(std::string_view text);
  Value(const std::string& text) : Value(std::string_view(text)) {}
  Value(const char* text) : Value(std::string_view(text)) {}
  Value(std::floating_point auto number) : Value(of_real(number)) {}
  Value(std::same_as<bool> auto is) : json_(is ? "true" : "false"), text_(is ? "yes" : "no") {}
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  Value(Number number) : json_(std::to_string(number)), text_(json_) {}
  template <class T>
  Value(const std::optional<T>& maybe) : Value(maybe ? Value(*maybe) : Value()) {}
  template <class T>
  Value(const std::vector<T>& list) : Value(of_list({list.begin(), list.end()})) {}
  // From a text that is JSON; null if it is not.
  static Value parsed(std::string_view json);

  const std::string& json() const { return json_; }
  const std::string& text() const { return text_; }
  // A member of an object; null if missing.
  Value at(std::string_view key) const;
  // As a document: indented, with a line feed at its end.
  std::string document() const;
  // As one line of many.
  std::string line() const { return json_ + "\n"; }

 private:
  static Value of_real(double number);
  static Value of_list(const std::vector<Value>& items);

  std::string json_ = "null";
  std::string text_ = "-";
};

struct Field {
  Field(std::string_view head, std::string_view name, Value of) : Field(head, name, of, of.text()) {}
  Field(std::string_view head, std::string_view name, Value of, std::string words)
      : heading(head), key(name), value(std::move(of)), text(std::move(words)) {}

  std::string heading;  // of its column or its line
  std::string key;      // in JSON, where "crash/worst" is a member of a member; empty: for people only
  Value value;
  std::string text;
  bool for_people = true;
};
using Fields = std::vector<Field>;

// A field for people only, and one for programs only.
inline Field shown(std::string_view heading, std::string text) { return {heading, "", {}, std::move(text)}; }
Field told(std::string_view key, Value value);

Value object_of(const Fields& fields);
// Shows them as a JSON document.
int print_json(const Fields& fields);
// A line for each field with a text: the heading, `width` columns wide, and the text.
std::string lines_of(const Fields& fields, std::size_t width);

// Rows of the same fields.
class Rows {
 public:
  // `say` gives the fields of one item; its fields of an empty item name the columns.
  template <class List, class Say>
  Rows(const List& list, const Say& say) : names_(say(typename List::value_type())) {
    for (const auto& one : list) rows_.push_back(say(one));
  }
  // At least one, which names the columns.
  explicit Rows(std::vector<Fields> rows) : names_(rows.empty() ? Fields() : rows.front()), rows_(std::move(rows)) {}
  std::string table() const;
  Value list() const;

 private:
  Fields names_;
  std::vector<Fields> rows_;
};

// A table of some members of the objects in a list.
struct Column {
  const char* heading;
  const char* key;
};
std::string table_of(const Value& list, std::initializer_list<Column> columns);

}  // namespace bellwether::cli
