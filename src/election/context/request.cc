#include "election/context/request.h"

namespace bellwether::context_lead {

std::string to_string(RequestId id) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint64_t half : {id.high, id.low}) {
    for (int shift = 60; shift >= 0; shift -= 4) text.push_back(kDigits[half >> shift & 15]);
  }
  return text;
}

std::string to_string(AttemptFence fence) {
  return "attempt " + std::to_string(fence.attempt) + " of epoch " + std::to_string(fence.epoch.value());
}

}  // namespace bellwether::context_lead
