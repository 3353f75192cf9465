// Bytes as messages between a worker and its share: whatever is accepted survives being encoded and decoded again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "node/share/share_codec.h"

namespace {

using namespace bellwether;

template <class Decode>
void survives(std::string_view bytes, Decode decode) {
  const auto message = decode(bytes);
  if (!message) return;
  const std::string again = node::encode(*message);
  const auto back = decode(again);
  check(back.has_value() && node::encode(*back) == again, "a message survives");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  survives(bytes, node::decode_to_child);
  survives(bytes, node::decode_from_child);
  return 0;
}
