// Paths to values in JSON documents (RFC 9535), as text and resolved.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace re2 {
class RE2;
}

namespace bellwether::plan {

struct JsonExpression;

// Children of a value: members of an object, elements of an array.
struct JsonSelector {
  enum class Kind : uint8_t { kName, kIndex, kWildcard, kSlice, kFilter };
  Kind kind = Kind::kName;
  std::string name;
  int64_t index = 0;                             // kIndex; negative: from the end
  std::optional<int64_t> start, end;             // kSlice
  int64_t step = 1;                              // kSlice
  std::shared_ptr<const JsonExpression> filter;  // kFilter: which children
};

struct JsonSegment {
  bool of_descendants = false;  // selects from the value and from all below it
  std::vector<JsonSelector> selectors;
};

using JsonQuery = std::vector<JsonSegment>;

struct JsonExpression {
  enum class Kind : uint8_t {
    kOr,  // these hold or not
    kAnd,
    kNot,
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kExists,
    kMatch,
    kSearch,
    kText,  // these are values
    kNumber,
    kTrue,
    kFalse,
    kNull,
    kValue,  // of the query, if it gives exactly one
    kLength,
    kCount
  };
  Kind kind = Kind::kNull;
  std::vector<JsonExpression> parts;
  std::string text;                         // kText
  double number = 0;                        // kNumber
  bool from_root = false;                   // the query begins at the document, not at the child that is looked at
  JsonQuery query;                          // kExists, kValue, kCount
  std::shared_ptr<const re2::RE2> pattern;  // kMatch, kSearch: of a constant pattern
};

struct JsonPath {
  // A member by its name, or an element by its index (negative: from the end).
  struct Step {
    std::string key;  // when is_index is false
    int64_t index = 0;
    bool is_index = false;
  };
  std::vector<Step> steps;                // of a path that names one value; empty: the whole document
  bool has_escapes = false;               // a key has characters that documents must escape
  std::shared_ptr<const JsonQuery> many;  // of any other path: it means the first of its values
  std::string text;                       // as the user wrote it, for messages
};

// A pattern of match() and search() (RFC 9485). nullptr: it is none.
std::shared_ptr<const re2::RE2> compile_json_pattern(std::string_view pattern);

// Error: the problem of the path, and its place.
Result<JsonPath> parse_json_path(std::string_view text);

}  // namespace bellwether::plan
