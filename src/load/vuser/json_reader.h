// Finds one value of a JSON document by its path, on the hot path: the document is read only as far as the values asked
// for, and what is not read is not validated. Wraps simdjson. One reader a load thread.
#pragma once

#include <memory>
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

  // Starts with a new document. `text` must stay as it is until the next open(), with kPadding bytes readable behind
  // it. False when it is no JSON at all.
  bool open(std::string_view text);

  // A value as the checks and templates see it. Text points into the reader until the next find().
  struct Null {};
  struct Compound {};  // an object or array
  using Value = std::variant<std::monostate /* not there */, std::string_view, double, bool, Null, Compound>;
  Value find(const plan::JsonPath& path);

  // The value as text: a string without quotes, anything else as it stands in the document. False when not there.
  bool find_text(const plan::JsonPath& path, std::string& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bellwether::vuser
