#include "core/base/check.h"
#include "core/runtime/epoll/resolver.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto ttl = bellwether::runtime::least_ttl({reinterpret_cast<const std::byte*>(data), size});
  bellwether::check(!ttl || *ttl >= bellwether::Duration::zero(), "a time to live is not negative");
  return 0;
}
