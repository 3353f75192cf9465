// Bytes as a window of statistics: an accepted text can be encoded and decoded again, and merged.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/check.h"
#include "load/codec/window_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  const ingest::Shape shape{3, 2, 2, 2};
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto window = ingest::decode_window(bytes, shape);
  check(ingest::check_window(bytes, shape).has_value() == window.has_value(), "both ways of reading agree");
  if (!window) return 0;
  const std::string again = ingest::encode_window(*window);
  const auto back = ingest::decode_window(again, shape);
  check(back.has_value() && ingest::encode_window(*back) == again, "a window survives");
  window->merge(*back);
  return 0;
}
