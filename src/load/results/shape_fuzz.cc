// Text as the outline of a plan: an accepted one can be encoded and decoded again.
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "load/results/database.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  const auto plan = results::decode_shape({reinterpret_cast<const char*>(data), size});
  if (!plan) return 0;
  const std::string text = results::encode_shape(*plan);
  const auto back = results::decode_shape(text);
  check(back.has_value() && results::encode_shape(*back) == text, "an outline survives");
  return 0;
}
