// Which requests a threshold selects by their response.
#pragma once

#include <cstdint>
#include <optional>

namespace bellwether::plan {

struct ResponseFilter {
  std::optional<uint16_t> status;  // 0: there was no response
  std::optional<bool> expected;    // false: it counts as failed
  bool takes_all() const { return !status && !expected; }
  bool takes(int of_response, bool is_expected) const {
    return (!status || *status == of_response) && (!expected || *expected == is_expected);
  }
  bool operator==(const ResponseFilter&) const = default;
};
// Responses whose times are kept beside those of all responses of their step.
struct Watch {
  uint16_t step = 0;  // StepId
  ResponseFilter filter;
  bool operator==(const Watch&) const = default;
};

}  // namespace bellwether::plan
