// Finds a value of a path that may name several (RFC 9535). The document is read and validated whole, so it is
// for such paths only, and for the question whether it is valid. Wraps simdjson. One a load thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "load/plan/json_path.h"

namespace bellwether::vuser {

class JsonQueries {
 public:
  JsonQueries();
  ~JsonQueries();

  // Starts with a new document. As with JsonReader, `text` must stay, and bytes behind it must be readable. False when
  // it is no JSON (RFC 8259), or has an integer of more than 64 bits.
  bool open(std::string_view text);

  // The way to a value. The keys are valid until the next open().
  struct Step {
    std::string_view key;
    int64_t index = 0;
    bool is_index = false;
  };
  // The way to a value of the query, counted from 0; empty when it has none, or the search takes too long. REQUIRES
  // that open() returned true.
  const std::vector<Step>& way_to(const plan::JsonQuery& query, std::size_t number = 0);
  // The number of its values; nothing when the search takes too long. REQUIRES as above.
  std::optional<std::size_t> count(const plan::JsonQuery& query);
  // Its values as a JSON list, of at most kMaxListBytes. False when that takes too long or is too long. REQUIRES as
  // above.
  bool list(const plan::JsonQuery& query, std::string& out);
  static constexpr std::size_t kMaxListBytes = 16u << 20;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bellwether::vuser
