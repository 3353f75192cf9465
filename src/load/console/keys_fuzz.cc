// Bytes as what a terminal sends: the keys do not depend on where reads cut them.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/check.h"
#include "load/console/steering.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether::console;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  KeyReader at_once;
  const auto all = at_once.read(bytes);
  KeyReader in_pieces;
  std::vector<Key> pieces;
  for (std::size_t at = 0; at < size; ++at) {
    for (const Key key : in_pieces.read(bytes.substr(at, 1))) pieces.push_back(key);
  }
  bellwether::check(all == pieces, "where reads cut does not matter");
  bellwether::check(at_once.rest() == in_pieces.rest(), "nor for what is left");
  return 0;
}
