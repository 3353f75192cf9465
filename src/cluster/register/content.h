// What stands in the register of a job: nothing yet, a value (one byte 1 before it), or that the job was retired (one
// byte 2).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace bellwether::registers {

struct Content {
  bool retired = false;
  std::optional<std::string> value;  // nothing: nobody has written one yet
  bool operator==(const Content&) const = default;
};

inline std::string bytes_of_value(std::string_view value) { return '\1' + std::string(value); }
inline std::string bytes_of_retired() { return std::string(1, '\2'); }

inline bool is_retired(std::string_view bytes) { return bytes == bytes_of_retired(); }

// kInvalid: a newer version, or another program, has written it.
inline Result<Content> parse_content(std::string_view bytes) {
  if (bytes.empty()) return Content{};
  if (bytes.front() == '\1') return Content{false, std::string(bytes.substr(1))};
  if (is_retired(bytes)) return Content{true, std::nullopt};
  return fail(Errc::kInvalid, "the register of the job holds what this version cannot read");
}

}  // namespace bellwether::registers
