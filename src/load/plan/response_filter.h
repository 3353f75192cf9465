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
// A time of a request.
enum class RequestTime : uint8_t { kResponse, kService, kLookUp, kConnect, kTls, kSend, kWait, kReceive };
// Requests of which one time is kept beside those of all requests of their step.
struct Watch {
  uint16_t step = 0;  // StepId
  ResponseFilter filter;
  RequestTime time = RequestTime::kResponse;
  bool operator==(const Watch&) const = default;
};

}  // namespace bellwether::plan
