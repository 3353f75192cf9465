// Finds values of a JSON document by their paths, on the hot path: it reads the document only up to the requested
// values, and does not validate the rest. Paths that may name several values need all of it. Wraps simdjson. One reader
// a load thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "load/plan/plan.h"

namespace bellwether::vuser {

class JsonReader {
 public:
  // Bytes that must be readable (of any content) behind the text given to open().
  static constexpr std::size_t kPadding = 64;

  JsonReader();
  ~JsonReader();

  // Starts with a new document. `text` must stay unchanged until the next open(), with kPadding bytes readable behind
  // it. False when it is no JSON at all.
  bool open(std::string_view text);
  // Whether all of the document is JSON.
  bool valid();

  // A value for checks and templates. Text points into the reader until the next find().
  struct Null {};
  struct Compound {};  // an object or array
  using Value = std::variant<std::monostate /* not there */, std::string_view, double, bool, Null, Compound>;
  // The first value of a path that may name several.
  Value find(const plan::JsonPath& path);

  // The value as text: a string without quotes, any other value as in the document. False when it is missing. `number`:
  // which value, from 0, of a path that may name several.
  bool find_text(const plan::JsonPath& path, std::string& out, std::size_t number = 0);

  // The number of values of a path that may name several; nothing when the document is not valid, or the search takes
  // too long.
  std::optional<std::size_t> count(const plan::JsonPath& path);
  // They as a JSON list. False as above, and for a list of more than JsonQueries::kMaxListBytes.
  bool find_list(const plan::JsonPath& path, std::string& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bellwether::vuser
