#include "cluster/discovery/bootstrap.h"
#include "core/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using bellwether::discovery::PeerCache;
  const auto cache = PeerCache::decode({reinterpret_cast<const char*>(data), size});
  if (!cache) return 0;
  const auto again = PeerCache::decode(cache->encode());
  bellwether::check(again && again->encode() == cache->encode(), "what was read can be written and read");
  return 0;
}
